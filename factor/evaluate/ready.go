package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/stream"
)

// List is a set of recommendations made by any program.
type List struct {
	Name   string
	Store  *csr.Store // an entry for each recommendation, with ids of the training store; not transposed
	Ranked bool       // values are ranks, the smallest the best; otherwise scores, the largest the best
}

// aligned reads the rows of another store by rows of the training store, or by columns of it, that have the same ids.
type aligned struct {
	reader  *history.Reader
	entries int64   // number of entries read at a time
	place   []int64 // row of the other store; −1: none
	batch   []int64 // rows of the other store that are in memory
	of      *history.Rows
}

type ready struct {
	List
	*aligned
	cols []uint32 // column of the training store for each column of the list
	best []recommend.Item
}

// foreign judges lists and vectors of other programs.
func (e *evaluation) foreign(ctx context.Context) (err error) {
	if len(e.Lists)+len(e.Vectors) == 0 {
		return nil
	}
	var names [2]*factor.Names // of rows and columns
	for i, count := range []int64{e.rows, e.cols} {
		var side *factor.SideIDs
		var files []factor.File
		if side, files, err = factor.WriteNames(ctx, e.FS, e.Dir, e.trainStore, i == 1); err != nil {
			return err
		}
		if names[i], err = factor.OpenNames(ctx, e.FS, e.Dir, side, files, count); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, names[i].Close()) }()
	}
	for _, v := range e.Vectors {
		if err := e.vectors(ctx, v, names); err != nil {
			return err
		}
	}
	for _, l := range e.Lists {
		r := &ready{List: l}
		if r.aligned, err = e.align(ctx, l.Name, l.Store, names[0], "rows"); err != nil {
			return err
		}
		_, cols := factor.Dims(l.Store)
		r.cols = make([]uint32, cols)
		if err := e.match(ctx, l.Name, l.Store, csr.ColAxis, "columns", names[1], func(i, at int64) { r.cols[i] = uint32(at) }); err != nil {
			return err
		}
		if err := e.readyList(ctx, r); err != nil {
			return err
		}
	}
	if len(e.Lists) > 0 && e.rating {
		e.note("a list has no rmse and no mae, which need predicted values")
	}
	return nil
}

// align finds the rows of a store among the rows or columns of the training store, whose names are given.
func (e *evaluation) align(ctx context.Context, name string, store *csr.Store, names *factor.Names, what string) (*aligned, error) {
	_, cols := factor.Dims(store)
	o := stream.Options{Memory: e.Memory, Workers: e.Workers, Once: true, Reserve: history.Bytes(e.trainStore) + history.Bytes(store) + 24*e.cols + 8*e.rows + 20*cols}
	if !names.Ordered() {
		o.Reserve += 8 * names.Count()
	}
	if _, err := stream.PlanFor(store, o); err != nil {
		return nil, err
	}
	r := &aligned{entries: e.entries, place: slices.Repeat([]int64{-1}, int(names.Count()))}
	err := e.match(ctx, name, store, csr.RowAxis, what, names, func(i, at int64) { r.place[at] = i })
	if err != nil {
		return nil, err
	}
	if r.reader, err = history.New(ctx, store, false, o); err == nil {
		r.reader.Zeros = true
	}
	return r, err
}

// match calls found with the index of each row or column of a store, and its index in the training store. An unknown id is
// an error.
func (e *evaluation) match(ctx context.Context, name string, store *csr.Store, axis csr.Axis, what string, names *factor.Names, found func(i, at int64)) error {
	all, unknown, first := 0, 0, ""
	err := names.Match(ctx, factor.IDsOf(ctx, store, axis), func(i, at int64, id string) error {
		all++
		if at >= 0 {
			found(i, at)
			return nil
		}
		if unknown++; unknown == 1 {
			first = id
		}
		return nil
	})
	if err == nil && unknown > 0 {
		err = fmt.Errorf("%s: %d of %d %s, such as %q, are not in %s: want ids as the file that was ingested has them", name, unknown, all, what, first, e.trainStore.Path())
	}
	return err
}

// readyList judges a list for the users of the models: a user who is not in it has an empty list.
func (e *evaluation) readyList(ctx context.Context, l *ready) error {
	longest, short, again := 0, 0, 0
	m := e.model(&Model{Name: l.Name})
	err := e.judge(ctx, m, func(emit func(int64, []recommend.Item) error) error {
		done := int64(0)
		return eachBatch(ctx, nil, e.rows, e.entries, []*history.Reader{e.train}, func(rows []int64, of []*history.Rows) error {
			for i, row := range rows {
				items, err := l.items(ctx, row)
				if err != nil {
					return err
				}
				seen, _ := of[0].Row(i)
				if len(seen) == 0 {
					continue
				}
				items = items[:min(len(items), e.longest)]
				longest = max(longest, len(items))
				if len(items) < min(e.longest, int(e.cols)-len(seen)) {
					short++
				}
				for p := range items {
					if of[0].Has(i, items[p].Index) {
						again++
						items[p].Score = math.NaN() // no hit
					}
				}
				if err := emit(row, items); err != nil {
					return err
				}
			}
			done += int64(len(rows))
			e.Progress(l.Name, float64(done), float64(e.rows))
			return nil
		})
	})
	switch {
	case err != nil:
		return err
	case short > 0 && longest < e.longest:
		return fmt.Errorf("%s: its longest list has %d columns, and the metrics look at %d: make longer lists, or take metrics of @%d", l.Name, longest, e.longest, max(longest, 1))
	case short > 0:
		e.note("%s has fewer than the %d columns that the metrics need for %d users: missing places count as no hits", l.Name, e.longest, short)
	}
	if again > 0 {
		e.note("%s recommends columns that the user has an entry in, %d times: they are no hits", l.Name, again)
	}
	return nil
}

// items returns the recommendations for a row of the training store, the best first.
func (l *ready) items(ctx context.Context, row int64) ([]recommend.Item, error) {
	cols, vals, err := l.row(ctx, row)
	if err != nil {
		return nil, err
	}
	l.best = l.best[:0]
	for p, c := range cols {
		x := recommend.Item{Index: l.cols[c], Score: vals[p]}
		if l.Ranked {
			x.Score *= -1
		}
		l.best = append(l.best, x)
	}
	slices.SortFunc(l.best, func(x, y recommend.Item) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(x.Index, y.Index))
	})
	for i := 1; l.Ranked && i < len(l.best); i++ {
		if x := l.best[i].Score; x == l.best[i-1].Score {
			return nil, fmt.Errorf("%s: row %s has two columns of rank %g: want each rank once", l.Name, source.New(l.Store).IDOf(csr.RowAxis, l.place[row]), -x)
		}
	}
	return l.best, nil
}

// row returns the entries of a row in the other store. It reads the rows that follow with it, as far as they ascend there.
func (l *aligned) row(ctx context.Context, row int64) (cols []uint32, vals []float64, err error) {
	want := l.place[row]
	if want < 0 {
		return nil, nil, nil
	}
	i, in := slices.BinarySearch(l.batch, want)
	if !in {
		i, l.batch = 0, l.batch[:0]
		for _, at := range l.place[row:] {
			n := len(l.batch)
			if n == batchRows || at >= 0 && n > 0 && at <= l.batch[n-1] {
				break
			}
			if at >= 0 {
				l.batch = append(l.batch, at)
			}
		}
		if l.of, err = l.reader.Read(ctx, l.batch, l.entries); err != nil {
			return nil, nil, err
		}
		l.batch = l.batch[:l.of.Len()]
	}
	cols, vals = l.of.Row(i)
	return cols, vals, nil
}

// Vectors are a model of any program: a vector for each row and each column of the training store. Its scores and its
// predictions are the inner products.
type Vectors struct {
	Name       string
	Rows, Cols *csr.Store // a row for each vector, with ids of the training store; not transposed
}

func (e *evaluation) vectors(ctx context.Context, v Vectors, names [2]*factor.Names) error {
	_, k := factor.Dims(v.Rows)
	if _, of := factor.Dims(v.Cols); of != k {
		return fmt.Errorf("%s: vectors of rows have %d numbers, those of columns %d: want equally many", v.Name, k, of)
	}
	f := &recommend.Factorisation{Rows: e.rows, Cols: e.cols, Sigma: slices.Repeat([]float64{1}, int(k)), Exact: true}
	var err error
	if f.U, err = e.side(ctx, v, v.Rows, names[0], "rows"); err != nil {
		return err
	}
	if f.V, err = e.side(ctx, v, v.Cols, names[1], "columns"); err != nil {
		return err
	}
	m := e.model(&Model{Name: v.Name, K: int(k)})
	e.held = 8*(e.rows+e.cols) + 24*e.entries
	defer func() { e.held = 0 }()
	if err := e.list(ctx, m, f, recommend.Model); err != nil || !e.rating {
		return err
	}
	return e.rate(ctx, offset{columns: e.columns.plain()}, f, f.U, []*Model{m})
}

// side returns a function that reads the vectors of rows or columns in the order of the training store.
func (e *evaluation) side(ctx context.Context, v Vectors, store *csr.Store, names *factor.Names, what string) (func(first int64, to *mat.Dense) error, error) {
	l, err := e.align(ctx, v.Name, store, names, what)
	if err != nil {
		return nil, err
	}
	if i := slices.Index(l.place, -1); i >= 0 {
		id, err := names.ID(int64(i))
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %q of the %s of %s has no vector: want one for each, such as zeros", v.Name, id, what, e.trainStore.Path())
	}
	return func(first int64, to *mat.Dense) error {
		to.Zero()
		n, _ := to.Dims()
		for i := range n {
			cols, vals, err := l.row(ctx, first+int64(i))
			if err != nil {
				return err
			}
			for p, c := range cols {
				to.Set(i, int(c), vals[p])
			}
		}
		return nil
	}, nil
}
