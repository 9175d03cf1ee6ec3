package solver

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Units of ε·‖A‖_F.
const (
	// Values up to max(rankFactor, √n)·ε·‖A‖_F are roundoff: products with the
	// rows of A are no better, nor is the data of a matrix that has been
	// computed. They are set to exactly 0.
	rankFactor = 16
	// What measuring a residual in floating point may hide.
	allowance = 4
)

// certificate is what one finishing pass says about an orthonormal n×k block V.
// With W = A·V = QR and R = U_R Σ V_Rᵀ, the triplets are
//
//	σ = diag Σ,  V V_R,  Q U_R = W V_R Σ⁻¹:
//
// the best A has to offer within the span of V, with values that are accurate
// to ε·σ₁ although the Gram operator has lost half of the digits.
type certificate struct {
	sigma []float64  // descending, 0 from rank on
	right *mat.Dense // V V_R, n×k
	// product is G·right, n×k.
	product *mat.Dense
	// rotation is V_R Σ⁻¹, k×k, with columns of zeros from rank on: the left
	// vectors are W·rotation, save for their completion.
	rotation  *mat.Dense
	residuals []float64 // as measured, relative to σ₁; without ‖Aᵀu‖ where σ = 0
	floor     []float64 // what rounding may hide of each, relative to σ₁
	norm      float64   // largest value before anything was set to zero
	frobenius float64
	rank      int
}

// certify streams W = A·V to left, unless nil, and measures. left holds W
// afterwards, and v the right vectors.
func certify(ctx context.Context, arena *tallskinny.Arena, a Matrix, v *mat.Dense, left RowStore) (*certificate, error) {
	n, k := v.Dims()
	atw, r := arena.Dense(n, k), mat.NewDense(k, k, nil)
	if _, err := a.Run(ctx, Pass{X: v, RowsOut: rowsOut(left), Sum: atw, R: r}); err != nil {
		return nil, err
	}
	if !arena.Finite(atw) || !tallskinny.AllFinite(r.RawMatrix().Data) {
		return nil, errNotFinite
	}
	c := &certificate{frobenius: a.Info().Norm}
	sigma, rot := tallskinny.JacobiSVD(r)
	c.sigma, c.norm, c.rotation = sigma, sigma[0], rot
	arena.Rotate(v.RawMatrix(), tallskinny.Transposed(rot))
	arena.Rotate(atw.RawMatrix(), tallskinny.Transposed(rot))
	c.right, c.product = v, atw
	reach := reach(r, rot)
	threshold := max(rankFactor, math.Sqrt(float64(n))) * tallskinny.Epsilon * c.frobenius
	c.residuals, c.floor = columnResiduals(arena, atw.RawMatrix(), v.RawMatrix(), sigma), make([]float64, k)
	for i, s := range sigma {
		if s <= threshold {
			c.residuals[i], c.floor[i] = c.relative(s), c.relative(allowance*tallskinny.Epsilon*c.frobenius)
			c.sigma[i] = 0
			arena.ScaleColumn(rot, i, 0)
			continue
		}
		c.rank++
		c.residuals[i], c.floor[i] = c.relative(c.residuals[i]), c.relative(allowance*tallskinny.Epsilon*c.frobenius*(reach[i]/s))
		arena.ScaleColumn(rot, i, 1/s)
	}
	if !tallskinny.AllFinite(c.sigma) || !tallskinny.AllFinite(c.residuals) || !tallskinny.AllFinite(c.floor) {
		return nil, errNotFinite
	}
	return c, nil
}

// relative returns an absolute residual relative to σ₁.
func (c *certificate) relative(x float64) float64 {
	if c.norm == 0 {
		return 0 // A·V = 0: nothing to be relative to, and nothing to be wrong
	}
	return x / c.norm
}

// reach returns Σ_j ‖w_j‖·|rot_ji| for every i: the size of what is added up
// to form column i of W·rot, which bounds its rounding error. It is σ_i if W is
// close to orthogonal already, and up to σ₁ if not.
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
					// Relative to σ₁, lest the squares leave the range.
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

// worst returns the index of the largest residual.
func (c *certificate) worst() int {
	worst := 0
	for i, r := range c.residuals {
		if r > c.residuals[worst] {
			worst = i
		}
	}
	return worst
}

// doubt is what is certain of residual i: the measured one, or what rounding hides.
func (c *certificate) doubt(i int) float64 { return max(c.residuals[i], c.floor[i]) }

// converged counts the triplets whose residuals are certain to be at most tol, but
// for a factor of 2 where they are next to their floor.
func (c *certificate) converged(tol float64) int {
	n := 0
	for i := range c.residuals {
		if c.doubt(i) <= tol {
			n++
		}
	}
	return n
}

// clusters returns the ranges of neighbouring values closer than the sum of their
// residuals, or than values are accurate to.
func (c *certificate) clusters() [][2]int {
	var out [][2]int
	first, accuracy := 0, allowance*tallskinny.Epsilon*c.frobenius
	for i := 1; i <= len(c.sigma); i++ {
		if i < len(c.sigma) && c.sigma[i-1]-c.sigma[i] <= (c.residuals[i-1]+c.residuals[i])*c.norm+accuracy {
			continue
		}
		if i-first > 1 {
			out = append(out, [2]int{first, i})
		}
		first = i
	}
	return out
}

func (c *certificate) energy() float64 {
	if c.frobenius == 0 {
		return 0
	}
	sum := 0.0
	for _, s := range c.sigma {
		sum += (s / c.frobenius) * (s / c.frobenius)
	}
	return sum
}
