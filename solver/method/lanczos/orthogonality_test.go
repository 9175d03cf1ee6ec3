package lanczos

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// TestOrthogonality checks that the loss of orthogonality of a basis is at most about what the
// process estimates, over restarts and for spectra that lose orthogonality quickly, in one
// direction or in many.
func TestOrthogonality(t *testing.T) {
	const n = 1500
	for name, value := range map[string]func(i int) float64{
		"dominant": func(i int) float64 { return 1 / math.Pow(float64(i+1), 2) },
		"flat":     func(i int) float64 { return 1 - float64(i)/n },
		"outliers": func(i int) float64 { return 1e-3 + math.Exp(-float64(i)) },
	} {
		for _, b := range []int{1, 4} {
			r := started(Krylov{Columns: b, Basis: 100}, 10, n)
			y, late := mat.NewDense(n, b, nil), false
			for pass := range 240 / b {
				x := r.Next()
				for i := range n {
					for j := range b {
						y.Set(i, j, value(i)*x.At(i, j))
					}
				}
				r.Absorb(y)
				lost := tallskinny.Orthogonality((*tallskinny.Arena)(nil).GramOf(mat.NewDense(n, r.size, denseData(r))))
				said := math.Max(mat.Max(r.orth.basis), -mat.Min(r.orth.basis))
				if lost > 2*said+1e-13 {
					t.Fatalf("%s, width %d: after %d passes the basis is orthonormal to %.2g, believed to be to %.2g", name, b, pass+1, lost, said)
				}
				if lost > 10*semi {
					t.Fatalf("%s, width %d: after %d passes the basis is orthonormal to %.2g only", name, b, pass+1, lost)
				}
				late = late || said > tidy
			}
			if !late && (b == 1 || name != "flat") { // a flat spectrum loses orthogonality slowly
				t.Errorf("%s, width %d: nothing was put off", name, b)
			}
		}
	}
}

// started returns a recurrence at a random start block.
func started(k Krylov, rank, n int) *lanczos {
	z := mat.NewDense(n, k.Columns, nil)
	(*tallskinny.Arena)(nil).Gaussian(z, 0, 1, 2)
	r := k.New(method.Run{Rank: rank})
	r.Start(z)
	return r.(*lanczos)
}

// denseData returns the basis as rows without gaps.
func denseData(r *lanczos) []float64 {
	return r.v.All().Gather(make([]float64, r.v.N*r.size), 0, r.v.N).Data
}

// TestOrthogonalityOverManyRestarts checks that a basis little wider than the rank, which restarts
// every few passes, stays orthonormal to 10·semi.
func TestOrthogonalityOverManyRestarts(t *testing.T) {
	const n, k = 1500, 50
	for _, b := range []int{1, 8} {
		r := started(Krylov{Columns: b, Basis: smallBasis(k, b)}, k, n)
		y := mat.NewDense(n, b, nil)
		for pass := range 200 {
			x := r.Next()
			for i := range n {
				for j := range b {
					y.Set(i, j, math.Pow(float64(i+1), -1.4)*x.At(i, j))
				}
			}
			r.Absorb(y)
			if lost := tallskinny.Orthogonality((*tallskinny.Arena)(nil).GramOf(mat.NewDense(n, r.size, denseData(r)))); lost > 10*semi {
				t.Fatalf("width %d: after %d passes the basis is orthonormal to %.2g only", b, pass+1, lost)
			}
		}
	}
}
