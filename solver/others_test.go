package solver_test

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestEventsOfOthers checks the events of the passes that look for further values after all triplets are found:
// they have a phase of their own, its goal is reached in the last pass, and the event before announces it.
func TestEventsOfOthers(t *testing.T) {
	repeated := solvertest.WithValues(200, 120, 3, 9, 9, 8, 7, 7, 5, 4, 3, 2, 1)
	several := solvertest.WithValues(200, 120, 3, 9, 8, 7, 6, 5, 4, 3, 2, 1)
	for phase, c := range map[string]struct {
		a      *mat.Dense
		method method.Method
		init   *mat.Dense
	}{
		solver.PhaseConfirm: {repeated, lanczos.Krylov{Columns: 1}, nil},
		solver.PhaseOutside: {several, power.Iteration{}, solvertest.Random(120, 3, 1)},
	} {
		var before, last solver.Event
		passes := 0
		set := solver.Settings{Rank: 3, Tol: 1e-6, Seed: 1, Method: c.method, Init: c.init}
		set.Observer = func(e solver.Event) error {
			if e.Phase == phase {
				if passes++; passes == 1 && (!before.More || before.Locked != 3) {
					t.Errorf("%s is not announced by %+v", phase, before)
				}
				if !(e.Worst > 0 && e.Worst <= 1 && e.Goal > 0 && e.Goal < 1) || e.Open != 0 {
					t.Errorf("%s: %+v", phase, e)
				}
				last = e
			} else if e.More && e.Locked < e.Rank || e.Phase == solver.PhaseFinish && e.More {
				t.Errorf("more in %+v", e)
			}
			before = e
			return nil
		}
		res, err := solver.SVD(t.Context(), newDense(c.a), set)
		if err != nil || res.Status != solver.Converged {
			t.Fatalf("%v, error %v", res, err)
		}
		if passes < 2 || last.More && phase == solver.PhaseOutside || last.Worst > 1.1*last.Goal {
			t.Errorf("%s: %d passes, the last is %+v", phase, passes, last)
		}
	}
}
