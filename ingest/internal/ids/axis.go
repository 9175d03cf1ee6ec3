// Package ids numbers the ids of rows and columns, within a memory budget.
//
// While an input is read, an [Axis] gives each id a temporary id, and Pairs makes the keys of entries from temporary ids.
// Settle ranks the ids in ascending order, integers by value and texts by bytes; Ranks returns the ranks of temporary ids.
package ids

import (
	"context"
	"errors"
	"slices"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
)

// An Axis numbers the ids of the users or of the items, and ranks them in ascending order when all ids are known.
//
// It has one dictionary while that fits in memory. Otherwise the ids of the dictionary are written to a list, in ascending
// order and each with its temporary id, and a new generation begins with an empty dictionary. A temporary id has a meaning
// within its generation only; each run of entries records its generation.
//
// Settle merges the lists. The rank of an id is its place in the merged sequence, for all generations in which the id occurs.
// The ranks are then sorted by generation and temporary id, the order in which the runs need them. So ranks depend on the set
// of ids alone, with or without lists.
type Axis struct {
	keep bool  // ids keep the order in which they are numbered
	N    int64 // number of ids, once settled
	Text bool  // ids are texts rather than integers, once settled

	dict   *Dictionary
	closed []List   // lists of the generations before dict
	log    log      // log of the ids of dict, for a resume
	temp   []uint32 // temporary ids of a batch; reused

	Cuts     []string     // ids at which Turn cuts lists into files
	Unranked bool         // Settle makes no ranks: other axes make them, by Rank of Names
	dir      *scratch.Dir // directory of the names that Rank was given

	order []uint32 // temporary ids in ascending order of their ids, if there are no lists
	names List     // list of all ids in ascending order, if there are lists
	ranks *rankReader
	now   []uint32 // ranks of the temporary ids of generation gen
	gen   int
	known *Known // ids that the axis had before all others; see SettleKnown
	all   bool   // now holds the ranks of all generations
}

// New returns an empty axis. If keep is set, ids keep the order in which they are numbered instead of the ascending order, and
// all of them must be in one generation.
func New(keep bool) *Axis { return &Axis{keep: keep, dict: NewDictionary(), gen: -1} }

func (a *Axis) Size() int64 {
	held := a.dict.Size() + int64(len(a.now))*4
	if a.ranks != nil {
		held += a.ranks.size
	}
	return held
}

func (a *Axis) Generations() int { return len(a.closed) }

type State struct {
	Closed []List
	Log    List
	Text   bool `json:",omitempty"` // the ids in Log are texts, although each may look like an integer
}

// State is the current state; it is valid once Save has been called and the files are durable.
func (a *Axis) State() State { return State{a.closed, a.log.state, a.dict.isText} }

func (st State) Files() []string {
	names := []string{st.Log.Name}
	for _, l := range files(st.Closed) {
		names = append(names, l.Name)
	}
	return names
}

// Save writes new ids of the dictionary to its log. It returns the open log, or nil, and the names of the logs to remove when
// the next journal has been written.
func (a *Axis) Save(s *scratch.Dir) (open vfs.File, old []string, err error) {
	err = a.log.save(s, a.dict)
	old, a.log.old = a.log.old, nil
	if a.log.w != nil {
		open = a.log.w.f
	}
	return open, old, err
}

func (a *Axis) Restore(s *scratch.Dir, st State) error {
	if err := a.Adopt(s, st.Closed); err != nil {
		return err
	}
	a.log.state = st.Log
	err := readLog(s, st.Log, a.dict)
	if st.Text && !a.dict.isText {
		a.dict.toText()
	}
	return err
}

// Adopt takes over lists as the generations behind those of the axis.
func (a *Axis) Adopt(s *scratch.Dir, lists []List) error {
	before := uint32(len(a.closed))
	for _, l := range files(lists) {
		f, err := s.FS.Open(s.Path(l.Name))
		if err == nil {
			err = errors.Join(scratch.HasSize(f, l.Bytes), f.Close())
		}
		if err != nil {
			return err
		}
	}
	for _, l := range lists {
		l.Before += before
		a.closed = append(a.closed, l)
	}
	return nil
}

// Held returns the bytes of the dictionary of the open generation.
func (a *Axis) Held() int64 { return a.dict.Size() }
func (a *Axis) Any() bool   { return len(a.closed) > 0 || a.dict.N > 0 }

// Number numbers further ids in the given order; each must be new. It returns how many ids are new before the first that is
// not, and the temporary id of that one in the open generation.
func (a *Axis) Number(c *format.Keys) (n int, was uint32) {
	next := uint32(a.dict.N)
	a.temp = a.dict.Encode(c, a.temp[:0])
	for i, t := range a.temp {
		if t != next+uint32(i) {
			return i, t
		}
	}
	return len(a.temp), 0
}

// Len returns the number of ids of the open generation.
func (a *Axis) Len() int { return a.dict.N }

// Turn writes the dictionary to a list and begins the next generation.
func (a *Axis) Turn(s *scratch.Dir) error {
	gen := uint32(len(a.closed))
	list := List{N: int64(a.dict.N), Text: a.dict.isText}
	cuts, order := a.cuts(), a.dict.order(false)
	for n := range len(cuts) + 1 {
		w, err := newList(s, "ids", a.dict.isText)
		if err != nil {
			return err
		}
		for ; len(order) > 0; order = order[1:] {
			r := a.dict.id(order[0])
			r.gen, r.temp = gen, order[0]
			if n < len(cuts) && r.compare(cuts[n], list.Text) >= 0 {
				break
			}
			if err := w.add(&r); err != nil {
				return errors.Join(err, w.f.Close())
			}
		}
		part, err := w.end(s.Complete) // complete, so that a journal can name it
		if err != nil {
			return err
		}
		list.Parts = append(list.Parts, part)
	}
	if len(cuts) == 0 {
		list = list.Parts[0]
	}
	a.closed, a.dict = append(a.closed, list), NewDictionary()
	a.log.forget(s)
	return nil
}

// cuts returns Cuts as ids of the kind of the dictionary; nil if a cut is a text and the dictionary has integers.
func (a *Axis) cuts() (cuts []*ID) {
	for _, text := range a.Cuts {
		n, ok := format.ParseID([]byte(text))
		if !ok && !a.dict.isText {
			return nil
		}
		cuts = append(cuts, &ID{Int: n, Text: []byte(text)})
	}
	slices.SortFunc(cuts, func(x, y *ID) int { return x.compare(y, a.dict.isText) })
	return cuts
}

// Mixed reports whether some lists are of texts and others of integers, which Cuts divides differently.
func (a *Axis) Mixed() bool {
	return slices.ContainsFunc(a.closed, func(l List) bool { return l.Text != a.closed[0].Text })
}

// AdoptShare takes over, of each list, share i of n of its files.
func (a *Axis) AdoptShare(s *scratch.Dir, lists []List, i, n int) (err error) {
	for _, l := range lists {
		parts := files([]List{l})
		err = errors.Join(err, a.Adopt(s, parts[len(parts)*i/n:len(parts)*(i+1)/n]))
	}
	return err
}

// A Meter counts the ids to merge (Extend) and those merged (Add).
type Meter interface {
	Extend(n int64)
	Add(n int)
}

// Settle ranks the ids. The budget is for lists and ranks, beside the bytes that held returns.
func (a *Axis) Settle(ctx context.Context, s *scratch.Dir, b extsort.Budget, held func() int64, m Meter) error {
	if len(a.closed) == 0 {
		a.order = a.dict.order(a.keep)
		a.N, a.Text = int64(a.dict.N), a.dict.isText
		return nil
	}
	if a.dict.N > 0 {
		if err := a.Turn(s); err != nil {
			return err
		}
	}
	lists, err := a.sameKind(s)
	if err != nil {
		return err
	}
	width := ListWidth(b)
	for len(lists) > width {
		if lists, err = mergeSome(s, ctx, lists, width, m); err != nil {
			return err
		}
	}
	return a.rank(ctx, s, lists, b, held, m)
}

// Merge merges all lists into one list of all ids, the only one left.
func (a *Axis) Merge(ctx context.Context, s *scratch.Dir, b extsort.Budget, held func() int64, m Meter) error {
	if len(a.closed) == 0 {
		return nil
	}
	a.Unranked = true
	err := a.Settle(ctx, s, b, held, m)
	a.closed = []List{a.names}
	return err
}

func ListWidth(b extsort.Budget) int {
	return int(max(2, min(b.Space/4/(2*listBuffer), int64(b.FanIn))))
}

func (a *Axis) sameKind(s *scratch.Dir) ([]List, error) {
	lists := files(a.closed)
	a.Text = slices.ContainsFunc(lists, func(l List) bool { return l.Text })
	for i, l := range lists {
		if l.Text == a.Text {
			continue
		}
		var err error
		if lists[i], err = listAsText(s, l); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// mergeSome merges the first width lists and puts the result behind the other lists.
func mergeSome(s *scratch.Dir, ctx context.Context, lists []List, width int, m Meter) ([]List, error) {
	w, err := newList(s, "ids", lists[0].Text)
	if err != nil {
		return nil, err
	}
	if err := mergeLists(s, ctx, lists[:width], m, w.add); err != nil {
		return nil, errors.Join(err, w.f.Close())
	}
	merged, err := w.end(vfs.File.Close)
	return append(slices.Clone(lists[width:]), merged), err
}

// Names returns the list of all ids, in ascending order, of an axis settled by merging lists.
func (a *Axis) Names() List { return a.names }

// Rank settles an axis by the list of all ids, including those of other axes, that Merge has made elsewhere.
func (a *Axis) Rank(s *scratch.Dir, names List) error {
	if a.dir, a.names, a.N, a.Text = s, names, names.N, names.Text; a.N > maxIDs {
		return errTooMany
	}
	return nil
}

// Ranks returns the ranks of the temporary ids of a generation. Calls must not go back to an earlier generation.
func (a *Axis) Ranks(gen int) ([]uint32, error) {
	if a.dir != nil {
		if a.gen != gen {
			a.gen, a.now = gen, nil // release the old ranks before the next are made
			var err error
			if a.now, err = a.join(a.closed[gen]); err != nil {
				return nil, err
			}
		}
		return a.now, nil
	}
	if a.ranks == nil {
		if a.now == nil {
			a.now = ranks(a.order)
		}
		return a.now, nil
	}
	for a.gen < gen {
		var err error
		a.gen++
		a.now = nil // release the old ranks before the next are made
		if a.now, err = a.ranks.next(a.gen, a.closed[a.gen].N); err != nil {
			return nil, err
		}
	}
	return a.now, nil
}

// AllRanks returns the ranks of the temporary ids of all generations, one after the other.
func (a *Axis) AllRanks() ([]uint32, error) {
	if a.all {
		return a.now, nil
	}
	if a.ranks == nil {
		return a.Ranks(0)
	}
	all := make([]uint32, 0, a.Closed())
	for gen := range a.closed {
		now, err := a.Ranks(gen)
		if err != nil {
			return nil, err
		}
		all = append(all, now...)
	}
	a.now, a.all = all, true
	return all, nil
}

// Closed returns the number of ids of the generations in lists.
func (a *Axis) Closed() (n int64) {
	for _, l := range a.closed {
		n += l.N
	}
	return n
}

// Sorted releases the memory and files that only sorting needs.
func (a *Axis) Sorted() error {
	if a.known == nil {
		a.now = nil
	}
	if a.ranks == nil {
		return nil
	}
	r := a.ranks
	a.ranks = nil
	return errors.Join(r.m.Close(), r.spool.Drop())
}

// Close calls Sorted, for an ingest that ends before, and closes the log.
func (a *Axis) Close() error { return errors.Join(a.Sorted(), a.log.close()) }

// Name returns the text of the id of a rank, and the position of that id among all ids that were numbered.
func (a *Axis) Name(s *scratch.Dir, rank int64) (name string, number int64) {
	if len(a.closed) == 0 && a.known == nil {
		return a.dict.name(a.order[rank]), int64(a.order[rank])
	}
	_ = a.Each(s, func(r *ID) error { // an error only leaves the name empty, in a message
		if rank == 0 {
			name = r.name(a.Text)
			for _, l := range a.closed[:min(len(a.closed), int(r.gen))] {
				number += l.N
			}
			number += int64(r.temp)
			return errFound
		}
		rank--
		return nil
	})
	return name, number
}

var errFound = errors.New("found")

// Each visits the ids in ascending order or, if keep is set, in the order in which they were numbered.
func (a *Axis) Each(s *scratch.Dir, visit func(*ID) error) error {
	if a.known != nil {
		return a.eachKnown(visit)
	}
	if len(a.closed) > 0 {
		return mergeLists(s, context.Background(), []List{a.names}, nil, visit)
	}
	var r ID
	for _, t := range a.order {
		r = a.dict.id(t)
		if err := visit(&r); err != nil {
			return err
		}
	}
	return nil
}
