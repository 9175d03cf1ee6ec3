package solver_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
)

func rowsFrom(x *mat.Dense) func(int64, *mat.Dense) error {
	return (&solver.DenseRows{Dense: x}).ReadRows
}

func columnNorm(x *mat.Dense, j int) float64 { return mat.Norm(x.ColView(j), 2) }

// TestResidualsMeasured compares measured residuals with the definition, for exact and spoiled
// vectors at several scales; missing vectors are computed from the given side.
func TestResidualsMeasured(t *testing.T) {
	for _, scale := range []float64{1, 1e-200, 1e200} {
		rng := rand.New(rand.NewPCG(3, 3))
		const rows, cols, k = 40, 15, 4
		a := mat.NewDense(rows, cols, nil)
		for i := range rows * cols {
			a.RawMatrix().Data[i] = scale * rng.NormFloat64()
		}
		var f mat.SVD
		if !f.Factorize(a, mat.SVDThin) {
			t.Fatal("no factorisation")
		}
		var allU, allV mat.Dense
		f.UTo(&allU)
		f.VTo(&allV)
		u, v := mat.DenseCopyOf(allU.Slice(0, rows, 0, k)), mat.DenseCopyOf(allV.Slice(0, cols, 0, k))
		sigma := f.Values(nil)[:k]
		for _, c := range []struct {
			name        string
			left, right bool
		}{{"both", true, true}, {"left", true, false}, {"right", false, true}} {
			for _, spoil := range []float64{0, 1e-3} {
				u, v, sigma := mat.DenseCopyOf(u), mat.DenseCopyOf(v), slices.Clone(sigma)
				u.Set(5, 1, u.At(5, 1)+spoil)
				v.Set(7, 2, v.At(7, 2)-spoil)
				sigma[3] *= 1 + spoil
				given := solver.Triplets{Sigma: sigma}
				if c.left {
					given.Left = rowsFrom(u)
				} else {
					u.Mul(a, v)
					unitColumns(u)
				}
				if c.right {
					given.Right = mat.DenseCopyOf(v)
				} else {
					v.Mul(a.T(), u)
					unitColumns(v)
				}
				left, right, err := solver.Residuals(t.Context(), newDense(a), given)
				must.Do(t, err)
				var av, atu mat.Dense
				av.Mul(a, v)
				atu.Mul(a.T(), u)
				for j := range k {
					var d mat.VecDense
					d.AddScaledVec(av.ColView(j), -sigma[j], u.ColView(j))
					var e mat.VecDense
					e.AddScaledVec(atu.ColView(j), -sigma[j], v.ColView(j))
					for _, p := range [][2]float64{{left[j], mat.Norm(&d, 2)}, {right[j], mat.Norm(&e, 2)}} {
						if !(math.Abs(p[0]-p[1]) <= 1e-13*sigma[0]) {
							t.Errorf("scale %g, %s vectors, spoilt by %g, triplet %d: %g, want %g", scale, c.name, spoil, j, p[0], p[1])
						}
					}
				}
			}
		}
	}
}

func unitColumns(x *mat.Dense) {
	r, c := x.Dims()
	for j := range c {
		norm := columnNorm(x, j)
		for i := range r {
			x.Set(i, j, x.At(i, j)/norm)
		}
	}
}

func TestOrthogonalityMeasured(t *testing.T) {
	const n, k = 5000, 30 // more than a chunk
	x := mat.NewDense(n, k, nil)
	for j := range k {
		x.Set(j*100, j, 1)
	}
	x.Set(4000, 3, 2e-3)
	x.Set(4000, 7, 0.5)
	got, err := solver.Orthogonality(t.Context(), 2, n, k, rowsFrom(x))
	if want := 0.25; err != nil || math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	_, err = solver.Orthogonality(ctx, 2, n*1000, k, func(int64, *mat.Dense) error { asked++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || asked != 1 {
		t.Errorf("cancelled: %v after asking %d times", err, asked)
	}
}
