package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestScoutOfLittleRoom: beside k pairs of the dilation there are 2k dimensions fewer, of which a scout takes no more than
// half. One that takes all of them has no room for its next block, and breaks down if rounding makes it look for some.
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
