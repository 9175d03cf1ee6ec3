package jacobi

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/solvertest"
)

// The decomposition has the values of gonum's, orthogonal factors, and gives the matrix again, of any rank and size.
func TestDecompose(t *testing.T) {
	for name, a := range map[string]*mat.Dense{
		"one": mat.NewDense(1, 1, []float64{-3}), "zero": mat.NewDense(4, 4, nil),
		"random": solvertest.Random(20, 20, 1), "graded": solvertest.WithValues(6, 6, 2, 1, 1e-3, 1e-6, 1e-9, 1e-12, 0),
		"deficient": solvertest.WithValues(9, 9, 3, 5, 5, 5, 2), "large": solvertest.WithValues(5, 5, 4, 1e200, 1e199, 1e190, 1, 0),
		"small": solvertest.WithValues(5, 5, 5, 1e-200, 1e-201, 1e-210),
	} {
		k, _ := a.Dims()
		values, left, right := Decompose(a)
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
			var g mat.Dense
			g.Mul(x, x.T())
			for i := range k {
				g.Set(i, i, g.At(i, i)-1)
			}
			if e := max(mat.Max(&g), -mat.Min(&g)); e > 1e-14*float64(k) {
				t.Errorf("%s: off orthogonality by %g", name, e)
			}
		}
	}
}
