package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
)

// An axis numbers the ids of the users or of the items, and ranks them in
// ascending order when all of them are known.
//
// It has a dictionary as long as that fits in memory. Then the dictionary's ids
// are written to a list, in ascending order and each with its temporary id, and
// a new generation begins with an empty dictionary: temporary ids mean something
// within their generation only, and each run of entries knows which one it has.
// In the end the lists are merged. The id's place in that sequence, the same
// for all generations it occurs in, is its rank; the ranks are sorted by
// generation and temporary id, which is the order the runs need them in. So
// ranks depend on the set of ids alone, with or without lists.
type axis struct {
	dict   *dictionary
	closed []idList // the generations before dict's
	log    idLog    // of dict's ids, for a resume

	// Of a settled axis.
	n     int64    // ids
	order []uint32 // temporary ids in ascending order of ids, if there are no lists
	names idList   // ids in ascending order, if there are lists
	text  bool
	ranks *rankReader
	now   []uint32 // ranks of generation gen
	gen   int
}

func newAxis() *axis { return &axis{dict: newDictionary(), gen: -1} }

// size is the bytes held.
func (a *axis) size() int64 {
	held := a.dict.size() + int64(len(a.now))*4
	if a.ranks != nil {
		held += a.ranks.size
	}
	return held
}

// turn writes the dictionary to a list and begins the next generation.
func (a *axis) turn(s *scratch) error {
	gen := uint32(len(a.closed))
	w, err := s.newList("ids", a.dict.isText)
	if err != nil {
		return err
	}
	r := idRecord{gen: gen}
	for _, t := range a.dict.order() {
		r.temp = t
		if a.dict.isText {
			r.text = a.dict.text.at(int(t))
		} else {
			r.num = a.dict.ints.at(int(t))
		}
		if err := w.add(&r); err != nil {
			return errors.Join(err, w.f.Close())
		}
	}
	list, err := w.end(s)
	if err != nil {
		return err
	}
	a.closed = append(a.closed, list)
	a.dict = newDictionary()
	return a.log.forget(s)
}

// settle ranks the ids.
func (a *axis) settle(ctx context.Context, s *scratch, p plan, held func() int64, m *meter) error {
	if len(a.closed) == 0 {
		a.order = a.dict.order()
		a.n, a.text = int64(a.dict.n), a.dict.isText
		return nil
	}
	if a.dict.n > 0 {
		if err := a.turn(s); err != nil {
			return err
		}
	}
	lists, err := a.sameKind(s)
	if err != nil {
		return err
	}
	width := listWidth(p)
	for len(lists) > width {
		if lists, err = s.mergeSome(ctx, lists, width, m); err != nil {
			return err
		}
	}
	return a.rank(ctx, s, lists, p, held, m)
}

// listWidth is how many lists are merged at a time.
func listWidth(p plan) int { return int(max(2, min(p.space/4/(2*listBuffer), int64(p.fanIn)))) }

// sameKind makes all lists texts if one of them is.
func (a *axis) sameKind(s *scratch) ([]idList, error) {
	lists := slices.Clone(a.closed)
	a.text = slices.ContainsFunc(lists, func(l idList) bool { return l.Text })
	for i, l := range lists {
		if l.Text == a.text {
			continue
		}
		var err error
		if lists[i], err = s.listAsText(l); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// listAsText sorts a generation's integers as texts. They fit in memory: they
// were a dictionary.
func (s *scratch) listAsText(l idList) (idList, error) {
	type id struct {
		num  int64
		temp uint32
	}
	var gen uint32
	all := make([]id, 0, l.N)
	err := s.mergeLists(context.Background(), []idList{l}, nil, func(r *idRecord) error {
		gen = r.gen
		all = append(all, id{r.num, r.temp})
		return nil
	})
	if err != nil {
		return l, err
	}
	var x, y [20]byte
	slices.SortFunc(all, func(a, b id) int {
		return bytes.Compare(strconv.AppendInt(x[:0], a.num, 10), strconv.AppendInt(y[:0], b.num, 10))
	})
	w, err := s.newList("ids", true)
	if err != nil {
		return l, err
	}
	for _, v := range all {
		if err := w.add(&idRecord{gen: gen, temp: v.temp, text: strconv.AppendInt(x[:0], v.num, 10)}); err != nil {
			return l, errors.Join(err, w.f.Close())
		}
	}
	return w.endPassing()
}

// mergeSome puts the merge of the first lists, width of them, behind the others.
func (s *scratch) mergeSome(ctx context.Context, lists []idList, width int, m *meter) ([]idList, error) {
	w, err := s.newList("ids", lists[0].Text)
	if err != nil {
		return nil, err
	}
	if err := s.mergeLists(ctx, lists[:width], m, w.add); err != nil {
		return nil, errors.Join(err, w.f.Close())
	}
	merged, err := w.endPassing()
	return append(slices.Clone(lists[width:]), merged), err
}

// rank numbers the ids of lists, writes each id once to names, and sorts the
// ranks by generation and temporary id.
func (a *axis) rank(ctx context.Context, s *scratch, lists []idList, p plan, held func() int64, m *meter) error {
	p.run, p.first = max(p.run/4, 1), max(p.first/4, 1)
	p.keep, p.fanIn = p.space/16, max(2, p.fanIn/4)
	spool := newSpool(p, s, false, held)
	w, err := s.newList("names", a.text)
	if err != nil {
		return err
	}
	var last idRecord
	err = s.mergeLists(ctx, lists, m, func(r *idRecord) error {
		if a.n == 0 || last.num != r.num || !bytes.Equal(last.text, r.text) {
			if a.n++; a.n > maxIDs {
				return fmt.Errorf("number ids: more than %d: %w", int64(maxIDs), format.ErrUnsupported)
			}
			last.num, last.text = r.num, append(last.text[:0], r.text...)
			if err := w.add(&last); err != nil {
				return err
			}
		}
		return spool.add([]uint64{uint64(r.gen)<<32 | uint64(r.temp)}, []float64{float64(a.n - 1)})
	})
	if err != nil {
		return errors.Join(err, w.f.Close())
	}
	if a.names, err = w.endPassing(); err != nil {
		return err
	}
	a.ranks, err = newRankReader(ctx, spool, 32+bitsFor(int64(len(a.closed))))
	return err
}

// A rankReader gives the ranks of one generation after the other.
type rankReader struct {
	spool *spool
	m     *merger
	size  int64 // bytes held
}

func newRankReader(ctx context.Context, s *spool, keyBits int) (*rankReader, error) {
	by := sortOrder{keyBits: keyBits}
	err := s.finish()
	if err == nil {
		err = s.sort(ctx, 0, len(s.runs), 1, nil, by, func(int) {})
	}
	if err == nil {
		err = s.reduce(ctx, by, func() error { return nil }, func(int) {})
	}
	if err != nil {
		return nil, err
	}
	m, err := s.merge(s.runs, by)
	if err != nil {
		return nil, err
	}
	size := s.bytes
	if s.onto {
		size += int64(len(s.runs)) * s.plan.cursorBytes()
	}
	return &rankReader{spool: s, m: m, size: size}, nil
}

// next gives the ranks of the next n temporary ids, which begin generation gen.
func (r *rankReader) next(gen int, n int64) ([]uint32, error) {
	ranks := make([]uint32, n)
	buf := make([]entry, runBlock)
	for at := int64(0); at < n; {
		k, err := r.m.read(buf[:min(int64(len(buf)), n-at)])
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return nil, errTempDamaged
		}
		for _, e := range buf[:k] {
			if e.key != uint64(gen)<<32|uint64(at) {
				return nil, errTempDamaged
			}
			ranks[at] = uint32(e.val)
			at++
		}
	}
	return ranks, nil
}

func (r *rankReader) close() error { return errors.Join(r.m.close(), r.spool.drop()) }

// ranksOf gives the ranks of a generation's temporary ids. Generations must not descend.
func (a *axis) ranksOf(gen int) ([]uint32, error) {
	if a.ranks == nil {
		if a.now == nil {
			a.now = ranks(a.order)
		}
		return a.now, nil
	}
	for a.gen < gen {
		var err error
		a.gen++
		a.now = nil // let the old ones go first
		if a.now, err = a.ranks.next(a.gen, a.closed[a.gen].N); err != nil {
			return nil, err
		}
	}
	return a.now, nil
}

// sorted lets go what only sorting needs.
func (a *axis) sorted() error {
	a.now = nil
	if a.ranks == nil {
		return nil
	}
	r := a.ranks
	a.ranks = nil
	return r.close()
}

// close is sorted for an ingest that ends before.
func (a *axis) close() error { return errors.Join(a.sorted(), a.log.close()) }

// name is the text of the id of a rank.
func (a *axis) name(s *scratch, rank int64) string {
	if len(a.closed) == 0 {
		return a.dict.name(a.order[rank])
	}
	name := ""
	_ = a.each(s, func(r *idRecord) error { // it is for a message only
		if rank == 0 {
			if name = string(r.text); !a.text {
				name = strconv.FormatInt(r.num, 10)
			}
			return errFound
		}
		rank--
		return nil
	})
	return name
}

var errFound = errors.New("found")

// each visits the ids in ascending order.
func (a *axis) each(s *scratch, visit func(*idRecord) error) error {
	if len(a.closed) > 0 {
		return s.mergeLists(context.Background(), []idList{a.names}, nil, visit)
	}
	var r idRecord
	for _, t := range a.order {
		if a.text {
			r.text = a.dict.text.at(int(t))
		} else {
			r.num = a.dict.ints.at(int(t))
		}
		if err := visit(&r); err != nil {
			return err
		}
	}
	return nil
}

// write writes the ids to a store.
func (a *axis) write(ctx context.Context, s *scratch, w *csr.Writer, axis csr.Axis) error {
	if len(a.closed) == 0 && a.dict.natural(a.order) {
		return nil
	}
	kind := csr.IntIDs
	if a.text {
		kind = csr.StringIDs
	}
	iw, err := w.IDs(axis, kind)
	if err != nil {
		return err
	}
	n := 0
	err = a.each(s, func(r *idRecord) error {
		if n++; n%ctxEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if a.text {
			return iw.AppendString(string(r.text))
		}
		return iw.AppendInt(r.num)
	})
	if err != nil {
		return err
	}
	return iw.Close()
}
