package solver_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// spectrum draws values in descending order with ties, zeros, gaps, and values
// near roundoff among them.
func spectrum(t *rapid.T, n int) []float64 {
	s := make([]float64, n)
	v := 1.0
	for i := range s {
		switch rapid.IntRange(0, 7).Draw(t, "gap") {
		case 0, 1: // a tie
		case 2:
			v *= 1e-3
		case 3:
			v = 0
		case 4:
			v *= 1e-8
		default:
			v *= rapid.Float64Range(0.2, 0.9).Draw(t, "ratio")
		}
		s[i] = v
	}
	return s
}

// TestAnyMatrix checks what must hold for every matrix, method, deflation,
// rule, tolerance, and limit: the run ends and says the truth about its result.
func TestAnyMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 25).Draw(t, "rows"), rapid.IntRange(1, 25).Draw(t, "cols")
		seed := rapid.Uint64().Draw(t, "seed")
		sigma := spectrum(t, min(rows, cols))
		a := solvertest.WithValues(rows, cols, seed, sigma...)
		k := rapid.IntRange(1, min(rows, cols)).Draw(t, "k")
		left := solver.NewDenseRows(rows, k)
		set := solver.Settings{
			Rank:      k,
			Seed:      seed,
			Deflation: rapid.SampledFrom([]solver.Deflation{solver.Projected, solver.Plain}).Draw(t, "deflation"),
			Stop:      rapid.SampledFrom([]solver.StopRule{solver.StopResidual, solver.StopPaper}).Draw(t, "stop"),
			Tol:       math.Pow10(-rapid.IntRange(1, 17).Draw(t, "digits")),
			Method:    rapid.SampledFrom([]method.Method{gd.Descent{}, gd.Descent{Eta: 0.9}, power.Iteration{}, subspace{2}}).Draw(t, "method"),
			SignLeft:  rapid.Bool().Draw(t, "sign left"),
			Left:      left,
			MaxPasses: 100_000,
		}
		if set.Stop == solver.StopPaper {
			set.MaxPasses = 3000
		}
		if set.Method.Traits(1).Name == "subspace" {
			set.Stop = solver.StopResidual // it knows no other rule
		}
		if rapid.Bool().Draw(t, "limited") {
			set.MaxPasses = rapid.IntRange(1, 200).Draw(t, "limit")
		}
		res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
		checkResult(t, a, set, res, left.Dense)
		if res.Stats.Passes > set.MaxPasses {
			t.Errorf("%d passes, limit %d", res.Stats.Passes, set.MaxPasses)
		}
		// The paper's rule ends when the changes are small, which between nearly
		// equal values, split by plain deflation, may take any time.
		if set.MaxPasses == 100_000 && res.Status == solver.PassLimit && set.Stop == solver.StopResidual {
			t.Errorf("no end: residuals %.2g of values %.3g", res.Residuals, sigma)
		}
		// At a loose tolerance a random vector may happen to be good enough for
		// a value that is not the leading one.
		if res.Status == solver.Converged && set.MaxPasses == 100_000 && set.Stop == solver.StopResidual && set.Tol < 1e-5 {
			checkValues(t, res, sigma, set.Tol)
		}
	})
}

// TestTranspose checks that A and Aᵀ have the same values and swapped vectors.
func TestTranspose(t *testing.T) {
	for seed := range uint64(10) {
		a := solvertest.WithValues(14, 9, seed, 5, 4, 3, 2, 1)
		left, leftT := solver.NewDenseRows(14, 3), solver.NewDenseRows(9, 3)
		res := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 3, Left: left}))(t)
		resT := must.Get(solver.SVD(t.Context(), newDense(mat.DenseCopyOf(a.T())), solver.Settings{Rank: 3, Left: leftT, SignLeft: true}))(t)
		if !slices.EqualFunc(res.Sigma, resT.Sigma, func(x, y float64) bool { return math.Abs(x-y) < 1e-13 }) {
			t.Errorf("σ = %v and %v", res.Sigma, resT.Sigma)
		}
		if !mat.EqualApprox(res.Right, leftT.Dense, 1e-7) || !mat.EqualApprox(left.Dense, resT.Right, 1e-7) {
			t.Errorf("seed %d: vectors of the transpose differ", seed)
		}
	}
}
