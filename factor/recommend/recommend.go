package recommend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/history"
	"github.com/gdsvd/gdsvd/internal/budget"
	"github.com/gdsvd/gdsvd/stream"
)

// Options of Rows. The zero value of every field but N is usable.
type Options struct {
	N          int                              // largest number of columns for each row, 1 or more
	Rows       []int64                          // numbers of the rows, ascending; nil: all, or From … To−1
	From, To   int64                            // range of rows if Rows is nil; To 0: all
	Candidates []uint32                         // numbers of the columns, ascending; nil: all
	Seen       bool                             // columns that a row has an entry in may be recommended, too
	By         Scoring                          // how rows are scored
	Keep       func(row int64, col uint32) bool // reports whether a row has an entry; nil: it has those of the store
	Memory     int64                            // budget of the whole process in bytes; 0: factor.DefaultMemory
	Reserve    int64                            // bytes of Memory that the caller takes
	Workers    int                              // 0: all processors
	Progress   func(done, total int64)          // reports the rows done; may be nil
}

// Summary counts the recommendations of Rows.
type Summary struct {
	Rows  int64 `json:"rows"`  // number of rows that have entries, those without a column left to recommend included
	Empty int64 `json:"empty"` // number of rows without entries, which have no recommendations
	Short int64 `json:"short"` // number of rows that have fewer than N recommendations
	Items int64 `json:"items"` // number of recommendations in total
}

// Rows finds the columns with the highest scores for rows of the matrix of a store. emit is called with each row that has
// entries, in order, and its columns, the best first; emit must not keep items.
func Rows(ctx context.Context, f *Factorisation, store *csr.Store, o Options, emit func(row int64, items []Item) error) (*Summary, error) {
	r, err := newRun(f, store, o)
	if err == nil {
		err = r.plan(ctx, store)
	}
	if err != nil {
		return nil, err
	}
	return &r.sum, r.each(ctx, emit)
}

type run struct {
	*Factorisation
	Options
	asked   int // N as it is given: no more are searched for than there are columns
	columns segments
	block   int   // rows at a time
	entries int64 // largest number of entries of these rows
	reader  *history.Reader
	sum     Summary
}

// newRun checks the options and returns a run whose memory is not planned yet.
func newRun(f *Factorisation, store *csr.Store, o Options) (*run, error) {
	r := &run{Factorisation: f, Options: o, asked: o.N}
	r.columns = segments{n: f.Cols, k: len(f.Sigma), read: f.V, among: o.Candidates, zeros: true}
	r.Memory = cmp.Or(r.Memory, factor.DefaultMemory())
	r.Workers = cmp.Or(r.Workers, runtime.GOMAXPROCS(0))
	r.By = f.scoring(o.By)
	rows, cols := factor.Dims(store)
	among := cols
	if o.Candidates != nil {
		among = int64(len(o.Candidates))
	}
	switch {
	case rows != f.Rows || cols != f.Cols:
		return nil, fmt.Errorf("the factorisation is of a %d × %d matrix, %s is %d × %d", f.Rows, f.Cols, store.Path(), rows, cols)
	case cols > history.MaxColumns:
		return nil, fmt.Errorf("%s has %d columns: recommendations are made for %d at most", store.Path(), cols, int64(history.MaxColumns))
	case f.completed && r.By == History:
		return nil, fmt.Errorf("a completion scores by its predictions: scores by history are for a factorisation")
	case o.N < 1:
		return nil, fmt.Errorf("%d recommendations: want 1 or more", o.N)
	case among < 1:
		return nil, errors.New("there are no columns to recommend")
	case len(f.Sigma) == 0 || rows == 0:
		return nil, fmt.Errorf("%s: a factorisation without triplets, or of no rows, has no scores", store.Path())
	}
	r.N = int(min(int64(r.N), among))
	r.To = cmp.Or(r.To, rows)
	return r, nil
}

func (r *run) plan(ctx context.Context, store *csr.Store) (err error) {
	block := store.MaxBlock()
	taken := r.Reserve + r.held + history.Bytes(store) + int64(r.Workers)*store.DecodedSize(block.Rows, block.NNZ)
	var left int64
	r.block, left, err = r.columns.plan(r.Memory, taken, 2*int64(8*len(r.Sigma)+16*r.N+56), numberOf(r.Options.Rows, r.To-r.From), r.Workers)
	if err != nil {
		return err
	}
	r.entries = left / 8 / (2 * history.EntryBytes)
	if r.reader, err = history.New(ctx, store, false, stream.Options{Memory: r.Memory, Workers: r.Workers, Reserve: r.Memory - left*3/8 - budget.Process().Total()}); err != nil {
		return err
	}
	r.reader.Keep = r.Keep
	return nil
}

func (r *run) each(ctx context.Context, emit func(int64, []Item) error) error {
	heaps := newHeaps(r.N)
	done := progress(r.Progress, r.Options.Rows, r.To-r.From)
	return history.Each(r.Options.Rows, r.To-r.From, int64(r.block), func(rows []int64) (int, error) {
		for i := range rows {
			if r.Options.Rows == nil {
				rows[i] += r.From
			}
		}
		seen, err := r.reader.Read(ctx, rows, r.entries)
		if err != nil {
			return 0, err
		}
		rows = rows[:seen.Len()]
		found := heaps(len(rows))
		queries := mat.NewDense(len(rows), r.columns.k, nil)
		if err := r.queries(ctx, queries, rows, seen, found); err != nil {
			return 0, err
		}
		if err := r.columns.search(ctx, queries, found, func(row int, col uint32) bool { return !r.Seen && seen.Has(row, col) }); err != nil {
			return 0, err
		}
		for i, row := range rows {
			if err := r.found(row, seen.Ptr[i] == seen.Ptr[i+1], found[i].items, emit); err != nil {
				return 0, err
			}
		}
		done(len(rows))
		return len(rows), nil
	})
}

// found counts the recommendations for a row, and passes them to emit.
func (r *run) found(row int64, empty bool, items []Item, emit func(int64, []Item) error) error {
	if empty {
		r.sum.Empty++
		return nil
	}
	r.sum.Rows++
	r.sum.Items += int64(len(items))
	if len(items) < r.asked {
		r.sum.Short++
	}
	return emit(row, items)
}

// numberOf returns the length of a list, total if it is nil.
func numberOf(list []int64, total int64) int64 {
	if list != nil {
		return int64(len(list))
	}
	return total
}

// progress returns a function that reports how many of the given rows, or of total rows if list is nil, are done.
func progress(tell func(done, total int64), list []int64, total int64) func(n int) {
	total = numberOf(list, total)
	done := int64(0)
	return func(n int) {
		done += int64(n)
		if tell != nil {
			tell(done, total)
		}
	}
}

// queries computes the vectors by which the vectors of the columns are multiplied.
func (r *run) queries(ctx context.Context, q *mat.Dense, rows []int64, seen *history.Rows, heaps []top) error {
	if r.By == Model {
		if err := readSome(r.Lines().scaled, rows, q); err != nil {
			return err
		}
	} else if err := r.columns.each(ctx, false, func() error { return r.history(ctx, q, rows, seen, heaps) }); err != nil {
		return err
	}
	for i, row := range rows {
		if x, ok := multiplies(q.RawRowView(i)); !ok {
			return fmt.Errorf("row %d (from 0) is projected to the number %v: scores need numbers up to %g", row, x, largest)
		}
	}
	return nil
}

func readSome(read func(int64, *mat.Dense) error, numbers []int64, to *mat.Dense) error {
	_, k := to.Dims()
	for from := 0; from < len(numbers); {
		end := from + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if err := read(numbers[from], to.Slice(from, end, 0, k).(*mat.Dense)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// history adds to q the weighted vectors of those columns in memory that rows have entries in, in the order of the columns.
func (r *run) history(ctx context.Context, q *mat.Dense, rows []int64, seen *history.Rows, heaps []top) error {
	n, _ := r.columns.Rows.Dims()
	errs, entry := make([]error, len(rows)), r.View.History()
	err := r.columns.parts(ctx, len(rows), func(_, from, to int) {
		var weights []float64
		for i := from; i < to; i++ {
			cols, vals := seen.Row(i)
			weights = slices.Grow(weights[:0], len(vals))[:len(vals)]
			if r.Fold == nil {
				for p, v := range vals {
					weights[p] = entry.Value(v)
				}
			} else if _, errs[i] = r.Fold.Line(rows[i], cols, vals, weights); errs[i] != nil {
				return
			}
			heaps[i].from = norm(weights)
			sum := blas64.Vector{N: r.columns.k, Inc: 1, Data: q.RawRowView(i)}
			for p, col := range cols {
				at := int64(col) - r.columns.First
				if w := weights[p]; w != 0 && at >= 0 && at < int64(n) {
					blas64.Axpy(w, blas64.Vector{N: r.columns.k, Inc: 1, Data: r.columns.Rows.RawRowView(int(at))}, sum)
				}
			}
		}
	})
	return cmp.Or(err, cmp.Or(errs...))
}
