package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/solvertest"
)

func TestMethods(t *testing.T) {
	for name, m := range map[string]solver.Method{
		"gd":      solver.GradientDescent{},
		"gd/0.9":  solver.GradientDescent{Eta: 0.9},
		"gd/0.25": solver.GradientDescent{Eta: 0.25},
		"power":   solver.Power{},

		"polyak":       solver.Polyak{},
		"polyak/0.6":   solver.Polyak{Beta: 0.6},
		"nesterov":     solver.Nesterov{},
		"nesterov/0.7": solver.Nesterov{Beta: 0.7},

		"nesterov-general":      solver.NesterovGeneral{},
		"nesterov-general/0.02": solver.NesterovGeneral{Mu: 0.02},
	} {
		t.Run(name, func(t *testing.T) {
			solvertest.Run(t, func() solver.Method { return m }, solvertest.Options{})
		})
	}
}

// TestDilation runs the whole suite in the dilation, which leads to the same
// triplets.
func TestDilation(t *testing.T) {
	for name, m := range map[string]solver.Method{
		"gd":       solver.GradientDescent{},
		"gd/0.8":   solver.GradientDescent{Eta: 0.8},
		"power":    solver.Power{},
		"nesterov": solver.Nesterov{},
		"polyak":   solver.Polyak{},
	} {
		t.Run(name, func(t *testing.T) {
			solvertest.Run(t, func() solver.Method { return m }, solvertest.Options{Form: solver.Dilation})
		})
	}
}
