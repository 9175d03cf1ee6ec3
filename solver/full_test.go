package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestScoutOfLittleRoom checks that a scout takes at most half of the dimensions that k pairs of the dilation leave, 2k fewer
// than all. A scout of all of them has no room for its next block and breaks down if rounding makes it look for one.
func TestScoutOfLittleRoom(t *testing.T) {
	for _, c := range []struct{ k, columns int }{{2, 1}, {3, 0}} {
		before, columns := int64(0), 0
		set := solver.Settings{Rank: c.k, Method: power.Iteration{}, Operator: solver.Dilation, Tol: 1e-8}
		set.Observer = func(e solver.Event) error {
			if e.Phase == solver.PhaseOutside {
				columns = int(e.Stats.Products - before)
			}
			before = e.Stats.Products
			return nil
		}
		res, err := solver.SVD(t.Context(), newDense(solvertest.WithValues(3, 3, 1, 3, 1e-9, 1e-9)), set)
		if err != nil || res.Status != solver.Converged || columns != c.columns {
			t.Errorf("%d of 3 triplets: %v, error %v, a scout of %d columns, want %d", c.k, res.Status, err, columns, c.columns)
		}
	}
}
