package solver

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

// blockQR orthonormalises tall blocks by Cholesky QR: R from the Cholesky
// factor of the Gram matrix, Q = YR⁻¹. It reads Y twice where Householder
// reflections read it 2l times, and loses cond(Y)²·ε of orthogonality, so
// columns are scaled to unit norm first and the whole is repeated unless the
// scaled Gram matrix shows that once is enough (Yamamoto, Nakatsukasa,
// Yanagisawa, Fukaya 2015, "Roundoff error analysis of the CholeskyQR2
// algorithm"). Where that fails columns are taken one by one, and what turns
// out to depend on the others is replaced by a random vector.
type blockQR struct {
	arena *Arena
	key   float64 // selects the random vectors
	drawn int     // random vectors so far
	found *basis  // what random vectors must be orthogonal to besides; may be nil
	gram  sums
	coef  sums
	// prepare does the last thing to rows of a block before they are factored, the
	// first of them being row i of the whole; nil for nothing.
	prepare func(rows blas64.General, i int)
	uses    uses // what prepare goes over besides
}

// streamReplace numbers the random vectors that replace dependent columns.
const streamReplace uint64 = 7 << 32

// Columns shorter than dropFactor·ε·‖M‖ are rounding errors.
const dropFactor = 16

// Relative pivots of the scaled Gram matrix: above twice components of others are
// not magnified enough to be removed again, and below never Cholesky is not to be
// trusted. Columns are orthonormal if their Gram matrix is the identity to within
// enough times the square root of their number.
const twice, never, maxQRRounds, enough = 1e-4, 1e-7, 3, 16 * epsilon

// factor replaces y by Q of y = QR and returns R, l×l upper triangular. Columns
// that, less their components in the columns before them, have norms of at most
// least, are replaced and have a zero on the diagonal of R. Q is orthogonal to
// the columns of v, to which y must be orthogonal already.
func (q *blockQR) factor(y blas64.General, v span, least float64) *mat.Dense {
	return q.factorGram(y, y, q.arena.cross(&q.gram, y, y), v, least)
}

// factorGram is factor for a y whose Gram matrix, once it has been prepared, is
// known. It puts Q in the place of out, which is y or does not overlap it; y is
// destroyed.
func (q *blockQR) factorGram(out, y, gram blas64.General, v span, least float64) *mat.Dense {
	r, pivot := q.cholesky(out, y, gram, least)
	if r == nil {
		q.ready(y)
		r = q.oneByOne(y, v, least)
		q.arena.setBlock(out, y)
		return r
	}
	q.prepare, q.uses = nil, uses{}
	y = out
	for rounds := 1; rounds < maxQRRounds; rounds++ {
		gram = q.gram.total()
		if orthonormal(gram) {
			break
		}
		if pivot < twice {
			// Dividing by small pivots has blown up what was left of v in y.
			v.project(q.arena, &q.coef, y)
			gram = q.arena.cross(&q.gram, y, y)
		}
		var next *mat.Dense
		if next, pivot = q.cholesky(y, y, gram, 0); next == nil {
			q.gram.reset(y.Rows, y.Cols, y.Cols)
			next = q.oneByOne(y, v, 0)
			r.Mul(next, r)
			break
		}
		r.Mul(next, r)
	}
	return r
}

// ready prepares y.
func (q *blockQR) ready(y blas64.General) {
	if q.prepare != nil {
		q.arena.eachChunk(y.Rows, q.uses.read(y).writes(y), func(_, i, rows int) { q.prepare(rowsOf(y, i, rows), i) })
		q.prepare, q.uses = nil, uses{}
	}
}

// orthonormal reports whether columns with this Gram matrix are.
func orthonormal(gram blas64.General) bool {
	limit := enough * math.Sqrt(float64(gram.Rows))
	for i := range gram.Rows {
		for j, v := range gram.Data[i*gram.Stride:][:i+1] {
			if i == j {
				v--
			}
			if !(math.Abs(v) <= limit) {
				return false
			}
		}
	}
	return true
}

// dimension returns that of the space there is to work in.
func (q *blockQR) dimension(n int) int {
	if q.found == nil {
		return n
	}
	return n - q.found.dimension()
}

// cholesky does one round with the given Gram matrix of y, from y to out, and
// leaves the sums for the next one in q.gram. It returns R and the least pivot relative to the
// norm of its column, or nil with y unchanged if a column is too short or a pivot
// too small.
func (q *blockQR) cholesky(out, y, gram blas64.General, least float64) (r *mat.Dense, pivot float64) {
	if r, pivot = triangle(gram, least); r == nil {
		return nil, 0
	}
	q.gram.reset(y.Rows, y.Cols, y.Cols)
	d, sum := transposed(inverse(r)), func(seg int, rows blas64.General) { panel.AddCross(q.gram.of(seg), rows, rows) }
	if &out.Data[0] == &y.Data[0] {
		q.arena.turnThen(y, d, sum)
	} else {
		q.arena.productThen(out, y, d, q.uses, q.prepare, sum)
	}
	return r, pivot
}

// triangle returns the R of a block with the given Gram matrix, as cholesky does.
func triangle(gram blas64.General, least float64) (r *mat.Dense, pivot float64) {
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

// oneByOne orthonormalises column after column by projecting twice on those
// before it.
func (q *blockQR) oneByOne(y blas64.General, v span, least float64) *mat.Dense {
	n, l := y.Rows, y.Cols
	r := mat.NewDense(l, l, nil)
	x := q.arena.planes(n, 1, 1)
	defer q.arena.release(x)
	for j := range l {
		q.arena.columnOf(x, y, j)
		before := spanOf(columnsOf(y, j))
		size := q.arena.norm2(x)
		for range 2 {
			v.project(q.arena, &q.coef, single(x))
			for i, ci := range before.project(q.arena, &q.coef, single(x)).Data {
				r.Set(i, j, r.At(i, j)+ci)
			}
		}
		if norm := q.arena.norm2(x); norm > least && norm > 1e-10*size {
			r.Set(j, j, norm)
			q.arena.normalise(x, x)
			// What is left may be short compared with what was taken away.
			v.project(q.arena, &q.coef, single(x))
			before.project(q.arena, &q.coef, single(x))
			q.arena.normalise(x, x)
		} else {
			q.replace(x, v, before)
		}
		q.arena.setColumn(y, j, x)
	}
	return r
}

// replace makes x a random unit vector orthogonal to the columns of v and y and
// to what has been found.
func (q *blockQR) replace(x []float64, v, y span) {
	dst := mat.NewDense(len(x), 1, x)
	for range 16 {
		q.arena.gaussian(dst, 0, math.Float64bits(q.key), streamReplace|uint64(q.drawn))
		q.drawn++
		q.arena.normalise(x, x)
		short := false
		for range 3 {
			v.project(q.arena, &q.coef, single(x))
			y.project(q.arena, &q.coef, single(x))
			if q.found != nil {
				q.found.project(x)
			}
			short = short || q.arena.norm2(x) < 1e-10
			q.arena.normalise(x, x)
		}
		if !short {
			return
		}
	}
	panic(breakdown("block has no complement"))
}

// inverse returns R⁻¹ of an upper triangular R, with columns of zeros where the
// diagonal is zero, and what substitution makes of that in others.
func inverse(r *mat.Dense) *mat.Dense {
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

func transposed(x *mat.Dense) blas64.General { return mat.DenseCopyOf(x.T()).RawMatrix() }

// rayleighRitz returns the eigenvalues of the symmetric part of h in descending
// order and the last entries of the eigenvectors, in rows.
func rayleighRitz(w *eigen.Solver, h blas64.General, tail int) (theta []float64, wt *mat.Dense) {
	theta, v := w.Symmetric(h, tail)
	return theta, mat.NewDense(h.Rows, tail, v.Data)
}
