package solver_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/solvertest"
)

func TestMethods(t *testing.T) { solvertest.RunAll(t, all.Methods()) }

func TestMethodsWithSettings(t *testing.T) {
	for name, m := range map[string]method.Method{
		"gd/0.9":  gd.Descent{Eta: 0.9},
		"gd/0.25": gd.Descent{Eta: 0.25},

		"polyak/0.6":   momentum.Polyak{Beta: 0.6},
		"nesterov/0.7": momentum.Nesterov{Beta: 0.7},

		"nesterov-general/0.02": momentum.NesterovGeneral{Mu: 0.02},
	} {
		t.Run(name, func(t *testing.T) { solvertest.Run(t, m, solvertest.Options{}) })
	}
	t.Run("gd/0.8 in the dilation", func(t *testing.T) {
		solvertest.Run(t, gd.Descent{Eta: 0.8}, solvertest.Options{Operator: solver.Dilation})
	})
}
