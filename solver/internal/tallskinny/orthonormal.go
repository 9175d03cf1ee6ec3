package tallskinny

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
)

// BlockQR orthonormalises tall blocks by Cholesky QR: R from the Cholesky factor of the Gram matrix, Q = YR⁻¹. It reads Y
// twice where Householder reflections read it 2l times, and loses cond(Y)²·ε of orthogonality, so columns are scaled to unit
// norm first and the whole is repeated unless the scaled Gram matrix shows that once is enough (Yamamoto, Nakatsukasa,
// Yanagisawa, Fukaya 2015, "Roundoff error analysis of the CholeskyQR2 algorithm"). If that fails columns are
// orthonormalised one by one, and a column that depends on those before it is replaced by a random vector.
type BlockQR struct {
	Arena *Arena
	Key   float64 // selects the random vectors
	Drawn int     // random vectors so far
	Found *Basis  // random vectors must be orthogonal to it, too; may be nil
	Gram  Sums
	coef  Sums
	// Prepare changes rows of a block before they are factored; the first of them is row i of the block. nil: no change.
	Prepare func(rows blas64.General, i int)
	Uses    uses // other blocks that Prepare goes over
	Lossy   bool // a column has been replaced that was longer than rounding errors, so that R lacks it
}

// streamReplace numbers the random vectors that replace dependent columns.
const streamReplace uint64 = 7 << 32

// Columns shorter than DropFactor·ε·‖M‖ are rounding errors.
const DropFactor = 16

// A column shorter than cancelled times its rounding errors is not orthogonal enough to the vectors that were removed from
// it.
const cancelled = 1e6

// Relative pivots of the scaled Gram matrix: above Twice components in other vectors are not magnified so much that they
// must be removed again, and below never Cholesky is not reliable. Columns are orthonormal if their Gram matrix is the
// identity to within enough times the square root of their number.
const Twice, never, maxQRRounds, enough = 1e-4, 1e-7, 3, 16 * Epsilon

// Factor replaces y by Q of y = QR and returns R, l×l upper triangular. A column whose norm, less its components in the
// columns before it, is at most least is replaced and has a zero on the diagonal of R. Q is orthogonal to the columns of v,
// to which y must be orthogonal already.
func (q *BlockQR) Factor(y blas64.General, v Span, least float64) *mat.Dense {
	return q.FactorGram(y, y, q.Arena.Cross(&q.Gram, y, y), v, least)
}

// FactorGram does the same as Factor for a y whose Gram matrix after Prepare is known. It stores Q in out, which is y or
// does not overlap it; y is destroyed.
func (q *BlockQR) FactorGram(out, y, gram blas64.General, v Span, least float64) *mat.Dense {
	r, pivot := q.cholesky(out, y, gram, cancelled*least)
	if r == nil {
		q.Ready(y)
		r = q.oneByOne(y, v, least)
		q.Arena.SetBlock(out, y)
		return r
	}
	q.Prepare, q.Uses = nil, uses{}
	y = out
	for rounds := 1; rounds < maxQRRounds; rounds++ {
		gram = q.Gram.Total()
		if orthonormal(gram) {
			break
		}
		if pivot < Twice {
			// The division by small pivots has magnified the components of y in v.
			v.Project(q.Arena, &q.coef, y)
			gram = q.Arena.Cross(&q.Gram, y, y)
		}
		var next *mat.Dense
		next, pivot = q.cholesky(y, y, gram, 0)
		if next == nil {
			q.Gram.Reset(y.Rows, y.Cols, y.Cols)
			next = q.oneByOne(y, v, 0)
			r.Mul(next, r)
			break
		}
		r.Mul(next, r)
	}
	return r
}

// Ready applies Prepare to y.
func (q *BlockQR) Ready(y blas64.General) {
	if q.Prepare != nil {
		q.Arena.EachChunk(y.Rows, q.Uses.Read(y).Writes(y), func(_, i, rows int) { q.Prepare(RowsOf(y, i, rows), i) })
		q.Prepare, q.Uses = nil, uses{}
	}
}

func orthonormal(gram blas64.General) bool {
	var g mat.Dense
	g.SetRawMatrix(gram)
	return Orthogonality(&g) <= enough*math.Sqrt(float64(gram.Rows))
}

// Dimension returns the dimension of the complement of Found in n dimensions.
func (q *BlockQR) Dimension(n int) int {
	return n - q.Found.Dimension()
}

// cholesky does one round with the given Gram matrix of y, from y to out, and leaves the sums for the next round in q.Gram.
// It returns R and the least pivot relative to the norm of its column, or nil with y unchanged if a column is too short or a
// pivot too small.
func (q *BlockQR) cholesky(out, y, gram blas64.General, least float64) (r *mat.Dense, pivot float64) {
	r, pivot = Triangle(gram, least)
	if r == nil {
		return nil, 0
	}
	q.Gram.Reset(y.Rows, y.Cols, y.Cols)
	d, sum := Transposed(Inverse(r)), func(seg int, rows blas64.General) { panel.AddCross(q.Gram.Of(seg), rows, rows) }
	if &out.Data[0] == &y.Data[0] {
		q.Arena.RotateThen(y, d, sum)
	} else {
		q.Arena.productThen(out, y, d, q.Uses, q.Prepare, sum)
	}
	return r, pivot
}

// Triangle returns the R of a block with the given Gram matrix, as cholesky does.
func Triangle(gram blas64.General, least float64) (r *mat.Dense, pivot float64) {
	l := gram.Rows
	norms := make([]float64, l)
	for j := range l {
		norms[j] = math.Sqrt(gram.Data[j*gram.Stride+j])
		if !(norms[j] > least) {
			return nil, 0
		}
	}
	s := mat.NewSymDense(l, nil)
	for i := range l {
		for j := i; j < l; j++ {
			s.SetSym(i, j, gram.Data[i*gram.Stride+j]/norms[i]/norms[j])
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		return nil, 0
	}
	var u mat.TriDense
	chol.UTo(&u)
	pivot = 1
	for j := range l {
		pivot = min(pivot, u.At(j, j)*u.At(j, j))
		if norms[j]*u.At(j, j) <= least {
			return nil, 0
		}
	}
	if pivot < never {
		return nil, 0
	}
	r = mat.NewDense(l, l, nil)
	for i := range l {
		for j := i; j < l; j++ {
			r.Set(i, j, u.At(i, j)*norms[j])
		}
	}
	return r, pivot
}

// oneByOne orthonormalises column after column by projecting each twice on the columns before it.
func (q *BlockQR) oneByOne(y blas64.General, v Span, least float64) *mat.Dense {
	n, l := y.Rows, y.Cols
	r := mat.NewDense(l, l, nil)
	x := q.Arena.Planes(n, 1, 1)
	defer q.Arena.Release(x)
	for j := range l {
		q.Arena.ColumnOf(x, y, j)
		before := SpanOf(ColumnsOf(y, j))
		size := q.Arena.Norm2(x)
		for range 2 {
			v.Project(q.Arena, &q.coef, Single(x))
			for i, ci := range before.Project(q.Arena, &q.coef, Single(x)).Data {
				r.Set(i, j, r.At(i, j)+ci)
			}
		}
		norm := q.Arena.Norm2(x)
		if norm > least && norm > 1e-10*size {
			r.Set(j, j, norm)
			q.Arena.Normalise(x, x)
			// The rest may be short compared with the components removed.
			v.Project(q.Arena, &q.coef, Single(x))
			before.Project(q.Arena, &q.coef, Single(x))
			q.Found.project(x)
			q.Arena.Normalise(x, x)
		} else {
			q.Lossy = q.Lossy || least > 0 && norm > least
			q.Replace(x, v, before)
		}
		q.Arena.SetColumn(y, j, x)
	}
	return r
}

// Replace makes x a random unit vector orthogonal to the columns of v and y and to Found.
func (q *BlockQR) Replace(x []float64, v, y Span) {
	dst := mat.NewDense(len(x), 1, x)
	for range 16 {
		q.Arena.Gaussian(dst, 0, math.Float64bits(q.Key), streamReplace|uint64(q.Drawn))
		q.Drawn++
		q.Arena.Normalise(x, x)
		short := false
		for range 3 {
			v.Project(q.Arena, &q.coef, Single(x))
			y.Project(q.Arena, &q.coef, Single(x))
			q.Found.project(x)
			short = short || q.Arena.Norm2(x) < 1e-10
			q.Arena.Normalise(x, x)
		}
		if !short {
			return
		}
	}
	panic(Breakdown("block has no complement"))
}

// Inverse returns R⁻¹ of an upper triangular R. A zero on the diagonal gives a column of zeros, from which the substitution
// computes the other columns.
func Inverse(r *mat.Dense) *mat.Dense {
	l, _ := r.Dims()
	inv := mat.NewDense(l, l, nil)
	for k := range l {
		d := r.At(k, k)
		if d == 0 {
			continue
		}
		inv.Set(k, k, 1/d)
		for i := range k {
			sum := 0.0
			for p := i; p < k; p++ {
				sum += inv.At(i, p) * r.At(p, k)
			}
			inv.Set(i, k, -sum/d)
		}
	}
	return inv
}

func Transposed(x *mat.Dense) blas64.General { return mat.DenseCopyOf(x.T()).RawMatrix() }

// RayleighRitz returns the eigenvalues of the symmetric part of h in descending order and the last tail entries of the
// eigenvectors, in rows.
func RayleighRitz(w *eigen.Solver, h blas64.General, tail int) (theta []float64, wt *mat.Dense) {
	theta, v := w.Symmetric(h, tail)
	return theta, mat.NewDense(h.Rows, tail, v.Data)
}
