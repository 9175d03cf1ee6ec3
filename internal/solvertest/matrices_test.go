package solvertest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestMatrices compares the constructions with what is known of them.
func TestMatrices(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *mat.Dense
		want []float64
		tol  float64
	}{
		{"Grcar", grcar(30), []float64{3.2215}, 5e-5},
		{"bidiagonal", bidiagonal(20, 22), bidiagonalValues(20, 20), 1e-14},
		{"Mikota", mikota(5), []float64{5, 4, 3, 2, 1}, 1e-14},
		{"Läuchli", läuchli(4, 0.5), lauchliValues(4, 0.5), 1e-14},
	} {
		got := Singular(c.a)
		for i, w := range c.want {
			if math.Abs(got[i]-w) > c.tol*c.want[0] {
				t.Errorf("%s: σ[%d] = %.16g, want %.16g", c.name, i, got[i], w)
			}
		}
	}
}
