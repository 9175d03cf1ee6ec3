package evaluate

import (
	"context"
	"fmt"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/internal/mix"
	"github.com/gdsvd/gdsvd/stream"
)

// fits returns an error unless two stores have the same rows and columns.
func fits(train, test *csr.Store) error {
	rows, cols := factor.Dims(train)
	if r, c := factor.Dims(test); r != rows || c != cols {
		return fmt.Errorf("%s is %d × %d, %s is %d × %d: want the two stores that one ingest --holdout has made", train.Path(), rows, cols, test.Path(), r, c)
	}
	a, b := train.Manifest().IDs, test.Manifest().IDs
	a.Rows, a.Cols = csr.Orient(train, a.Rows, a.Cols)
	b.Rows, b.Cols = csr.Orient(test, b.Rows, b.Cols)
	for _, side := range [][2]*csr.IDFile{{a.Rows, b.Rows}, {a.Cols, b.Cols}} {
		x, y := side[0], side[1]
		if (x == nil) != (y == nil) || x != nil && (x.Kind != y.Kind || x.Count != y.Count || x.CRC != y.CRC) {
			return fmt.Errorf("%s and %s have other ids: want the two stores that one ingest --holdout has made", train.Path(), test.Path())
		}
	}
	return nil
}

// heldOut reports whether a user is left out of the training, as a share of the users is.
func heldOut(seed uint64, user int64, share float64) bool {
	return float64(mix.Next(mix.Next(seed)+uint64(user)*mix.Golden)>>11)*0x1p-53 < share
}

// Targets is the share of a folded-in user's entries that are targets, if there is no test store.
const Targets = 0.2

// target reports whether an entry of a folded-in user is a target, and not part of the history.
func target(seed uint64, user int64, col uint32) bool {
	return float64(mix.Next(mix.Next(mix.Next(seed)+uint64(user)*mix.Golden)+uint64(col)*mix.Golden)>>11)*0x1p-53 < Targets
}

// columns holds sums over the training entries.
type columns struct {
	counts, sums []float64 // of each column
	entries, sum float64
}

// plain returns the sums of the columns with the mean 0.
func (c *columns) plain() *columns { return &columns{counts: c.counts, sums: c.sums} }

func (c *columns) mean() float64 {
	if c.entries == 0 {
		return 0
	}
	return c.sum / c.entries
}

const batchRows = 1 << 13

// eachBatch calls f with batches of rows, in order, and their entries in the store of each reader.
func eachBatch(ctx context.Context, rows []int64, total int64, entries int64, readers []*history.Reader, f func(rows []int64, of []*history.Rows) error) error {
	of := make([]*history.Rows, len(readers))
	return history.Each(rows, total, batchRows, func(some []int64) (_ int, err error) {
		for i, r := range readers {
			if of[i], err = r.Read(ctx, some, entries); err != nil {
				return 0, err
			}
			some = some[:of[i].Len()]
		}
		return len(some), f(some, of)
	})
}

func (e *evaluation) sumColumns(ctx context.Context) error {
	e.columns = columns{counts: make([]float64, e.cols), sums: make([]float64, e.cols)}
	return eachBatch(ctx, nil, e.rows, e.entries, []*history.Reader{e.train}, func(rows []int64, of []*history.Rows) error {
		for i, row := range rows {
			if e.Users > 0 && heldOut(e.Seed, row, e.Users) {
				continue
			}
			cols, vals := of[0].Row(i)
			for p, c := range cols {
				e.columns.counts[c]++
				e.columns.sums[c] += vals[p]
				e.columns.sum += vals[p]
			}
			e.columns.entries += float64(len(cols))
		}
		return nil
	})
}

// offset is what a bias step subtracts from entries: the mean and, with ofCols and ofRows, the biases of columns and rows.
type offset struct {
	*columns
	ofCols, ofRows bool
	damping        float64
}

func (o offset) column(j uint32) float64 {
	if n := o.counts[j]; o.ofCols && n > 0 {
		return (o.sums[j] - n*o.mean()) / (n + o.damping)
	}
	return 0
}

func (o offset) row(cols []uint32, vals []float64) float64 {
	if !o.ofRows || len(cols) == 0 {
		return 0
	}
	sum := 0.0
	for p, c := range cols {
		sum += vals[p] - o.mean() - o.column(c)
	}
	return sum / (float64(len(cols)) + o.damping)
}

// relevant returns the columns of the relevant entries of a row of the test store, in the memory of buf.
func (e *evaluation) relevant(cols []uint32, vals []float64, buf []uint32) []uint32 {
	if e.Relevant == nil {
		return cols
	}
	buf = buf[:0]
	for p, col := range cols {
		if vals[p] >= *e.Relevant {
			buf = append(buf, col)
		}
	}
	return buf
}

// countRelevant counts the judged users who have relevant entries.
func (e *evaluation) countRelevant(ctx context.Context) error {
	var buf []uint32
	return eachBatch(ctx, e.users, e.rows, e.entries, []*history.Reader{e.test}, func(rows []int64, of []*history.Rows) error {
		for i := range rows {
			cols, vals := of[0].Row(i)
			if buf = e.relevant(cols, vals, buf); len(buf) > 0 {
				e.withRelevant++
			}
		}
		return nil
	})
}

// places returns the row of the test store for each row of the training store: the same row for judged users, −1 for others.
func (e *evaluation) places() []int64 {
	place := make([]int64, e.rows)
	for i := range place {
		place[i] = int64(i)
		if e.users != nil {
			place[i] = -1
		}
	}
	for _, i := range e.users {
		place[i] = i
	}
	return place
}

func (e *evaluation) open(ctx context.Context, train, test *csr.Store) (err error) {
	o := stream.Options{Memory: e.Memory, Workers: e.Workers, Once: true}
	const sums = 8 + 8 // bytes of a column
	o.Reserve = history.Bytes(train) + history.Bytes(test) + sums*e.cols + 8*e.rows + int64(8*e.Users*float64(e.rows))
	for _, s := range []*csr.Store{train, test} {
		if _, err := stream.PlanFor(s, o); err != nil {
			return err
		}
	}
	if e.train, err = history.New(ctx, train, false, o); err != nil {
		return err
	}
	if e.test, err = history.New(ctx, test, false, o); err != nil {
		return err
	}
	e.train.Keep = e.history
	if e.history != nil {
		e.test.Keep = func(row int64, col uint32) bool { return target(e.Seed, row, col) }
	}
	return nil
}
