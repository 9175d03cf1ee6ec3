package jacobi_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/jacobi"
	"github.com/gdsvd/gdsvd/internal/solvertest"
)

// TestDecompose compares values with gonum's, and checks the factors' orthogonality and their product, for several
// ranks and sizes.
func TestDecompose(t *testing.T) {
	for name, a := range map[string]*mat.Dense{
		"one": mat.NewDense(1, 1, []float64{-3}), "zero": mat.NewDense(4, 4, nil),
		"random": solvertest.Random(20, 20, 1), "graded": solvertest.WithValues(6, 6, 2, 1, 1e-3, 1e-6, 1e-9, 1e-12, 0),
		"deficient": solvertest.WithValues(9, 9, 3, 5, 5, 5, 2), "large": solvertest.WithValues(5, 5, 4, 1e200, 1e199, 1e190, 1, 0),
		"small": solvertest.WithValues(5, 5, 5, 1e-200, 1e-201, 1e-210),
	} {
		k, _ := a.Dims()
		values, rows, others := jacobi.Decompose(a.RawMatrix())
		left, right := mat.NewDense(k, k, rows.Data), mat.NewDense(k, k, others.Data)
		size := values[0]
		for i, want := range solvertest.Singular(a) {
			if math.Abs(values[i]-want) > 1e-14*size*float64(k) {
				t.Errorf("%s: σ[%d] is %v, want %v", name, i, values[i], want)
			}
		}
		var again, d mat.Dense
		again.Mul(left.T(), mat.NewDiagDense(k, values))
		again.Mul(&again, right)
		d.Sub(&again, a)
		if e := mat.Max(&d) - mat.Min(&d); e > 1e-14*size*float64(k) {
			t.Errorf("%s: off by %g of %g", name, e, size)
		}
		for _, x := range []*mat.Dense{left, right} {
			if e := orthogonality(x); e > 1e-14*float64(k) {
				t.Errorf("%s: off orthogonality by %g", name, e)
			}
		}
	}
}

// orthogonality returns max|XXᵀ − I|.
func orthogonality(x *mat.Dense) float64 {
	var g mat.Dense
	g.Mul(x, x.T())
	k, _ := g.Dims()
	for i := range k {
		g.Set(i, i, g.At(i, i)-1)
	}
	return max(mat.Max(&g), -mat.Min(&g))
}

// TestGraded checks that left vectors of nearly orthogonal columns are orthonormal for any ratio of the values.
func TestGraded(t *testing.T) {
	for _, k := range []int{1, 2, 3, 8, 25} {
		for _, decades := range []float64{0, 3, 15} {
			r := solvertest.Random(k, k, uint64(k))
			r.Apply(func(i, j int, x float64) float64 { // columns as nearly orthogonal as those of A·V
				f := 0.05 * x
				if i == j {
					f = 1
				} else if i > j {
					f = 0
				}
				return f * math.Pow(10, -decades*float64(j)/float64(k))
			}, r)
			sigma, rows := jacobi.Right(r.RawMatrix())
			right := mat.NewDense(k, k, rows.Data)
			for i, want := range solvertest.Singular(r) {
				if math.Abs(sigma[i]-want) > 1e-14*sigma[0]*float64(k) {
					t.Errorf("%d/%v: σ[%d] = %g, want %g", k, decades, i, sigma[i], want)
				}
			}
			if o := orthogonality(right); o > 1e-14*float64(k) {
				t.Errorf("%d/%v: right vectors orthonormal to %g", k, decades, o)
			}
			var u mat.Dense
			u.Mul(right, r.T())
			u.Apply(func(i, _ int, x float64) float64 { return x / sigma[i] }, &u)
			if o := orthogonality(&u); o > 1e-13*float64(k) {
				t.Errorf("%d/%v: left vectors orthonormal to %g", k, decades, o)
			}
		}
	}
}

func TestSpecial(t *testing.T) {
	for name, c := range map[string]struct {
		r    *mat.Dense
		want []float64
	}{
		"zero":        {mat.NewDense(3, 3, nil), []float64{0, 0, 0}},
		"diagonal":    {mat.NewDense(3, 3, []float64{1, 0, 0, 0, -3, 0, 0, 0, 2}), []float64{3, 2, 1}},
		"equal":       {mat.NewDense(2, 2, []float64{1, 0, 0, 1}), []float64{1, 1}},
		"rank one":    {mat.NewDense(2, 2, []float64{3, 3, 4, 4}), []float64{math.Sqrt(50), 0}},
		"zero column": {mat.NewDense(2, 2, []float64{0, 3, 0, 4}), []float64{5, 0}},
		"tiny":        {mat.NewDense(2, 2, []float64{3e-150, 3e-150, 4e-150, -4e-150}), []float64{math.Sqrt(32) * 1e-150, math.Sqrt(18) * 1e-150}},
	} {
		sigma, right := jacobi.Right(c.r.RawMatrix())
		for i, w := range c.want {
			if math.Abs(sigma[i]-w) > 4*0x1p-52*c.want[0] {
				t.Errorf("%s: σ = %v, want %v", name, sigma, c.want)
			}
		}
		if o := orthogonality(mat.NewDense(len(sigma), len(sigma), right.Data)); o > 4*0x1p-52 {
			t.Errorf("%s: right vectors orthonormal to %g", name, o)
		}
	}
}
