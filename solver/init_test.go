package solver_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// methodsOfUsers holds every method with default settings, and two further settings of Krylov.
var methodsOfUsers = map[string]method.Method{
	"gd": gd.Descent{}, "power": power.Iteration{}, "polyak": momentum.Polyak{}, "nesterov": momentum.Nesterov{},
	"nesterov-general": momentum.NesterovGeneral{}, "block": block.Descent{}, "krylov": lanczos.Krylov{},
	"krylov/1": lanczos.Krylov{Columns: 1}, "krylov/2 restarted": lanczos.Krylov{Columns: 2, Basis: 8},
}

// TestInitInvariant starts from the singular vectors of a block of the matrix that is decoupled
// from the rest: the vectors are exactly singular, but not leading.
func TestInitInvariant(t *testing.T) {
	a := mat.NewDense(4, 4, []float64{
		2, 1, 0, 0,
		1, 2, 0, 0,
		0, 0, 200, 100,
		0, 0, 100, 200,
	})
	s := math.Sqrt(0.5)
	init := mat.NewDense(4, 2, []float64{s, s, s, -s, 0, 0, 0, 0})
	for name, m := range methodsOfUsers {
		t.Run(name, func(t *testing.T) {
			for _, tol := range []float64{1e-2, 1e-5, 1e-8, 1e-10} {
				set := solver.Settings{Rank: 2, Method: m, Init: init, Tol: tol}
				res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				checkResult(t, a, set, res, nil)
				checkValues(t, res, []float64{300, 100}, tol)
				if res.Status != solver.Converged {
					t.Errorf("tolerance %g: %v", tol, res.Status)
				}
				// One pass shows that the vectors are singular, but not that they are leading.
				set.MaxPasses = 1
				res = must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				if res.Status == solver.Converged || res.Outside.Bound < 300 {
					t.Errorf("tolerance %g: %v after one pass, %+v", tol, res.Status, res.Outside)
				}
			}
		})
	}
}

// planted draws a matrix of blocks, a few of them dominant, and start vectors that are singular
// vectors of other blocks, possibly only some of them, permuted, or perturbed.
func planted(t *rapid.T) (a, init *mat.Dense, k int) {
	blocks := rapid.IntRange(1, 4).Draw(t, "blocks")
	var parts []*mat.Dense
	rows, cols := 0, 0
	for i := range blocks {
		r, c := rapid.IntRange(1, 25).Draw(t, "rows"), rapid.IntRange(1, 25).Draw(t, "cols")
		scale := math.Pow10(rapid.IntRange(-5, 3).Draw(t, "scale"))
		b := solvertest.Random(r, c, rapid.Uint64().Draw(t, fmt.Sprint("block ", i)))
		b.Scale(scale, b)
		parts = append(parts, b)
		rows, cols = rows+r, cols+c
	}
	a = mat.NewDense(rows, cols, nil)
	permutation := rapid.Permutation(sequence(cols)).Draw(t, "permutation")
	at, first := 0, 0
	for _, b := range parts {
		r, c := b.Dims()
		for i := range r {
			for j := range c {
				a.Set(at+i, permutation[first+j], b.At(i, j))
			}
		}
		at, first = at+r, first+c
	}
	k = rapid.IntRange(1, min(rows, cols, 12)).Draw(t, "k")
	// The right singular vectors, starting with those of the largest or of the least values.
	var svd mat.SVD
	svd.Factorize(a, mat.SVDThin)
	var v mat.Dense
	svd.VTo(&v)
	_, all := v.Dims()
	width := rapid.IntRange(1, min(all, k+2)).Draw(t, "width")
	from := rapid.IntRange(0, all-width).Draw(t, "from")
	init = mat.DenseCopyOf(v.Slice(0, cols, from, from+width))
	if noise := rapid.SampledFrom([]float64{0, 0, 1e-12, 1e-6, 1e-2}).Draw(t, "noise"); noise > 0 {
		e := solvertest.Random(cols, width, rapid.Uint64().Draw(t, "noise seed"))
		e.Scale(noise, e)
		init.Add(init, e)
	}
	if rapid.Bool().Draw(t, "swapped") {
		init.SetCol(0, mat.Col(nil, 0, mat.DenseCopyOf(init.Slice(0, cols, width-1, width))))
	}
	return a, init, k
}

func sequence(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}

// TestInitNeverMisleads checks that arbitrary start vectors do not change the values of the result,
// against a dense SVD.
func TestInitNeverMisleads(t *testing.T) {
	for name, m := range methodsOfUsers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				a, init, k := planted(t)
				tol := math.Pow10(-rapid.IntRange(2, 10).Draw(t, "digits"))
				rows, _ := a.Dims()
				left := solver.NewDenseRows(rows, k)
				set := solver.Settings{
					Rank: k, Method: m, Init: init, Left: left, Tol: tol, Seed: rapid.Uint64().Draw(t, "seed"), MaxPasses: 20_000,
					Deflation: rapid.SampledFrom([]solver.Deflation{solver.Projected, solver.Plain}).Draw(t, "deflation"),
				}
				res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				checkResult(t, a, set, res, left.Dense)
				if res.Status == solver.PassLimit && oneVector(m) {
					return // close values can take them any number of passes; the result claims nothing
				}
				want := solvertest.Singular(a)
				rounding := 1e-13 * want[0] * want[0]
				for i, s := range res.Sigma {
					// A value within the tolerance of another may take its place, and rounding of AᵀA hides differences
					// of this size.
					if math.Abs(s-want[i]) > 3*tol*want[0]+1e-7*want[0] && math.Abs(s*s-want[i]*want[i]) > rounding {
						t.Errorf("σ[%d] = %.10g, want %.10g (tolerance %g, %v, %d passes)", i, s, want[i], tol, res.Status, res.Stats.Passes)
					}
				}
				next := 0.0
				if k < len(want) {
					next = want[k]
				}
				if b := res.Outside.Bound; b < next*(1-1e-9)-1e-7*want[0] && next*next-b*b > rounding {
					t.Errorf("bound %+v with σ = %g, found %g to %g, %v, %d passes", res.Outside, want[:k+1], res.Sigma, res.Residuals, res.Status, res.Stats.Passes)
				}
				if res.Status == solver.Converged && !res.Outside.Leading {
					t.Errorf("converged with %+v, found %g", res.Outside, res.Sigma)
				}
				if res.Status != solver.Converged && res.Status != solver.Stagnated {
					t.Errorf("%v after %d passes", res.Status, res.Stats.Passes)
				}
			})
		})
	}
}

// TestInitSavesPasses changes a matrix with the spectrum of ratings by a hundredth. Start vectors save at least
// a tenth of the passes and products at a tolerance of 1e-8; at 1e-4 the run is the one without them.
func TestInitSavesPasses(t *testing.T) {
	const rows, cols, k = 400, 250, 10
	sigma := make([]float64, cols)
	for i := range sigma {
		sigma[i] = math.Pow(float64(i+1), -0.8)
	}
	before := solvertest.WithValues(rows, cols, 1, sigma...)
	after := solvertest.Random(rows, cols, 2)
	after.Scale(0.01*mat.Norm(before, 2)/mat.Norm(after, 2), after)
	after.Add(after, before)
	for _, tol := range []float64{1e-4, 1e-8} {
		solve := func(a, init *mat.Dense) *solver.Result {
			return must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: k, Method: lanczos.Krylov{}, Init: init, Tol: tol}))(t)
		}
		cold, warm := solve(after, nil), solve(after, solve(before, nil).Right)
		checkValues(t, warm, solvertest.Singular(after), tol)
		if tol == 1e-4 && (!mat.Equal(warm.Right, cold.Right) || warm.Stats.Products != cold.Stats.Products) {
			t.Errorf("tolerance %g: %d products, %d without start vectors", tol, warm.Stats.Products, cold.Stats.Products)
		}
		if tol == 1e-8 && (warm.Stats.Passes > cold.Stats.Passes*9/10 || warm.Stats.Products > cold.Stats.Products*9/10) {
			t.Errorf("tolerance %g: %d passes and %d products, %d and %d without start vectors", tol, warm.Stats.Passes, warm.Stats.Products, cold.Stats.Passes, cold.Stats.Products)
		}
		if warm.Status != solver.Converged {
			t.Errorf("tolerance %g: %v", tol, warm.Status)
		}
		if warm.Outside.Steps == 0 || warm.Outside.Bound > warm.Sigma[k-1]+tol*warm.Sigma[0] {
			t.Errorf("tolerance %g: %+v with values down to %g", tol, warm.Outside, warm.Sigma[k-1])
		}
		t.Logf("tolerance %g: %d and %d passes, %d and %d products, %+v and %+v", tol, warm.Stats.Passes, cold.Stats.Passes,
			warm.Stats.Products, cold.Stats.Products, warm.Outside, cold.Outside)
	}
}

// oneVector reports whether a method finds one vector after the other.
func oneVector(m method.Method) bool {
	switch m.(type) {
	case block.Descent, lanczos.Krylov:
		return false
	}
	return true
}

// TestInitOfNullVectors checks that a run of one pass from null vectors of A reports residuals of 1: its left vectors
// are unknown.
func TestInitOfNullVectors(t *testing.T) {
	init := mat.NewDense(4, 2, []float64{1, 0, 0, 1, 0, 0, 0, 0})
	for _, energy := range []float64{0, 0.5} {
		set := solver.Settings{Rank: 2, Energy: energy, Init: init, MaxPasses: 1, Left: solver.NewDenseRows(3, 2), Method: lanczos.Krylov{Columns: 2}}
		res := must.Get(solver.SVD(t.Context(), newDense(mat.NewDense(3, 4, []float64{0, 0, 5, 0, 0, 0, 0, 3, 0, 0, 0, 0})), set))(t)
		if res.Converged != 0 || res.Residuals[0] != 1 || res.Status != solver.PassLimit {
			t.Errorf("energy %g: %v", energy, res)
		}
	}
}
