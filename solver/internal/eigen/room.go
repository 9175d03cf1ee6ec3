package eigen

import "gonum.org/v1/gonum/blas/blas64"

// room is memory for matrices, which is given back all at once: by reset, or by setting
// used to what it was.
type room struct {
	data []float64
	used int // numbers, even if there is less data
	most int
}

func (w *room) reset() {
	w.used = 0
	if w.most > len(w.data) {
		w.data = make([]float64, w.most)
	}
}

func (w *room) zeros(rows, cols int) blas64.General {
	x := blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols)}
	from, size := w.used, rows*cols
	w.used += size
	w.most = max(w.most, w.used)
	if w.used > len(w.data) {
		x.Data = make([]float64, size)
		return x
	}
	x.Data = w.data[from:w.used:w.used]
	clear(x.Data)
	return x
}
