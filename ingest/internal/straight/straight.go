// Package straight writes the rows of a store as they come.
//
// A [Writer] adds the rows without entries that lie between others. It also takes [format.Rows] that may
// break off within a row; if they turn out not to be in order, what has been written can be taken back (Pour).
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
	Source map[string]any // of the store, to be completed until it is sealed
	N      int64          // entries taken by Add

	ctx  context.Context
	o    csr.CreateOptions
	next int64 // row behind the last one written
	row  int64 // that may go on
	cols []uint32
	vals []float64
}

// Create begins a store that is written until ctx ends; Options.Staging and Source are given.
func Create(ctx context.Context, path string, o csr.CreateOptions) (*Writer, error) {
	w, err := csr.Create(path, o)
	if err != nil {
		return nil, err
	}
	return &Writer{Writer: w, Source: o.Source, ctx: ctx, o: o}, nil
}

// Row writes a row, unless it is empty.
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

// End writes empty rows up to a number of rows.
func (w *Writer) End(rows int64) error {
	const some = 1 << 24 // a few bytes of an input can stand for any number of them
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

// EndRow writes the row that might have gone on. The error is csr.ErrCoding if there is a value in it that cannot be written.
func (w *Writer) EndRow() error {
	err := w.Row(w.row, w.cols, w.vals)
	if err == nil {
		w.cols, w.vals = w.cols[:0], w.vals[:0]
	}
	return err
}

// Add takes rows. It is false where they are not behind those before, or there is a value that cannot be written
// any more: the first N entries of all have been taken.
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

// Open is how many entries there are in the row that may go on.
func (w *Writer) Open() int { return len(w.cols) }

// Pour gives back, in order, what has been taken, removes it from the staging, and tells statistics that lead to the coding
// of all values if they are gone on with. The Writer is of no more use.
func (w *Writer) Pour(emit func(row int64, cols []uint32, vals []float64) error) (stats csr.ValueStats, err error) {
	if _, err := w.Seal(); err != nil {
		return stats, err
	}
	dir := w.o.Staging.Dir()
	s, err := csr.Open(dir, csr.OpenOptions{FS: w.o.FS, Missing: true})
	if err != nil {
		return stats, err
	}
	if s.NNZ() > 0 {
		stats = csr.StatsOf(s.Values())
	}
	if err := errors.Join(pour(s, emit), s.Close()); err != nil {
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

func pour(s *csr.Store, emit func(row int64, cols []uint32, vals []float64) error) error {
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

// Rows makes rows of a batch of indices, or of its transpose. It is false if they do not ascend strictly, or are not below a limit.
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
