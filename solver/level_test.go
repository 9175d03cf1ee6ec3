package solver_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// single holds the methods that find one vector after the other.
var single = map[string]method.Method{
	"gd": gd.Descent{}, "power": power.Iteration{}, "polyak": momentum.Polyak{}, "nesterov": momentum.Nesterov{},
	"nesterov-general": momentum.NesterovGeneral{}, "block": block.Descent{Columns: 1},
}

// TestClusters checks that runs on a cluster that no method of one vector can resolve end: if all
// of the cluster is wanted they converge, and if only a part is wanted they converge or stagnate.
func TestClusters(t *testing.T) {
	for name, m := range single {
		t.Run(name, func(t *testing.T) {
			for _, gap := range longtest.Pick([]float64{1e-7, 3e-8, 1e-8, 1e-9}, []float64{3e-8}) {
				for k := 1; k <= 3; k++ {
					t.Run(fmt.Sprint(gap, k), func(t *testing.T) {
						a := newDense(solvertest.WithValues(12, 8, 3, 1, 1-gap, 1-2*gap, 0.6, 0.3, 0.1))
						tol := gap / 100
						res := must.Get(solver.SVD(t.Context(), a, solver.Settings{Rank: k, Method: m, Tol: tol, MaxPasses: 3e6}))(t)
						if res.Status != solver.Converged && (k == 3 || res.Status != solver.Stagnated) || res.Stats.Passes > 200_000 {
							t.Errorf("%v after %d passes, residuals %.2g", res.Status, res.Stats.Passes, res.Residuals)
						}
						for i, r := range res.Residuals {
							if r > 2*gap || math.Abs(res.Sigma[i]-1) > 3*gap {
								t.Errorf("σ[%d] is %.12g with residual %.2g", i, res.Sigma[i], r)
							}
						}
					})
				}
			}
		})
	}
}

// TestSlowRuns checks that slow runs converge and do not end as stagnated.
func TestSlowRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 23))
	for i := range longtest.Pick(100, 2) {
		for name, m := range single {
			sigma := []float64{1}
			for len(sigma) < 6 {
				last := sigma[len(sigma)-1]
				gap := math.Pow(10, -1-4*r.Float64())
				if r.IntN(2) == 0 {
					gap = 0.1 + 0.4*r.Float64()
				}
				sigma = append(sigma, last*(1-gap))
			}
			k := 1 + r.IntN(3)
			set := solver.Settings{Rank: k, Method: m, Tol: math.Pow(10, -5-4*r.Float64()), Seed: uint64(i)}
			res := must.Get(solver.SVD(t.Context(), newDense(solvertest.WithValues(8, 6, uint64(i), sigma...)), set))(t)
			if res.Status != solver.Converged {
				t.Errorf("%s, trial %d: %v after %d passes, residuals %.2g for %.2g, values %v", name, i, res.Status, res.Stats.Passes, res.Residuals, set.Tol, sigma)
			}
		}
	}
}
