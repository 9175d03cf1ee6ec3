package tallskinny

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestJacobiSVD(t *testing.T) {
	for _, k := range []int{1, 2, 3, 8, 25} {
		for _, decades := range []float64{0, 3, 15} {
			t.Run(fmt.Sprint(k, "/", decades), func(t *testing.T) {
				r := mat.NewDense(k, k, nil)
				heap.Gaussian(r, 0, uint64(k), 1)
				for i := range k {
					for j := range k {
						// Nearly orthogonal columns of very different length,
						// as those of A·V are.
						f := 0.05 * r.At(i, j)
						if i == j {
							f = 1
						} else if i > j {
							f = 0
						}
						r.Set(i, j, f*math.Pow(10, -decades*float64(j)/float64(k)))
					}
				}
				checkJacobi(t, r)
			})
		}
	}
}

func checkJacobi(t *testing.T, r *mat.Dense) {
	t.Helper()
	k, _ := r.Dims()
	sigma, v := JacobiSVD(r)
	var svd mat.SVD
	if !svd.Factorize(r, mat.SVDNone) {
		t.Fatal("reference SVD failed")
	}
	for i, want := range svd.Values(nil) {
		if math.Abs(sigma[i]-want) > 1e-14*sigma[0]*float64(k) {
			t.Errorf("σ[%d] = %g, want %g", i, sigma[i], want)
		}
	}
	if o := Orthogonality(heap.GramOf(v)); o > 1e-14*float64(k) {
		t.Errorf("right vectors orthonormal to %g", o)
	}
	// Left vectors: orthonormal whatever the ratio of the values.
	var u mat.Dense
	u.Mul(r, v)
	for j, s := range sigma {
		if s > 0 {
			heap.ScaleColumn(&u, j, 1/s)
		}
	}
	if o := Orthogonality(heap.GramOf(&u)); sigma[k-1] > 0 && o > 1e-13*float64(k) {
		t.Errorf("left vectors orthonormal to %g", o)
	}
}

func TestJacobiSpecial(t *testing.T) {
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
		t.Run(name, func(t *testing.T) {
			sigma, v := JacobiSVD(c.r)
			for i, w := range c.want {
				if math.Abs(sigma[i]-w) > 4*Epsilon*c.want[0] {
					t.Errorf("σ = %v, want %v", sigma, c.want)
				}
			}
			if o := Orthogonality(heap.GramOf(v)); o > 4*Epsilon {
				t.Errorf("right vectors orthonormal to %g", o)
			}
		})
	}
}
