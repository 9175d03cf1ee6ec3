// Package straight writes the rows of a store in the order in which they arrive.
//
// A [Writer] adds the empty rows between rows with entries. It also takes [format.Rows] that may end within a row. If rows
// turn out not to be in order, Pour returns the entries written so far.
package straight

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
)

type Writer struct {
	*csr.Writer
	Source map[string]any // source in the manifest of the store; may be completed until Seal
	N      int64          // number of entries taken by Add

	ctx  context.Context
	o    csr.CreateOptions
	next int64 // row behind the last row written
	row  int64 // row that may go on with the next Rows; cols and vals are its entries
	cols []uint32
	vals []float64
}

// Create begins a store; the writer fails when ctx ends. o.Staging and o.Source must be set.
func Create(ctx context.Context, path string, o csr.CreateOptions) (*Writer, error) {
	w, err := csr.Create(path, o)
	if err != nil {
		return nil, err
	}
	return &Writer{Writer: w, Source: o.Source, ctx: ctx, o: o}, nil
}

// Row writes the entries of a row, after the empty rows before it. It ignores a row without entries.
func (w *Writer) Row(row int64, cols []uint32, vals []float64) error {
	if len(cols) == 0 {
		return nil
	}
	if err := w.End(row); err != nil {
		return err
	}
	if err := w.AppendRow(cols, vals); err != nil {
		return err
	}
	w.next = row + 1
	return nil
}

// End writes empty rows until the store has the given number of rows.
func (w *Writer) End(rows int64) error {
	const some = 1 << 24 // limits the rows between two looks at ctx: a few bytes of input can stand for any number of empty rows
	for w.next < rows {
		n := min(some, rows-w.next)
		err := w.ctx.Err()
		if err == nil {
			err = w.AppendEmptyRows(n)
		}
		if err != nil {
			return err
		}
		w.next += n
	}
	return nil
}

// EndRow writes the open row. The error is csr.ErrCoding if the row has a value that cannot be written.
func (w *Writer) EndRow() error {
	err := w.Row(w.row, w.cols, w.vals)
	if err == nil {
		w.cols, w.vals = w.cols[:0], w.vals[:0]
	}
	return err
}

// Add takes rows. It returns false if they do not come behind the rows before, or have a value that cannot be written any
// more; the first N entries of all Rows have then been taken.
func (w *Writer) Add(r *format.Rows) (ok bool, err error) {
	cols, vals := r.Cols, r.Vals
	for i, run := range r.Runs {
		n := run.N
		switch goesOn := len(w.cols) > 0 && run.Row == w.row; {
		case goesOn && cols[0] <= w.cols[len(w.cols)-1], run.Row < w.next, len(w.cols) > 0 && run.Row < w.row:
			return false, nil
		case !goesOn:
			err = w.EndRow()
		}
		switch {
		case err != nil:
		case i == len(r.Runs)-1 || len(w.cols) > 0:
			w.row, w.cols, w.vals = run.Row, append(w.cols, cols[:n]...), append(w.vals, vals[:n]...)
		default:
			err = w.Row(run.Row, cols[:n], vals[:n])
		}
		if errors.Is(err, csr.ErrCoding) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		w.N += int64(n)
		cols, vals = cols[n:], vals[n:]
	}
	return true, nil
}

// Open returns the number of entries of the open row.
func (w *Writer) Open() int { return len(w.cols) }

// Pour passes all entries that were taken to emit, in order, and removes them from the staging directory. It returns
// statistics from which the coding of all values follows if further values are added. The Writer must not be used afterwards.
func (w *Writer) Pour(emit func(row int64, cols []uint32, vals []float64) error) (stats csr.ValueStats, err error) {
	if _, err := w.Seal(); err != nil {
		return stats, err
	}
	dir := w.o.Staging.Dir()
	s, err := csr.Open(dir, csr.OpenOptions{FS: w.o.FS, Missing: true})
	if err != nil {
		return stats, err
	}
	err = Each(s, func(row int64, cols []uint32, vals []float64) error {
		stats.Add(vals...)
		return emit(row, cols, vals)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		return stats, err
	}
	stats.Add(w.vals...)
	if len(w.cols) > 0 {
		if err := emit(w.row, w.cols, w.vals); err != nil {
			return stats, err
		}
	}
	entries, err := w.o.FS.ReadDir(dir)
	for _, e := range entries {
		err = errors.Join(err, w.o.FS.Remove(filepath.Join(dir, e.Name())))
	}
	return stats, err
}

// Each passes the entries of all rows of a store that have any to emit, in order.
func Each(s *csr.Store, emit func(row int64, cols []uint32, vals []float64) error) error {
	b := s.Scratch()
	var cols []uint32
	var vals []float64
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, b); err != nil {
			return err
		}
		for row := range b.Rows() {
			cols, vals = cols[:0], vals[:0]
			for c, v := range b.Row(row) {
				cols, vals = append(cols, c), append(vals, v)
			}
			if len(cols) == 0 {
				continue
			}
			if err := emit(b.FirstRow+int64(row), cols, vals); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rows makes rows of a batch of indices, or of its transpose. It returns false unless they ascend, with columns below limit.
func Rows(r *format.Rows, b *format.Batch, transposed bool, limit int64) bool {
	lines, across := csr.Exchanged(transposed, b.Row.Ints, b.Col.Ints)
	r.Reset(len(b.Val))
	copy(r.Vals, b.Val)
	for i, c := range across[:len(b.Val)] {
		r.Cols[i] = uint32(c)
	}
	for from, to := 0, 0; to < len(b.Val); from = to {
		row := lines[from]
		for ; to < len(b.Val) && lines[to] == row; to++ {
		}
		if from > 0 && lines[from-1] >= row || !r.Cut(row, to-from, limit) {
			return false
		}
	}
	return r.Whole()
}
