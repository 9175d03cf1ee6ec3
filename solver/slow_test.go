package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestSlowClustersStagnate: values closer together than a method of one vector can tell apart
// end its run, with the residual that there is, and do not keep it going.
func TestSlowClustersStagnate(t *testing.T) {
	a := solvertest.WithValues(12, 8, 1, 1, 1-1e-7, 1-2e-7, 0.3, 0.2, 0.1)
	for name, m := range map[string]method.Method{"power": power.Iteration{}, "gd": gd.Descent{}, "block of one": block.Descent{Columns: 1}} {
		res, err := solver.SVD(t.Context(), solvertest.NewDense(a), solver.Settings{Rank: 1, Method: m, Tol: 1e-10, MaxPasses: 60_000})
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != solver.Stagnated || res.Residuals[0] > 1e-6 || res.Stats.Passes > 40_000 {
			t.Errorf("%s: %v after %d passes with a residual of %.2g", name, res.Status, res.Stats.Passes, res.Residuals[0])
		}
	}
}
