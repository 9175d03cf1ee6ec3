package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/factor/internal/source"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/stream"
)

// List is recommendations that are there, of any program.
type List struct {
	Name   string
	Store  *csr.Store // an entry for each recommendation, with ids of the training store; not transposed
	Ranked bool       // values are ranks, of which the least is the best; else scores, of which the largest is
}

// ready reads a List by the rows of the training store.
type ready struct {
	List
	reader  *history.Reader
	entries int64    // that are read at a time
	place   []int64  // of the rows of the training store in the list; −1: none
	cols    []uint32 // of the training store, that those of the list are
	batch   []int64  // rows of the list that are in memory
	of      *history.Rows
	at      int // in batch
	best    []recommend.Item
}

// readyLists judges lists that are there.
func (e *evaluation) readyLists(ctx context.Context) (err error) {
	if len(e.Lists) == 0 {
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
	for _, l := range e.Lists {
		r, err := e.openList(ctx, l, names)
		if err != nil {
			return err
		}
		if err := e.readyList(ctx, r); err != nil {
			return err
		}
	}
	if e.rating {
		e.note("a list has no rmse and no mae: these are of predicted values")
	}
	return nil
}

// openList finds the rows and columns of a list among those of the training store.
func (e *evaluation) openList(ctx context.Context, l List, names [2]*factor.Names) (*ready, error) {
	rows, cols := factor.Dims(l.Store)
	o := stream.Options{Memory: e.Memory, Workers: e.Workers, Once: true, Reserve: history.Bytes(e.trainStore) + history.Bytes(l.Store) + 16*e.cols + 8*e.rows + 20*cols}
	for _, n := range names {
		if !n.Ordered() {
			o.Reserve += 16 * n.Count()
		}
	}
	if _, err := stream.PlanFor(l.Store, o); err != nil {
		return nil, err
	}
	r := &ready{List: l, entries: e.entries, place: slices.Repeat([]int64{-1}, int(e.rows)), cols: make([]uint32, cols)}
	err := e.match(ctx, l, csr.RowAxis, rows, names[0], func(i, at int64) { r.place[at] = i })
	if err != nil {
		return nil, err
	}
	if err = e.match(ctx, l, csr.ColAxis, cols, names[1], func(i, at int64) { r.cols[i] = uint32(at) }); err != nil {
		return nil, err
	}
	r.reader, err = history.New(ctx, l.Store, o)
	if err == nil {
		r.reader.Zeros = true
	}
	return r, err
}

// match calls found with each row or column of a list, and the number that it has in the training store.
func (e *evaluation) match(ctx context.Context, l List, axis csr.Axis, count int64, names *factor.Names, found func(i, at int64)) (err error) {
	ids, err := l.Store.IDs(axis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ids.Close()) }()
	unknown, first := 0, ""
	err = names.Match(ctx, ids, func(i, at int64) error {
		if at >= 0 {
			found(i, at)
			return nil
		}
		if unknown++; unknown == 1 {
			first = ids.String()
		}
		return nil
	})
	if err == nil && unknown > 0 {
		what := map[csr.Axis]string{csr.RowAxis: "rows", csr.ColAxis: "columns"}[axis]
		err = fmt.Errorf("%s: %d of %d %s, such as %q, are not in %s: want ids as the file that was ingested has them", l.Name, unknown, count, what, first, e.trainStore.Path())
	}
	return err
}

// readyList judges a list by the users that the models are judged by: who is not in it has an empty one.
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
				for _, item := range items {
					if of[0].Has(i, item.Index) {
						again++
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
		e.note("%s has less than the %d columns that the metrics look at for %d users: places without one are no hits", l.Name, e.longest, short)
	}
	if again > 0 {
		e.note("%s recommends columns that the user has an entry in, %d times: they are no hits", l.Name, again)
	}
	return nil
}

// items are the recommendations for a row of the training store, the best first. All rows are asked for, in their order.
func (l *ready) items(ctx context.Context, row int64) ([]recommend.Item, error) {
	at := l.place[row]
	if at < 0 {
		return nil, nil
	}
	if l.at == len(l.batch) {
		if err := l.read(ctx, row); err != nil {
			return nil, err
		}
	}
	cols, vals := l.of.Row(l.at)
	l.at++
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
			return nil, fmt.Errorf("%s: row %s has two columns of rank %g: want each rank once", l.Name, source.New(l.Store, csr.RowAxis, csr.ColAxis).IDOf(csr.RowAxis, at), -x)
		}
	}
	return l.best, nil
}

// read reads the rows of the list for those from this one on, as far as they ascend in it.
func (l *ready) read(ctx context.Context, row int64) (err error) {
	l.batch, l.at = l.batch[:0], 0
	for _, at := range l.place[row:] {
		n := len(l.batch)
		if n == batchRows || at >= 0 && n > 0 && at <= l.batch[n-1] {
			break
		}
		if at >= 0 {
			l.batch = append(l.batch, at)
		}
	}
	if l.of, err = l.reader.Read(ctx, l.batch, l.entries); err == nil {
		l.batch = l.batch[:l.of.Len()]
	}
	return err
}
