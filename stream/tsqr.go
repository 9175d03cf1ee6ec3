package stream

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// tsqr accumulates the R factor of a tall matrix with k columns from its rows
// in order: rows are stacked under the R so far, and each full stack is
// factored anew by Householder reflections. R is backward stable: its singular
// values are those of the whole matrix to a modest multiple of ε‖·‖, whatever the matrix.
type tsqr struct {
	k     int
	stack []float64 // stackRows(k) × k, row-major; the first k rows hold R once one was computed
	rows  int       // rows of stack in use
	tau   []float64
	work  []float64
}

// stackRows is large enough that factoring R again and again costs little beside the new rows.
func stackRows(k int) int { return max(256, 5*k) }

func newTSQR(k int) *tsqr {
	return &tsqr{k: k, stack: make([]float64, stackRows(k)*k), tau: make([]float64, k)}
}

func (t *tsqr) add(w []float64) {
	for len(w) > 0 {
		n := copy(t.stack[t.rows*t.k:], w)
		w = w[n:]
		t.rows += n / t.k
		if t.rows*t.k == len(t.stack) {
			t.factor()
		}
	}
}

func (t *tsqr) factor() {
	if t.rows == 0 {
		return
	}
	a := blas64.General{Rows: t.rows, Cols: t.k, Stride: t.k, Data: t.stack}
	tau := t.tau[:min(t.rows, t.k)]
	if t.work == nil {
		query := []float64{0}
		lapack64.Geqrf(a, t.tau, query, -1)
		t.work = make([]float64, max(int(query[0]), t.k))
	}
	lapack64.Geqrf(a, tau, t.work, len(t.work))
	t.rows = len(tau)
	for i := range t.rows { // what Geqrf leaves below the diagonal are the reflectors
		clear(t.stack[i*t.k : i*t.k+i])
	}
}

// take returns the rows of the R factor of all rows added since the last take,
// valid until the next add, and forgets them.
func (t *tsqr) take() []float64 {
	t.factor()
	r := t.stack[:t.rows*t.k]
	t.rows = 0
	return r
}

// r sets dst to the k×k upper triangular factor of all rows added so far.
func (t *tsqr) r(dst *mat.Dense) {
	t.factor()
	dst.Zero()
	for i := range t.rows {
		copy(dst.RawRowView(i), t.stack[i*t.k:(i+1)*t.k])
	}
}
