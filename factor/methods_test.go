package factor

import (
	"testing"

	"github.com/gdsvd/gdsvd/solver"
)

// Every method can be told by flags, and is the same again.
func TestMethodsHaveFlags(t *testing.T) {
	for _, m := range []solver.Method{
		solver.GradientDescent{Eta: 0.5}, solver.GradientDescent{Eta: 0.25}, solver.Power{}, solver.Polyak{Eta: 0.5, Beta: 0.5}, solver.Nesterov{Eta: 0.5},
		solver.NesterovGeneral{Mu: 0.01, Rho: 100}, solver.Block{Columns: 7}, solver.Block{Oversample: 3}, solver.Krylov{Columns: 2, Basis: 20},
	} {
		if got := canonical(m); got != m {
			t.Errorf("%+v becomes %+v", m, got)
		}
	}
}
