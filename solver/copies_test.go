package solver_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// TestCopiesBesideAnEarlierRecurrence has a recurrence that adds larger values to the triplets of
// an earlier one, which does not show that all copies are found: the first recurrence has the least
// value after two products, but only seven of the twelve copies of another value.
func TestCopiesBesideAnEarlierRecurrence(t *testing.T) {
	for n := 14; n <= 17; n++ {
		sigma := []float64{700}
		for range n - 2 {
			sigma = append(sigma, 1.3)
		}
		sigma = append(sigma, 1.1)
		for seed := range longtest.Pick(uint64(8), 1) {
			a := solvertest.WithValues(49, n, seed, sigma...)
			for b := 2; b <= 5; b++ {
				set := solver.Settings{Rank: 10, Seed: seed, Tol: 1e-10, Method: lanczos.Krylov{Columns: b, Basis: 66}}
				res, err := solver.SVD(t.Context(), newDense(a), set)
				if err != nil || res.Status != solver.Converged {
					t.Fatalf("%d columns, seed %d, blocks of %d: %v, error %v", n, seed, b, res, err)
				}
				if d := math.Abs(res.Sigma[9] - 1.3); d > 1e-10*700 {
					t.Errorf("%d columns, seed %d, blocks of %d: σ %.10g", n, seed, b, res.Sigma)
				}
			}
		}
	}
}

// TestCopiesWithPlainDeflation checks that a search with plain deflation finds all values in the few remaining dimensions.
func TestCopiesWithPlainDeflation(t *testing.T) {
	sigma := make([]float64, 37)
	for i := range sigma {
		sigma[i] = 2 - float64(i/19) // 19 times 2, 18 times 1
	}
	for seed := range longtest.Pick(uint64(8), 1) {
		a := solvertest.WithValues(37, 37, seed, sigma...)
		set := solver.Settings{Rank: 32, Seed: seed, Tol: 1e-12, Method: lanczos.Krylov{Columns: 17}, Deflation: solver.Plain}
		res, err := solver.SVD(t.Context(), newDense(a), set)
		if err != nil || res.Status != solver.Converged || math.Abs(res.Sigma[18]-2) > 1e-11 {
			t.Errorf("seed %d: %v, error %v", seed, res, err)
		}
	}
}

// TestBoundAllowsForCopies checks that the bound of a run that finds one copy of a value per column allows for more
// copies, without a claim that one is missing. A block wider than the eigenspace also bounds the values below it.
func TestBoundAllowsForCopies(t *testing.T) {
	d := []float64{3, 3, 3, 3, 2, 1, 1, 1, 0.5, 0.25, 0.125}
	for _, c := range []struct{ k, block int }{{1, 1}, {2, 1}, {2, 2}, {3, 2}, {4, 4}, {4, 5}, {5, 5}} {
		for seed := range uint64(3) {
			res := must.Get(solver.SVD(t.Context(), newDense(solvertest.Diagonal(11, 11, d...)), solver.Settings{Rank: c.k, Method: lanczos.Krylov{Columns: c.block}, Seed: seed}))(t)
			if res.Status != solver.Converged || res.Outside.Steps > 0 && !res.Outside.Leading {
				t.Errorf("%+v: %v, %+v", c, res.Status, res.Outside)
			}
			if next := d[c.k]; res.Outside.Bound < next*(1-1e-12) || c.block > 4 && res.Outside.Bound > next*1.01 {
				t.Errorf("%+v, seed %d: nothing is said to be above %v, the next value is %v", c, seed, res.Outside.Bound, next)
			}
		}
	}
}

// TestSignedBoundAllowsForCopies checks that the bound of signed eigenvalues allows for more copies of the last value,
// of either sign.
func TestSignedBoundAllowsForCopies(t *testing.T) {
	spectra := [][]float64{
		{3, 3, 3, 3, 2, 1, 1, 0.5, 0.25, -0.5, -3, -3, -3, -3, -2},
		{-3, -3, -3, -3, -3, -2, 1, 0.5, 0.25, 0.1},
		{3, 3, 3, 3 - 1e-8, 3 - 1e-8, -3 + 1e-8, 2, 1, 0.5, -1, -1, -1, -1},
	}
	for n, values := range spectra {
		for i := range 30 {
			values = append(values, 0.2-0.01*float64(i))
		}
		for _, which := range whiches {
			a := withEigenvalues(uint64(n), values...)
			all := eigenvalues(t, a, which)
			for _, k := range []int{1, 2, 3, 4, 5} {
				for _, b := range []int{1, 2, 3, 4, 6} {
					for seed := range longtest.Pick(uint64(12), uint64(1)) {
						res, err := solver.SVD(t.Context(), newDense(a), solver.Settings{
							Rank: k, Seed: seed, Which: which, Operator: solver.Symmetric, Method: lanczos.Krylov{Columns: b},
						})
						if err != nil || res.Status != solver.Converged {
							t.Errorf("spectrum %d, %v, k = %d, block %d, seed %d: %v, error %v", n, which, k, b, seed, res, err)
							continue
						}
						next, bound := all[k], res.Outside.Bound
						switch which {
						case solver.LargestMagnitude:
							next = math.Abs(next)
						case solver.SmallestAlgebraic:
							next, bound = -next, -bound
						}
						if bound < next-1e-12 {
							t.Errorf("spectrum %d, %v, k = %d, block %d, seed %d: nothing is said to be beyond %v, the next value is %v", n, which, k, b, seed, bound, next)
						}
					}
				}
			}
		}
	}
}

// TestBoundAllowsForNearCopies checks this for singular values, also for values that differ by less than the tolerance.
func TestBoundAllowsForNearCopies(t *testing.T) {
	for n, sigma := range [][]float64{{3, 3, 3, 3, 2, 2, 2, 1}, {3, 3, 3, 3 - 1e-8, 3 - 1e-8, 3 - 2e-8, 2, 1, 1, 1}, {3, 3 - 1e-8, 3 - 1e-8, 3 - 1.5e-8, 1}} {
		for i := range 25 {
			sigma = append(sigma, 0.5-0.01*float64(i))
		}
		for _, k := range []int{1, 2, 3, 4, 5} {
			for _, b := range []int{1, 2, 3, 4, 6} {
				for seed := range longtest.Pick(uint64(12), uint64(2)) {
					res, err := solver.SVD(t.Context(), newDense(solvertest.WithValues(60, len(sigma), seed, sigma...)), solver.Settings{Rank: k, Seed: seed, Method: lanczos.Krylov{Columns: b}})
					if err != nil || res.Status != solver.Converged || res.Outside.Bound < sigma[k]-1e-12 {
						t.Errorf("spectrum %d, k = %d, block %d, seed %d: nothing is said to be beyond %v, the next value is %v; error %v", n, k, b, seed, res.Outside.Bound, sigma[k], err)
					}
				}
			}
		}
	}
}

// TestBoundOfClusters checks, for random spectra of clusters and near copies and for blocks about as wide, that no
// value is missing and no bound is below the next value by more than the tolerance. The first three seeds failed once.
func TestBoundOfClusters(t *testing.T) {
	seeds := []uint64{14852, 9085, 8061}
	for seed := range longtest.Pick(uint64(2000), uint64(200)) {
		seeds = append(seeds, seed)
	}
	unfinished := 0
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 19))
		n := 6 + r.IntN(50)
		var sigma []float64
		v, width := 10.0, math.Pow(10, -2-8*r.Float64())
		for len(sigma) < n {
			for range 1 + r.IntN(6) {
				x := v
				if r.IntN(3) == 0 {
					x -= width * r.Float64() * 10
				}
				sigma = append(sigma, x)
			}
			v *= []float64{0.99, 0.9, 0.5, 0.8}[r.IntN(4)]
		}
		sigma = sigma[:n]
		slices.Sort(sigma)
		slices.Reverse(sigma)
		k := 1 + r.IntN(min(8, n-1))
		m, tol := lanczos.Krylov{Columns: 1 + r.IntN(5)}, math.Pow(10, -1-9*r.Float64())
		res, err := solver.SVD(t.Context(), newDense(solvertest.WithValues(n+r.IntN(20), n, seed, sigma...)), solver.Settings{Rank: k, Seed: seed, Method: m, Tol: tol, MaxPasses: 5000})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if res.Status != solver.Converged {
			unfinished++
			continue
		}
		off := tol*sigma[0] + 1e-11
		for i, s := range res.Sigma {
			if s < sigma[i]-2*off {
				t.Errorf("seed %d, k = %d, block %d, tolerance %g: value %d is %v, not %v", seed, k, m.Columns, tol, i, s, sigma[i])
			}
		}
		if res.Outside.Bound < sigma[k]-off {
			t.Errorf("seed %d, k = %d, block %d, tolerance %g: nothing is said to be beyond %v, the next value is %v", seed, k, m.Columns, tol, res.Outside.Bound, sigma[k])
		}
	}
	if unfinished > len(seeds)/10 {
		t.Errorf("%d of %d runs do not converge", unfinished, len(seeds))
	}
}

// TestCopiesBesideACloseValue has as many copies of a value as the block has columns and one value so close
// that residuals within the tolerance cannot tell their vectors apart: the run still finds the value below.
func TestCopiesBesideACloseValue(t *testing.T) {
	for _, gap := range longtest.Pick([]float64{1e-6, 1e-7, 1e-8, 1e-9, 1e-10}, []float64{1e-8, 1e-10}) {
		for _, tol := range longtest.Pick([]float64{1e-3, 10 * gap, gap, gap / 10}, []float64{gap}) {
			for _, b := range []int{2, 4} {
				sigma := slices.Repeat([]float64{1}, b)
				sigma = append(sigma, 1-gap, 0.99, 0.98, 0.7)
				for i := range 30 {
					sigma = append(sigma, 0.6-0.02*float64(i))
				}
				for seed := range uint64(25) {
					a := solvertest.WithValues(60, len(sigma), seed, sigma...)
					res, err := solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: b + 2, Seed: seed, Tol: tol, Method: lanczos.Krylov{Columns: b}})
					if err != nil || res.Status != solver.Converged || math.Abs(res.Sigma[b+1]-0.99) > tol+1e-12 {
						t.Errorf("gap %g, tolerance %g, blocks of %d, seed %d: %v, error %v", gap, tol, b, seed, res, err)
					}
				}
			}
		}
	}
}

// TestKrylovRepeated has more copies of values than the block has columns, in a
// space far too large for a breakdown to find them.
func TestKrylovRepeated(t *testing.T) {
	sigma := []float64{10, 10, 10, 10, 10, 9, 9, 9, 8, 7, 7, 6}
	for i := range 100 {
		sigma = append(sigma, 5.5-0.05*float64(i))
	}
	a := solvertest.WithValues(140, 120, 1, sigma...)
	for _, b := range []int{1, 2, 3, 5} {
		for _, k := range []int{1, 2, 3, 6, 9, 11, 12} {
			for seed := range longtest.Pick(uint64(3), 1) {
				set := solver.Settings{Rank: k, Seed: seed, Method: lanczos.Krylov{Columns: b}}
				res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				checkResult(t, a, set, res, nil)
				checkValues(t, res, sigma, set.Tol)
				if res.Status != solver.Converged {
					t.Errorf("%d columns, k %d, seed %d: %v", b, k, seed, res.Status)
				}
			}
		}
	}
}

// TestNarrowBlockOfLowRank has a block narrower than the rank that finds its last vectors in one step, after which a
// column of the next block is further off than the Ritz vector. Locked vectors have the measured residuals, so that the
// block keeps no part along them.
func TestNarrowBlockOfLowRank(t *testing.T) {
	for seed := range uint64(20) {
		a := solvertest.WithValues(60, 20, seed, 50, 40, 30)
		for _, deflation := range []solver.Deflation{solver.Projected, solver.Plain} {
			for _, k := range []int{3, 4, 6} {
				s := solver.Settings{Rank: k, Seed: seed, Tol: 1e-6, Method: block.Descent{Columns: 2}, Deflation: deflation, MaxPasses: 100}
				res := must.Get(solver.SVD(t.Context(), newDense(a), s))(t)
				if res.Status != solver.Converged || res.Stats.Passes > 60 {
					t.Errorf("seed %d, %v, %d triplets: %v after %d passes, %v", seed, deflation, k, res.Status, res.Stats.Passes, res.Sigma)
				}
			}
		}
	}
}

// TestKrylovOfFewColumns checks that a basis with little room beside the locked vectors stays in their
// complement, however small a column of the next block is, and grows until no dimension is left.
func TestKrylovOfFewColumns(t *testing.T) {
	for seed := range longtest.Pick(uint64(80), 16) {
		a := solvertest.Random(17, 14, seed)
		for _, deflation := range []solver.Deflation{solver.Projected, solver.Plain} {
			for _, tol := range []float64{1e-2, 1e-6, 1e-10} {
				s := solver.Settings{Rank: 9, Seed: seed, Tol: tol, Method: lanczos.Krylov{Columns: 2, Basis: 8}, Deflation: deflation, MaxPasses: 1000}
				res := must.Get(solver.SVD(t.Context(), newDense(a), s))(t)
				if res.Status != solver.Converged {
					t.Errorf("seed %d, %v, tolerance %g: %v after %d passes, %v", seed, deflation, tol, res.Status, res.Stats.Passes, res.Sigma)
				}
				checkValues(t, res, solvertest.Singular(a), tol)
			}
		}
	}
}

// TestBoundAfterAnExchange checks that the bound allows for further copies and for replaced values
// after a search for copies has replaced the least values, which is no evidence about either.
func TestBoundAfterAnExchange(t *testing.T) {
	seeds := []uint64{199, 209, 528, 530, 581, 653, 878, 949, 982, 1080, 1612, 2080, 2170}
	for i := range longtest.Pick(uint64(400), 20) {
		seeds = append(seeds, i)
	}
	for _, seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		sigma := make([]float64, 14+r.IntN(10))
		for i := range sigma {
			sigma[i] = float64(1 + r.IntN(4))
		}
		a := solvertest.WithValues(len(sigma), len(sigma)+4, seed, sigma...)
		b := 1 + r.IntN(3)
		k := 6 + r.IntN(6)
		set := solver.Settings{Rank: k, Seed: seed, Tol: 1e-6, Method: lanczos.Krylov{Columns: b, Basis: 2*b + r.IntN(12)}}
		want := solvertest.Singular(a)
		for _, set.MaxPasses = range []int{1000, 6 + r.IntN(25), 6 + r.IntN(25)} { // the search may end between two exchanges
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
			if res.Outside.Bound < want[k]*(1-1e-9) {
				t.Errorf("seed %d, limit %d: %+v, next is %g, found %g", seed, set.MaxPasses, res.Outside, want[k], res.Sigma)
			}
			if res.Status == solver.Converged {
				checkValues(t, res, want[:k], 1e-6)
			}
		}
	}
}

// TestBoundOfCopiesAboveTheLeast checks that the bound allows for more copies of a value above the least than a block
// finds in few steps.
func TestBoundOfCopiesAboveTheLeast(t *testing.T) {
	for seed := range longtest.Pick(uint64(1000), 100) {
		values := []float64{-0.3, -0.0024, -0.0007, 0, 0, 0, 0, 0.0081, 0.09}
		a := withEigenvalues(seed, values...)
		var e mat.EigenSym
		e.Factorize(mat.NewSymDense(9, mat.DenseCopyOf(a).RawMatrix().Data), true)
		var v mat.Dense
		e.VectorsTo(&v)
		init := mat.DenseCopyOf(v.Slice(0, 9, 0, 6))
		res := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{
			Rank: 7, Seed: seed, Tol: 0.01, Init: init, Operator: solver.Symmetric, Which: solver.SmallestAlgebraic, Method: lanczos.Krylov{Columns: 4, Basis: 8},
		}))(t)
		if res.Outside.Bound > 0.0081+1e-9 {
			t.Errorf("seed %d: nothing is said to be below %g, found %.3g", seed, res.Outside.Bound, res.Lambda)
		}
	}
}
