package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/solvertest"
)

func TestMethods(t *testing.T) { solvertest.RunAll(t, solver.Methods()) }

func TestMethodsWithSettings(t *testing.T) {
	for name, m := range map[string]solver.Method{
		"gd/0.9":  solver.GradientDescent{Eta: 0.9},
		"gd/0.25": solver.GradientDescent{Eta: 0.25},

		"polyak/0.6":   solver.Polyak{Beta: 0.6},
		"nesterov/0.7": solver.Nesterov{Beta: 0.7},

		"nesterov-general/0.02": solver.NesterovGeneral{Mu: 0.02},
	} {
		t.Run(name, func(t *testing.T) { solvertest.Run(t, m, solvertest.Options{}) })
	}
	t.Run("gd/0.8 in the dilation", func(t *testing.T) {
		solvertest.Run(t, solver.GradientDescent{Eta: 0.8}, solvertest.Options{Operator: solver.Dilation})
	})
}
