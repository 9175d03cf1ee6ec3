package solver_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// TestOrthogonalityOfRowsThatAreAlike: the error of the sum of squares of equal rows does not grow with their number.
func TestOrthogonalityOfRowsThatAreAlike(t *testing.T) {
	for _, n := range []int64{60_000, 95_421, 1_000_003} {
		off, err := solver.Orthogonality(t.Context(), 1, n, 1, func(_ int64, rows *mat.Dense) error {
			rows.Apply(func(int, int, float64) float64 { return 1 / math.Sqrt(float64(n)) }, rows)
			return nil
		})
		if err != nil || off > 5e-14 {
			t.Errorf("%d rows: the sum of squares is off 1 by %.2g, %v", n, off, err)
		}
	}
}
