package npy

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Window keeps the rows of K numbers, out of N, that were read last in memory.
type Window struct {
	N    int64
	Most int64 // largest number of rows in memory
	K    int
	Read func(first int64, rows *mat.Dense) error

	First  int64      // index of the first row of Rows
	Rows   *mat.Dense // nil: no rows have been read
	buffer *mat.Dense
}

// Load reads Most rows, or those up to the end, from row first on, unless they are in memory.
func (w *Window) Load(first int64) error {
	if w.Rows != nil && w.First == first {
		return nil
	}
	n := int(min(w.N-first, w.Most))
	if w.buffer == nil {
		w.buffer = mat.NewDense(int(min(w.N, w.Most)), w.K, nil)
	}
	w.Rows = nil
	rows := w.buffer.Slice(0, n, 0, w.K).(*mat.Dense)
	if err := w.Read(first, rows); err != nil {
		return err
	}
	w.First, w.Rows = first, rows
	return nil
}

// Each calls do with all rows, window by window.
func (w *Window) Each(ctx context.Context, do func(first int64, rows *mat.Dense) error) error {
	for first := int64(0); first < w.N; first += w.Most {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.Load(first); err != nil {
			return err
		}
		if err := do(first, w.Rows); err != nil {
			return err
		}
	}
	return nil
}

// Row returns row i. If the row is not in memory Row reads its whole window.
func (w *Window) Row(i int64) ([]float64, error) {
	if err := w.Load(i / w.Most * w.Most); err != nil {
		return nil, err
	}
	return w.Rows.RawRowView(int(i - w.First)), nil
}
