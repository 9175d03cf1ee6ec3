// Package certificate computes singular triplets, residuals and error bounds from one finishing pass over given vectors.
package certificate

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Units of ε times the norm that rounding errors of products are relative to, ‖A‖_F or more.
const (
	// Values up to max(rankFactor, √n) units are roundoff and are set to exactly 0: products with the rows of A are not
	// more accurate, nor are the entries of a matrix that has been computed.
	rankFactor = 16
	// Rounding error of a measured residual.
	allowance = 4
)

// Certificate holds the results of a finishing pass for an orthonormal n×k block V. With W = A·V = QR and R = U_R Σ V_Rᵀ,
// the triplets are
//
//	σ = diag Σ,  V V_R,  Q U_R = W V_R Σ⁻¹:
//
// the best approximations in the span of V. Their values are accurate to ε·σ₁, although the Gram operator has lost half of
// the digits.
type Certificate struct {
	Sigma []float64 // descending, 0 from Rank on
	// Lambda holds the eigenvalues of A with their signs, after NewPairs only. Then Sigma holds the eigenvalues of the
	// operator that was searched, for A² their roots.
	Lambda []float64
	Next   float64    // largest magnitude of a Ritz value that is not in Lambda
	Right  *mat.Dense // V T V_R, n×k; T is that of clearEmpty, mostly I, and R is that of A·V·T
	// Product is G·Right, n×k.
	Product *mat.Dense
	// Rotation is T V_R Σ⁻¹, k×k, with columns of zeros from Rank on: the left vectors are W·Rotation, except those that
	// complete them.
	Rotation  *mat.Dense
	Residuals []float64 // measured, relative to σ₁; without ‖Aᵀu‖ where σ = 0
	Floor     []float64 // rounding error that each residual may hide, relative to σ₁
	Norm      float64   // largest value before anything was set to zero
	Frobenius float64
	Rank      int
}

// ErrNotFinite is the error of a finishing pass whose products are not finite.
var ErrNotFinite = fmt.Errorf("product is not finite: %w", tallskinny.ErrBreakdown)

// New returns the certificate of v, given AᵀW, R and the Frobenius norm of the matrix; rounding errors of products are
// relative to terms. v and atw are overwritten and become Right and Product.
func New(arena *tallskinny.Arena, v, atw, r *mat.Dense, frobenius, terms float64) (*Certificate, error) {
	n, k := v.Dims()
	if !arena.Finite(atw) || !tallskinny.AllFinite(r.RawMatrix().Data) {
		return nil, ErrNotFinite
	}
	c := &Certificate{Frobenius: frobenius}
	var turned, rot mat.Dense
	turn := clearEmpty(arena, v, atw)
	turned.Mul(r, turn)
	sigma, right := jacobi.Right(turned.RawMatrix())
	rot.Mul(turn, dense(right).T())
	c.Sigma, c.Norm, c.Rotation = sigma, sigma[0], &rot
	arena.Rotate(v.RawMatrix(), right)
	arena.Rotate(atw.RawMatrix(), right)
	c.Right, c.Product = v, atw
	reach := reach(r, &rot)
	threshold := max(rankFactor, math.Sqrt(float64(n))) * tallskinny.Epsilon * terms
	c.Residuals, c.Floor = columnResiduals(arena, atw.RawMatrix(), v.RawMatrix(), sigma), make([]float64, k)
	for i, s := range sigma {
		if s <= threshold {
			c.Residuals[i], c.Floor[i] = c.Relative(s), c.Relative(allowance*tallskinny.Epsilon*terms)
			c.Sigma[i] = 0
			arena.ScaleColumn(&rot, i, 0)
			continue
		}
		c.Rank++
		c.Residuals[i], c.Floor[i] = c.Relative(c.Residuals[i]), c.Relative(allowance*tallskinny.Epsilon*terms*(reach[i]/s))
		arena.ScaleColumn(&rot, i, 1/s)
	}
	if !tallskinny.AllFinite(c.Sigma) || !tallskinny.AllFinite(c.Residuals) || !tallskinny.AllFinite(c.Floor) {
		return nil, ErrNotFinite
	}
	return c, nil
}

// clearEmpty sets the rows of an orthonormal V to 0 in which products[0] is 0: A has no entries there, and the entries of V
// are remains of start vectors. It multiplies V and products by the T that makes V orthonormal again, and returns T. If much
// of a vector is in such rows, as for vectors of zero values, it changes nothing and returns I.
func clearEmpty(arena *tallskinny.Arena, v *mat.Dense, products ...*mat.Dense) *mat.Dense {
	n, k := v.Dims()
	uses, sums, turn := tallskinny.Reads(v.RawMatrix(), products[0].RawMatrix()), tallskinny.Sums{}, mat.NewDense(k, k, nil)
	sums.Reset(n, k, k)
	each := func(f func(row blas64.Vector, segment int)) {
		arena.EachChunk(n, uses, func(segment, first, rows int) {
			for i := first; i < first+rows; i++ {
				if !slices.ContainsFunc(products[0].RawRowView(i), func(x float64) bool { return x != 0 }) {
					f(tallskinny.Vector(v.RawRowView(i)), segment)
				}
			}
		})
	}
	each(func(row blas64.Vector, segment int) { blas64.Ger(1, row, row, sums.Of(segment)) })
	lost := dense(sums.Total())
	for i := range k {
		turn.Set(i, i, 1)
	}
	if share := mat.Max(lost); share == 0 || share > 0.5/float64(k) {
		return turn
	}
	uses = uses.Writes(v.RawMatrix())
	each(func(row blas64.Vector, _ int) { clear(row.Data) })
	turn.Sub(turn, lost)
	r, _ := tallskinny.Triangle(turn.RawMatrix(), 0)
	turn = tallskinny.Inverse(r)
	for _, x := range append(products, v) {
		arena.Rotate(x.RawMatrix(), tallskinny.Transposed(turn))
	}
	return turn
}

// State saves or restores the parts of a certificate that a search goes on with. It refuses fewer than least or more than
// most vectors.
func (c *Certificate) State(s *method.State, least, most int) {
	s.Int("rank", &c.Rank, 0, most)
	s.Float("certified norm", &c.Norm)
	s.Float("Frobenius norm", &c.Frobenius)
	s.Floats("certified values", &c.Sigma)
	s.Floats("certified residuals", &c.Residuals)
	s.Floats("floors", &c.Floor)
	k := len(c.Sigma)
	s.Tall("certified vectors", &c.Right, k)
	if k < least || k > most || len(c.Residuals) != k || len(c.Floor) != k || c.Rank > k {
		s.Refuse("has a certificate of %d values, %d above 0, want %d to %d", k, c.Rank, least, most)
	}
}

// Relative returns an absolute residual relative to σ₁.
func (c *Certificate) Relative(x float64) float64 {
	if c.Norm == 0 {
		return 0 // A·V = 0: all residuals are 0
	}
	return x / c.Norm
}

// reach returns Σ_j ‖w_j‖·|rot_ji| for every i: the size of the terms that add up to column i of W·rot, which bounds its
// rounding error. It is σ_i if W is close to orthogonal already, and up to σ₁ if not.
func reach(r, rot *mat.Dense) []float64 {
	k, _ := r.Dims()
	col := make([]float64, k)
	out := make([]float64, k)
	for j := range k {
		mat.Col(col, j, r)
		norm := (*tallskinny.Arena)(nil).Norm2(col)
		for i := range k {
			out[i] += norm * math.Abs(rot.At(j, i))
		}
	}
	return out
}

// columnResiduals returns ‖x_i/σ_i − σ_i·v_i‖ for the columns of x = AᵀU·Σ and v,
// where σ_i is not zero.
func columnResiduals(a *tallskinny.Arena, x, v blas64.General, sigma []float64) []float64 {
	var s tallskinny.Sums
	s.Reset(x.Rows, 1, x.Cols)
	a.EachChunk(x.Rows, tallskinny.Reads(x, v), func(seg, first, rows int) {
		sum := s.Of(seg).Data
		for i := first; i < first+rows; i++ {
			a, b := x.Data[i*x.Stride:][:x.Cols], v.Data[i*v.Stride:][:x.Cols]
			for j, si := range sigma {
				if si > 0 {
					// Relative to σ₁, so that the squares do not overflow or underflow.
					d := (a[j]/si - si*b[j]) / sigma[0]
					sum[j] += d * d
				}
			}
		}
	})
	out := s.Total().Data
	for j, d := range out {
		out[j] = sigma[0] * math.Sqrt(d)
	}
	return out
}

// Doubt returns the certain bound on residual i: the measured residual or its floor, whichever is larger.
func (c *Certificate) Doubt(i int) float64 { return max(c.Residuals[i], c.Floor[i]) }

// Converged returns the number of triplets whose residuals are certain to be at most tol, or 2·tol near their floor.
func (c *Certificate) Converged(tol float64) int {
	n := 0
	for i := range c.Residuals {
		if c.Doubt(i) <= tol {
			n++
		}
	}
	return n
}

// Clusters returns the index ranges of neighbouring values that are no further apart than the sum of their residuals and the
// accuracy of values.
func (c *Certificate) Clusters() [][2]int {
	var out [][2]int
	first, accuracy, values := 0, allowance*tallskinny.Epsilon*c.Frobenius, c.values()
	for i := 1; i <= len(values); i++ {
		if i < len(values) && math.Abs(values[i-1]-values[i]) <= (c.Residuals[i-1]+c.Residuals[i])*c.Norm+accuracy {
			continue
		}
		if i-first > 1 {
			out = append(out, [2]int{first, i})
		}
		first = i
	}
	return out
}

// values returns the singular values, or the eigenvalues after NewPairs.
func (c *Certificate) values() []float64 {
	if c.Lambda != nil {
		return c.Lambda
	}
	return c.Sigma
}

// Energy is Σσ²/‖A‖²_F, 0 for a zero matrix.
func (c *Certificate) Energy() float64 {
	if c.Frobenius == 0 {
		return 0
	}
	sum := 0.0
	for _, s := range c.values() {
		sum += (s / c.Frobenius) * (s / c.Frobenius)
	}
	return sum
}
