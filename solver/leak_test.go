package solver_test

import (
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestLeak shows why deflation projects: with one dominant value followed by a cluster, an error of
// the first vector tilts the later ones by up to (σ₁/σ_i)² times as much, which the residuals of
// the operator deflated as in the paper do not show.
func TestLeak(t *testing.T) {
	const tol = 1e-6
	for seed := range longtest.Pick(uint64(4), 1) {
		a := dominantThenCluster(40, 20, seed)
		for _, m := range []method.Method{gd.Descent{}, power.Iteration{}} {
			set := solver.Settings{Rank: 4, Tol: tol, Seed: seed, Method: m, Deflation: solver.Plain}
			plain := must.Get(solver.Eigen(t.Context(), solver.GramOf(newDense(a)), set))(t)
			seen, truth := slices.Max(plain.Seen), slices.Max(plain.Residuals)
			if seen > tol || truth < 10*seen {
				t.Errorf("%s, seed %d: plain deflation sees %.2g of %.2g: no leak to show", m.Traits(1).Name, seed, seen, truth)
			}
			if m.Traits(1).Name == "gd" && truth < 5e-4 {
				t.Errorf("seed %d: leak of %.2g only", seed, truth)
			}
			if plain.Status != solver.Stagnated {
				t.Errorf("%s, seed %d: eigenvectors off by %.2g are said to have %v", m.Traits(1).Name, seed, truth, plain.Status)
			}

			set.Deflation = solver.Projected
			projected := must.Get(solver.Eigen(t.Context(), solver.GramOf(newDense(a)), set))(t)
			if got := slices.Max(projected.Residuals); got > 20*tol || got > truth/10 {
				t.Errorf("%s, seed %d: true residual %.2g with projected deflation, %.2g with plain", m.Traits(1).Name, seed, got, truth)
			}
			if p, q := plain.Stats.Passes, projected.Stats.Passes; q > p+p/100 {
				t.Errorf("%s, seed %d: %d passes with projected deflation, %d with plain", m.Traits(1).Name, seed, q, p)
			}
		}
	}
}

// TestLeakHealed checks that the finishing pass repairs the vectors that plain deflation has
// tilted, and that its residuals are true.
func TestLeakHealed(t *testing.T) {
	for seed := range longtest.Pick(uint64(4), 1) {
		a := dominantThenCluster(30, 12, seed)
		for _, d := range []solver.Deflation{solver.Plain, solver.Projected} {
			left := solver.NewDenseRows(30, 4)
			set := solver.Settings{Rank: 4, Tol: 1e-6, Seed: seed, Method: power.Iteration{}, Deflation: d, Left: left}
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
			checkResult(t, a, set, res, left.Dense)
			checkValues(t, res, solvertest.Singular(a), set.Tol)
			if res.Status != solver.Converged {
				t.Errorf("seed %d, %v: %v", seed, d, res.Status)
			}
		}
	}
}
