package certificate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// ritz holds the best eigenpairs of a symmetric A in the span of an orthonormal block V, n×k: VᵀAV is diag λ.
type ritz struct {
	Search
	arena  *tallskinny.Arena
	tie    float64 // magnitudes that differ by no more than tie count as equal
	v, av  blas64.General
	lambda []float64
	// reach is, for each pair, the sum of the magnitudes of the factors with which A·AV enters A·v.
	reach []float64
	next  float64 // largest magnitude of a Ritz value that is not among λ
	eigen eigen.Solver
	sums  tallskinny.Sums
}

// Search describes the search that found the vectors of signed eigenpairs. Its operator was Sign·A + Shift·I, or A².
type Search struct {
	Square      bool // the operator was A²
	Sign, Shift float64
	// Order returns the indices of eigenvalues in the order in which they are wanted. Magnitudes that differ by no more than
	// tie count as equal.
	Order     func(lambda []float64, tie float64) []int
	Tol       float64 // tolerance of residuals, relative to the largest |λ|
	Skew      float64 // ‖A − Aᵀ‖ that rounding explains
	Seen      float64 // largest ‖Ax‖ seen for a unit vector x, columns of V not counted
	Frobenius float64
	Terms     float64 // size that rounding errors of products are relative to
}

// ErrNotSymmetric is the error for a matrix whose products with V show that it is not symmetric.
var ErrNotSymmetric = errors.New("matrix is not symmetric")

// NewPairs returns the certificate of signed eigenpairs by the Rayleigh–Ritz method on A, given A·V. After a search in A²
// aav is A·AV, otherwise nil. With aav, vectors that miss the tolerance, such as mixtures of eigenvectors for λ and for a
// value near −λ, are improved: their Av are added to the space. v and av are overwritten and become Right and Product.
//
// Sigma of the certificate holds eigenvalues of the operator that was searched, for A² their roots. Its Norm is ‖A‖ as far
// as it has been seen.
func NewPairs(arena *tallskinny.Arena, v, av, aav *mat.Dense, s Search) (*Certificate, error) {
	if !arena.Finite(av) || aav != nil && !arena.Finite(aav) {
		return nil, ErrNotFinite
	}
	clearEmpty(arena, v, slices.DeleteFunc([]*mat.Dense{av, aav}, func(x *mat.Dense) bool { return x == nil })...)
	_, k := v.Dims()
	r := &ritz{
		Search: s, arena: arena, tie: rankFactor * tallskinny.Epsilon * s.Frobenius,
		v: v.RawMatrix(), av: av.RawMatrix(), reach: make([]float64, k), eigen: eigen.Solver{Workers: arena.Most()},
	}
	turn, err := r.project()
	if err != nil {
		return nil, err
	}
	residuals := r.residuals()
	if aav != nil {
		if open := above(residuals, s.Tol/2*floats.Norm(r.lambda, math.Inf(1))); len(open) > 0 {
			arena.Rotate(aav.RawMatrix(), turn)
			r.extend(aav.RawMatrix(), open, residuals)
			residuals = r.residuals()
		}
	}
	return r.certificate(residuals)
}

// above returns the indices of the residuals above a limit.
func above(residuals []float64, limit float64) (open []int) {
	for i, r := range residuals {
		if r > limit {
			open = append(open, i)
		}
	}
	return open
}

// project replaces V by the Ritz vectors V·dᵀ and returns d. It is an error if VᵀAV is less symmetric than Skew allows.
func (r *ritz) project() (d blas64.General, err error) {
	t := r.arena.Cross(&r.sums, r.v, r.av)
	for i := range t.Rows {
		for j := range i {
			if x := math.Abs(t.Data[i*t.Stride+j] - t.Data[j*t.Stride+i]); !(x <= r.Skew) {
				return d, fmt.Errorf("use the matrix as a symmetric one: the products of two of its vectors differ by %.3g: %w", x, ErrNotSymmetric)
			}
		}
	}
	d = r.solve(t, t.Rows)
	r.arena.Rotate(r.v, d)
	r.arena.Rotate(r.av, d)
	return d, nil
}

// solve sets λ to the first k eigenvalues of h in the order wanted, and returns their eigenvectors, in rows.
func (r *ritz) solve(h blas64.General, k int) blas64.General {
	theta, vectors := tallskinny.RayleighRitz(&r.eigen, h, h.Rows)
	d := mat.NewDense(k, h.Rows, nil)
	r.lambda = make([]float64, k)
	for to, from := range r.Order(theta, r.tie) {
		if to >= k {
			r.next = max(r.next, math.Abs(theta[from]))
			continue
		}
		r.lambda[to] = theta[from]
		d.SetRow(to, vectors.RawRowView(from))
	}
	return d.RawMatrix()
}

func (r *ritz) residuals() []float64 {
	r.sums.Reset(r.v.Rows, 1, r.v.Cols)
	r.arena.EachChunk(r.v.Rows, tallskinny.Reads(r.v, r.av), func(seg, first, rows int) {
		sum := r.sums.Of(seg).Data
		for i := first; i < first+rows; i++ {
			v, av := r.v.Data[i*r.v.Stride:][:r.v.Cols], r.av.Data[i*r.av.Stride:][:r.v.Cols]
			for j, l := range r.lambda {
				d := av[j] - l*v[j]
				sum[j] += d * d
			}
		}
	})
	out := slices.Clone(r.sums.Total().Data)
	for j, d := range out {
		out[j] = math.Sqrt(d)
	}
	return out
}

// extend computes the pairs anew in the span of V and Q, an orthonormal basis of the residuals of the open pairs. The
// residuals are orthogonal to V up to rounding, and A·Q follows from aav, which is A·AV.
func (r *ritz) extend(aav blas64.General, open []int, residuals []float64) {
	n, k := r.v.Rows, r.v.Cols
	qBlock, aqBlock := r.arena.Dense(n, len(open)), r.arena.Dense(n, len(open))
	defer r.arena.Free(qBlock, aqBlock)
	q, aq := qBlock.RawMatrix(), aqBlock.RawMatrix()
	r.arena.EachChunk(n, tallskinny.Reads(r.v, r.av, aav).Writes(q, aq), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			for c, j := range open {
				v, av, aav := r.v.Data[i*r.v.Stride+j], r.av.Data[i*r.av.Stride+j], aav.Data[i*aav.Stride+j]
				q.Data[i*q.Stride+c] = (av - r.lambda[j]*v) / residuals[j]
				aq.Data[i*aq.Stride+c] = (aav - r.lambda[j]*av) / residuals[j]
			}
		}
	})
	made := mat.NewDense(len(open), len(open), nil) // coefficients of Q in the residuals, in rows
	for c, j := range open {
		made.Set(c, c, 1/residuals[j])
	}
	for range 2 {
		c := tallskinny.SpanOf(r.v).Project(r.arena, &r.sums, q)
		r.add(aq, -1, r.av, c)
		t := r.whiten(q)
		if t == nil {
			return
		}
		r.arena.Rotate(q, t.RawMatrix())
		r.arena.Rotate(aq, t.RawMatrix())
		next := new(mat.Dense)
		next.Mul(t, made)
		made = next
		e, _ := t.Dims()
		q, aq = tallskinny.ColumnsOf(q, e), tallskinny.ColumnsOf(aq, e)
	}
	h := mat.NewDense(k+q.Cols, k+q.Cols, nil)
	for i, l := range r.lambda {
		h.Set(i, i, l)
	}
	place := func(x blas64.General, i, j int) {
		h.Slice(i, i+x.Rows, j, j+x.Cols).(*mat.Dense).Copy(dense(x))
	}
	place(r.arena.Cross(&r.sums, r.av, q), 0, k)
	place(r.arena.Cross(&r.sums, q, r.av), k, 0)
	place(r.arena.Cross(&r.sums, q, aq), k, k)
	d := r.solve(h.RawMatrix(), k)
	inside, outside := tallskinny.ColumnsOf(d, k), tallskinny.ColumnsFrom(d, k)
	r.arena.Rotate(r.v, inside)
	r.arena.Rotate(r.av, inside)
	r.add(r.v, 1, q, outside)
	r.add(r.av, 1, aq, outside)
	var from mat.Dense
	from.Mul(dense(outside), made)
	for i := range r.reach {
		r.reach[i] = floats.Norm(from.RawRowView(i), 1)
	}
}

// dense returns x as a matrix.
func dense(x blas64.General) *mat.Dense {
	var d mat.Dense
	d.SetRawMatrix(x)
	return &d
}

func (r *ritz) add(y blas64.General, alpha float64, x, d blas64.General) {
	f := panel.Pack(alpha, d)
	r.arena.EachChunk(y.Rows, tallskinny.Reads(x, y).Writes(y), func(_, i, rows int) {
		panel.AddProduct(tallskinny.RowsOf(y, i, rows), tallskinny.RowsOf(x, i, rows), f)
	})
}

// whiten returns t such that the columns of q·tᵀ are orthonormal. The columns of q have norms near 1; if they are nearly
// dependent q·tᵀ has fewer columns. nil: no column is left.
func (r *ritz) whiten(q blas64.General) *mat.Dense {
	const least = 1e-6
	gram := r.arena.Cross(&r.sums, q, q)
	theta, vectors := tallskinny.RayleighRitz(&r.eigen, gram, gram.Rows)
	e := len(above(theta, least))
	if e == 0 {
		return nil
	}
	t := mat.DenseCopyOf(vectors.Slice(0, e, 0, q.Cols))
	for i := range e {
		floats.Scale(1/math.Sqrt(theta[i]), t.RawRowView(i))
	}
	return t
}

// certificate returns the certificate of the pairs, given their absolute residuals.
func (r *ritz) certificate(residuals []float64) (*Certificate, error) {
	n, k := r.v.Rows, r.v.Cols
	c := &Certificate{
		Lambda: r.lambda, Sigma: make([]float64, k), Residuals: residuals, Floor: make([]float64, k),
		Next: r.next, Right: dense(r.v), Product: dense(r.av), Norm: r.Seen, Frobenius: r.Frobenius, Rank: k,
	}
	threshold := max(rankFactor, math.Sqrt(float64(n))) * tallskinny.Epsilon * r.Terms
	for i, l := range c.Lambda {
		if math.Abs(l) <= threshold {
			residuals[i] = math.Hypot(residuals[i], l)
			c.Lambda[i] = 0
		}
		c.Norm = max(c.Norm, math.Abs(l))
	}
	signs, shifts := make([]float64, k), make([]float64, k) // the product is signs·Av + shifts·v
	for i, l := range c.Lambda {
		signs[i], shifts[i] = r.Sign, r.Shift
		if r.Square {
			signs[i], shifts[i] = math.Copysign(1, l), math.Abs(l)
			if l == 0 {
				c.Rank = min(c.Rank, i)
			}
		}
		c.Sigma[i] = max(0, r.Sign*l+r.Shift)
		if r.Square {
			c.Sigma[i] = math.Abs(l)
		}
		c.Residuals[i] = c.Relative(residuals[i])
		c.Floor[i] = c.Relative(allowance * tallskinny.Epsilon * r.Terms * (1 + c.Norm*r.reach[i]))
	}
	r.arena.EachChunk(n, tallskinny.Reads(r.v, r.av).Writes(r.av), func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			v, av := r.v.Data[i*r.v.Stride:], r.av.Data[i*r.av.Stride:]
			for j, s := range shifts {
				av[j] = signs[j]*av[j] + s*v[j]
			}
		}
	})
	if !tallskinny.AllFinite(c.Sigma) || !tallskinny.AllFinite(c.Residuals) || !tallskinny.AllFinite(c.Floor) {
		return nil, ErrNotFinite
	}
	return c, nil
}
