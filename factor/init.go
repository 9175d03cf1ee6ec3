package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/solver"
)

// startVectors reads up to columns of the vectors of a result, of the side that
// the solver iterates on, as start vectors for a store. Where the
// store is not that of the result, every entry finds its place by its id, and ids without an
// entry get zeros.
func (t *task) startVectors(ctx context.Context, columns int, space *spill.Dir) (_ *mat.Dense, err error) {
	about := func(err error) error {
		if err == nil || errors.Is(err, context.Canceled) {
			return err
		}
		return says(err, "%v %s: %v", Option("Init"), t.Init, err)
	}
	from, err := OpenFS(t.FS, t.Init)
	if err != nil {
		return nil, about(err)
	}
	_, name := csr.Orient(t.store, layout.Left, layout.Right)
	v, err := from.array(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, says(nil, "%v %s: there is no %s, whose vectors this store needs: the result was made with %v %s or interrupted",
			Option("Init"), t.Init, name, Option("Vectors"), from.Settings.Vectors)
	}
	if err != nil {
		return nil, says(err, "%v: %v", Option("Init"), err)
	}
	defer func() { err = errors.Join(err, v.Close()) }()

	n := t.store.Cols()
	place, err := t.places(ctx, from, v.Rows)
	if err != nil {
		return nil, about(err)
	}
	defer func() { err = errors.Join(err, place.close()) }()
	k := int(min(v.Cols, int64(columns)))
	var data []float64
	if space != nil {
		if data, err = space.Make(int(n) * k); err != nil {
			return nil, says(err, "%v: %v", Option("Init"), err)
		}
	}
	m := mat.NewDense(int(n), k, data)
	const window = 1 << 20 // numbers of a file that are in memory at a time
	passed := 0
	err = fault.Guard(func() error { // of a file in the space
		return v.Each(ctx, k, func(i int64, row []float64) {
			at := int(place.of(i))
			if at < 0 {
				return
			}
			m.SetRow(at, row)
			if space != nil && (at-passed)*k >= window && place.any == nil {
				space.Evict(data[passed*k : at*k])
				passed = at
			}
		})
	})
	if space != nil {
		space.Evict(data[passed*k:])
	}
	if err = errors.Join(err, place.err()); err != nil {
		return nil, about(err)
	}
	if was, is := from.pipeline(), t.View.String(); was != is {
		t.Log.Warn("the start vectors are of another view", "view", was, "of this run", is)
	}
	t.Log.Info("start vectors", "result", t.Init, "vectors", m.RawMatrix().Cols, "entries", place.found, "of", n, "start", t.start())
	return m, nil
}

// start says what becomes of given start vectors; "" if there are none.
func (t *task) start() string {
	switch {
	case t.Init == "":
		return ""
	case !solver.Mixes(t.Method, t.Rank, t.Tol):
		return fmt.Sprintf("random vectors: to %.3g those of %s save nothing", t.Tol, t.Init)
	case t.Method.Traits(t.Rank).Copies > 0:
		return fmt.Sprintf("a block that the vectors of %s are mixed into, which saves some of these passes", t.Init)
	}
	return "the vectors of " + t.Init
}

// places finds the columns of a store that rows of a result belong to.
type places struct {
	names *Names // of the result; nil: entries are taken to be in order
	old   Sequence
	now   *csr.IDReader
	at    int64   // place of now
	any   []int64 // the place of each, where ids are in any order; nil: they ascend
	live  bool    // now has an id
	found int64
}

// places compares ids, if the result has some; otherwise the entries are taken to be in order, and at the beginning.
func (t *task) places(ctx context.Context, from *Result, rows int64) (_ *places, err error) {
	store := t.store
	// The columns of this store are a side of the user's matrix.
	_, names := csr.Orient(store, from.RowNames, from.ColNames)
	_, side := csr.Orient(store, from.IDs.Rows, from.IDs.Cols)
	switch {
	case from.Store.Fingerprint == store.Fingerprint():
		return &places{}, checkRows(rows, store.Cols())
	case side == nil:
		t.Log.Warn("the result of the start vectors has no ids; they are taken to be in the order of this store", "result", t.Init)
		return &places{}, checkRows(rows, store.Cols())
	}
	p := &places{at: -1}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.names, err = names(ctx); err != nil {
		return nil, err
	}
	p.old = p.names.All()
	if p.now, err = store.IDs(csr.ColAxis); err != nil {
		return nil, err
	}
	switch {
	case p.names.Count() != rows:
		return nil, fmt.Errorf("its vectors have %d entries, and it has %d ids", rows, p.names.Count())
	case p.old.Kind() != p.now.Kind():
		return nil, fmt.Errorf("its ids are of kind %v, those of this store of kind %v", p.old.Kind(), p.now.Kind())
	}
	if !p.old.Ordered() || !p.now.Ordered() {
		return p, p.match(ctx, rows)
	}
	p.step()
	return p, nil
}

func (p *places) match(ctx context.Context, rows int64) error {
	p.any = make([]int64, rows)
	for i := range p.any {
		p.any[i] = -1
	}
	return p.names.Match(ctx, p.now, func(i, at int64) error {
		if at >= 0 {
			p.any[at] = i
			p.found++
		}
		return nil
	})
}

func checkRows(rows, columns int64) error {
	if rows > columns {
		return fmt.Errorf("its vectors have %d entries, for %d in this store", rows, columns)
	}
	return nil
}

func (p *places) step() {
	p.live = p.now.Next()
	p.at++
}

// of returns the place of row i, −1 if it has none. Rows are asked for in
// order where both lists of ids ascend.
func (p *places) of(i int64) int64 {
	if p.names == nil {
		p.found++
		return i
	}
	if p.any != nil {
		return p.any[i]
	}
	if !p.old.Next() {
		return -1
	}
	for p.live && compareIDs(p.now, p.old) < 0 {
		p.step()
	}
	if !p.live || compareIDs(p.now, p.old) != 0 {
		return -1
	}
	p.found++
	return p.at
}

// compareIDs compares the current ids of two sequences of one kind.
func compareIDs(a, b Sequence) int {
	if a.Kind() == csr.IntIDs {
		return cmp.Compare(a.Int(), b.Int())
	}
	return strings.Compare(a.String(), b.String())
}

func (p *places) err() error {
	if p.names == nil {
		return nil
	}
	return errors.Join(p.old.Err(), p.now.Err())
}

func (p *places) close() (err error) {
	if p.now != nil {
		err = p.now.Close()
	}
	if p.names != nil {
		err = errors.Join(err, p.names.Close())
	}
	return err
}

// Sequence is ids in their order: a *csr.IDReader, or those of Names.
type Sequence interface {
	Ordered() bool // they ascend
	Next() bool
	Kind() csr.IDKind
	Int() int64 // of kind csr.IntIDs
	String() string
	Err() error
}

// All are all ids.
func (n *Names) All() Sequence { return &walk{n: n, at: -1} }

type walk struct {
	n   *Names
	at  int64
	id  string
	int int64
	err error
}

func (w *walk) Next() bool {
	w.at++
	if w.err != nil || w.at >= w.n.count {
		return false
	}
	w.id, w.err = w.n.ID(w.at)
	if w.err == nil && w.n.Ints() {
		w.int, w.err = w.n.number(w.id)
	}
	return w.err == nil
}

func (w *walk) Kind() csr.IDKind {
	if w.n.Ints() {
		return csr.IntIDs
	}
	return csr.StringIDs
}

func (w *walk) Ordered() bool  { return w.n.Ordered() }
func (w *walk) Int() int64     { return w.int }
func (w *walk) String() string { return w.id }
func (w *walk) Err() error     { return w.err }

// Match calls found with the number of each id of a sequence, in order, and that of the row or column of the result with the same
// id, −1 if there is none. An error of found ends it.
func (n *Names) Match(ctx context.Context, ids Sequence, found func(i, at int64) error) error {
	ordered := n.ids != nil && (ids.Kind() == csr.IntIDs) == n.Ints() && n.Ordered() && ids.Ordered() // one walk is enough
	at, here := int64(-1), ""
	next := func() (err error) {
		at++
		if at < n.count {
			here, err = line(n.ids, at)
		}
		return err
	}
	if ordered {
		if err := next(); err != nil {
			return err
		}
	}
	for i := int64(0); ids.Next(); i++ {
		if err := ended(ctx, i); err != nil {
			return err
		}
		id := ids.String()
		if !ordered {
			at, err := n.Index(id)
			if err != nil {
				return err
			}
			if err := found(i, at); err != nil {
				return err
			}
			continue
		}
		for at < n.count {
			before := here < id
			if n.Ints() {
				x, err := n.number(here)
				if err != nil {
					return err
				}
				before = x < ids.Int()
			}
			if !before {
				break
			}
			if err := cmp.Or(next(), ended(ctx, at)); err != nil {
				return err
			}
		}
		same := int64(-1)
		if at < n.count && here == id {
			same = at
		}
		if err := found(i, same); err != nil {
			return err
		}
	}
	return ids.Err()
}
