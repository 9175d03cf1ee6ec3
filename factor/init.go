package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/npy"
	"github.com/gdsvd/gdsvd/solver"
)

// startVectors reads up to the given number of vectors of the result t.Init as start vectors. They are those of the side
// that the solver iterates on. If the result is of another store, entries are matched by their ids, and ids that the
// result lacks get zeros.
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
	if t.pairs() {
		name = layout.Right // eigenvectors, whichever side is stored as rows
	}
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
	k := int(min(v.Cols, int64(columns)))
	var data []float64
	if space != nil {
		if data, err = space.Make(int(n) * k); err != nil {
			return nil, says(err, "%v: %v", Option("Init"), err)
		}
	}
	m := mat.NewDense(int(n), k, data)
	const window = 1 << 20 // numbers of a file that may be in memory before they are evicted
	passed, found := 0, 0
	rows := npy.Window{N: v.Rows, Most: 64, K: k, Read: (&Factor{v}).ReadRows}
	err = fault.Guard(func() error { // m may lie in a file of space
		return t.places(ctx, from, v.Rows, func(i, at int64) error {
			if at < 0 {
				return nil
			}
			row, err := rows.Row(at)
			if err != nil {
				return err
			}
			m.SetRow(int(i), row)
			found++
			if to := int(i); space != nil && (to-passed)*k >= window {
				space.Evict(data[passed*k : to*k])
				passed = to
			}
			return nil
		})
	})
	if space != nil {
		space.Evict(data[passed*k:])
	}
	if err != nil {
		return nil, about(err)
	}
	if was, is := cmp.Or(from.View, new(View)).Pipeline, t.View.String(); was != is {
		t.Log.Warn("the start vectors are of another view", "view", was, "of this run", is)
	}
	t.Log.Info("start vectors", "result", t.Init, "vectors", m.RawMatrix().Cols, "entries", found, "of", n, "start", t.start())
	return m, nil
}

// start describes how the start vectors of t.Init are used; "" without Init.
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

// places calls put for each column i of the store, in order, with the row of the result's vectors that has the same id, or −1.
func (t *task) places(ctx context.Context, from *Result, rows int64, put func(i, at int64) error) (err error) {
	store := t.store
	if from.Store.Fingerprint == store.Fingerprint() {
		if rows != store.Cols() {
			return fmt.Errorf("its vectors have %d entries, for %d in this store", rows, store.Cols())
		}
		for i := range rows {
			if err := cmp.Or(ended(ctx, i), put(i, i)); err != nil {
				return err
			}
		}
		return nil
	}
	_, open := csr.Orient(store, from.RowNames, from.ColNames) // the columns of this store are the rows or the columns of the user's matrix
	if t.pairs() {
		open = from.ColNames
	}
	names, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, names.Close()) }()
	if names.Count() != rows {
		return fmt.Errorf("its vectors have %d entries, and it has %d ids", rows, names.Count())
	}
	return names.Match(ctx, IDsOf(ctx, store, csr.ColAxis), func(i, at int64, _ string) error { return put(i, at) })
}

// Match calls found for each id of a sequence, in order. i is the index of the id in the sequence, at that of the row or
// column of the result with the same id, or −1. An error of found ends Match.
func (n *Names) Match(ctx context.Context, ids Sequence, found func(i, at int64, id string) error) error {
	ordered := n.ids != nil && (ids.Kind == csr.IntIDs) == n.Ints() && n.Ordered() && ids.Ordered // one merge of both is enough
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
	skip := func(id string) (err error) { // advances to the first id that does not come before id
		want := int64(0)
		if n.Ints() {
			want, err = n.number(id)
		}
		for err == nil && at < n.count {
			before, x := here < id, int64(0)
			if n.Ints() {
				x, err = n.number(here)
				before = x < want
			}
			if !before || err != nil {
				break
			}
			err = cmp.Or(next(), ended(ctx, at))
		}
		return err
	}
	i := int64(-1)
	for id, err := range ids.IDs {
		if err != nil {
			return err
		}
		i++
		same := int64(-1)
		if !ordered {
			if same, err = n.Index(id); err != nil {
				return err
			}
		} else {
			if err := skip(id); err != nil {
				return err
			}
			if at < n.count && here == id {
				same = at
			}
		}
		if err := found(i, same, id); err != nil {
			return err
		}
	}
	return nil
}
