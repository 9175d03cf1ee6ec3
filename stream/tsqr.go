package stream

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
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

// stackRows returns the rows of a stack: enough that factoring R again and again costs little beside the new rows.
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
	for i := range t.rows { // Geqrf leaves the reflectors below the diagonal
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

// factors is the R factor of all rows of W = A·X, from one of two sums over the rows:
//
//	G = WᵀW        the Cholesky factor of G, which is formed many times as fast
//	tsqr           in a second read, if G does not determine R well enough
//
// With D = diag ‖w_j‖ and the scaled S = D⁻¹GD⁻¹, of unit diagonal, the computed G is D(S+E)D with
// |E_ij| ≤ γ, a modest multiple of ε (rows are added 64 at a time, and then tasks). So is RᵀR, with
// the backward error of the Cholesky factorisation (Demmel 1989; Higham, Accuracy and
// Stability of Numerical Algorithms, theorems 10.5 and 10.7), which is of the same form. For all x
//
//	|‖Rx‖²/‖Wx‖² − 1| ≤ ‖S⁻¹‖·‖E‖,
//
// and so every singular value of R, the smallest ones too, has a relative error of at most half of that (Ostrowski).
// tsqr bounds the error by ε‖W‖, which is weaker for small values. The finishing pass makes W of Ritz vectors: its
// columns are orthogonal to about the residuals, and S is close to I. It is not close to I for vectors whose values are
// lost in rounding, or for arbitrary vectors.
type factors struct {
	turn  *sequencer
	exact bool // tsqr, instead of G
	total *tsqr
	block []*tsqr // one for each worker; G is formed in the memory of the stack
}

const (
	// mostInverse is the largest ‖S⁻¹‖ for which the Cholesky factor is good enough.
	mostInverse = 4
	// With fewer than manyRows·k rows tsqr is used at once: it takes little time.
	manyRows = 8
	// Products of columns shorter than leastNorm, about 1e-144, lose bits to underflow.
	leastNorm = 0x1p-480
)

// newFactors prepares the R factor of k columns, in the memory of the last one.
func (m *Matrix) newFactors(k int, exact bool) *factors {
	f := m.factors
	if f == nil || f.total.k != k {
		f = &factors{total: newTSQR(k), block: make([]*tsqr, m.plan.Workers)}
		for i := range f.block {
			f.block[i] = newTSQR(k)
		}
		m.factors = f
	}
	f.turn, f.exact = newSequencer(1), exact
	for _, t := range append(f.block, f.total) {
		t.rows = 0
	}
	if !exact {
		clear(f.total.gram().Data)
	}
	return f
}

func (t *tsqr) gram() blas64.General {
	return blas64.General{Rows: t.k, Cols: t.k, Stride: t.k, Data: t.stack[:t.k*t.k]}
}

// add adds w, the rows of task i.
func (f *factors) add(worker, i int, w []float64) error {
	own := f.block[worker]
	var r []float64
	if f.exact {
		own.add(w)
		r = own.take()
	} else {
		rows := blas64.General{Rows: len(w) / own.k, Cols: own.k, Stride: own.k, Data: w}
		r = own.gram().Data
		clear(r)
		panel.AddGram(own.gram(), rows) // cholesky looks at no entry below the diagonal
	}
	return f.turn.inTurn(i, func() error {
		if f.exact {
			f.total.add(r)
		} else {
			floats.Add(f.total.gram().Data, r)
		}
		return nil
	})
}

// r sets dst to R, and reports whether it is good enough.
func (f *factors) r(dst *mat.Dense) bool {
	if f.exact {
		f.total.r(dst)
		return true
	}
	return cholesky(dst, f.total.gram().Data)
}

// cholesky sets dst, k×k, to R of the row-major Gram matrix g, and reports whether ‖S⁻¹‖ is surely at most mostInverse.
// The eigenvalues μ of S add up to k. If one of them is 1/x, then Σ1/μ is at least x + (k−1)²/(k−1/x), which is more
// than x + k−2: so Σ1/μ = ‖C⁻¹‖_F², with S = CᵀC, bounds x.
func cholesky(dst *mat.Dense, g []float64) bool {
	k, _ := dst.Dims()
	d, s := make([]float64, k), mat.NewSymDense(k, nil)
	for j := range d {
		d[j] = math.Sqrt(g[j*k+j])
		for i := range j + 1 {
			s.SetSym(i, j, g[i*k+j]/d[i]/d[j])
		}
	}
	var chol mat.Cholesky
	if !(floats.Min(d) > leastNorm) || floats.HasNaN(s.RawSymmetric().Data) || !chol.Factorize(s) {
		return false
	}
	var c, inverse mat.TriDense
	chol.UTo(&c)
	err := inverse.InverseTri(&c)
	if err != nil || math.Pow(mat.Norm(&inverse, 2), 2) > mostInverse+float64(k-2) {
		return false
	}
	dst.Zero()
	for i := range k { // a product of gonum's would take k³ steps
		for j := i; j < k; j++ {
			dst.Set(i, j, c.At(i, j)*d[j])
		}
	}
	return true
}
