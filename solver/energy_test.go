package solver_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// fewest returns the least number of leading values that capture the share energy of all of sigma.
func fewest(sigma []float64, energy float64) int {
	total, sum := 0.0, 0.0
	for _, s := range sigma {
		total += s * s
	}
	for i, s := range sigma {
		if sum += s * s; sum >= energy*total*(1-1e-12) {
			return i + 1
		}
	}
	return len(sigma)
}

// byEnergy factorises a with Energy and checks the result and its target against the dense SVD.
func byEnergy(t *testing.T, a *mat.Dense, set solver.Settings) *solver.Result {
	t.Helper()
	rows, cols := a.Dims()
	if set.Rank == 0 {
		set.Rank = min(rows, cols)
	}
	u := solver.NewDenseRows(rows, 1)
	set.Left = u
	res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
	k := len(res.Sigma)
	if _, c := res.Right.Dims(); c != k || u.Dense.RawMatrix().Cols != k || len(res.Residuals) != k {
		t.Fatalf("%d values, %d right and %d left vectors, %d residuals", k, c, u.Dense.RawMatrix().Cols, len(res.Residuals))
	}
	as := set
	as.Rank = k
	checkResult(t, a, as, res, u.Dense)
	want := solvertest.Singular(a)
	checkValues(t, res, want[:k], 1e-7)
	g := res.Target
	if least := fewest(want, set.Energy); k != min(least, set.Rank) || g == nil || g.Reached != (least <= set.Rank) {
		t.Errorf("%d triplets, target %+v; the dense SVD needs %d, at most %d", k, g, least, set.Rank)
	}
	if g.Share != set.Energy || g.Reached && res.Energy < set.Energy-1e-11 && res.Rank > 0 || g.Before > res.Energy || g.Error < 0 {
		t.Errorf("energy %v, target %+v", res.Energy, g)
	}
	fewer := 0.0 // the most that k−1 values may capture, given the bound of the result
	for _, s := range res.Sigma[:k-1] {
		fewer += math.Pow(max(s, res.Outside.Bound)/mat.Norm(a, 2), 2)
	}
	if g.Smallest && fewer >= set.Energy {
		t.Errorf("smallest, but fewer may capture %v: %+v, %+v", fewer, g, res.Outside)
	}
	return res
}

// spectra returns named lists of singular values.
func spectra() map[string][]float64 {
	decay, slow, flat, clusters := make([]float64, 40), make([]float64, 40), make([]float64, 40), make([]float64, 40)
	for i := range decay {
		decay[i] = math.Pow(0.8, float64(i))
		slow[i] = 1 / math.Sqrt(1+float64(i))
		flat[i] = 1 + 1e-3*float64(40-i)
		clusters[i] = math.Pow(2, -float64(i/5)) * (1 + 1e-5*float64(5-i%5))
	}
	return map[string][]float64{"decay": decay, "slow": slow, "flat": flat, "clusters": clusters, "deficient": decay[:12], "flat and deficient": flat[:12], "one": {3}}
}

// TestEnergy compares the number of triplets with the dense SVD, for several spectra, shares and methods.
func TestEnergy(t *testing.T) {
	for name, sigma := range spectra() {
		a := solvertest.WithValues(90, 45, 7, sigma...)
		for _, energy := range longtest.Pick([]float64{0.01, 0.5, 0.9, 0.99, 0.9999}, []float64{0.5, 0.99}) {
			methods := []method.Method{nil, block.Descent{}, lanczos.Krylov{Columns: 2}, lanczos.Krylov{Columns: 4, Basis: 24}, block.Descent{Columns: 8}}
			for _, m := range methods[:longtest.Pick(5, 2)] {
				if name == "clusters" && m == (block.Descent{Columns: 8}) {
					continue // telling the values of a cluster apart takes thousands of passes
				}
				t.Run(fmt.Sprintf("%s/%v/%+v", name, energy, m), func(t *testing.T) {
					res := byEnergy(t, a, solver.Settings{Energy: energy, Method: m})
					if res.Status != solver.Converged {
						t.Errorf("status %v", res.Status)
					}
					if !res.Target.Smallest {
						t.Errorf("target %+v of %v", res.Target, res.Energy)
					}
				})
			}
		}
	}
}

// TestEnergyOfRandomValues does so for random values, some of them repeated or tiny, and random shares.
func TestEnergyOfRandomValues(t *testing.T) {
	for seed := range longtest.Pick(uint64(400), 40) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 3 + r.IntN(28)
		sigma := make([]float64, 1+r.IntN(n))
		for i := range sigma {
			switch sigma[i] = math.Pow(10, -4*r.Float64()*r.Float64()); {
			case i > 0 && r.IntN(4) == 0:
				sigma[i] = sigma[i-1]
			case r.IntN(10) == 0:
				sigma[i] *= 1e-6
			}
		}
		a := solvertest.WithValues(n+r.IntN(40), n, seed, sigma...)
		rows, _ := a.Dims()
		set := solver.Settings{Energy: 1 - math.Pow(10, -4*r.Float64()), Rank: 1 + r.IntN(n), Seed: seed}
		if r.IntN(3) > 0 {
			set.Rank = n
		}
		set.Method = []method.Method{
			lanczos.Krylov{Columns: 1 + r.IntN(8)}, lanczos.Krylov{Columns: 2, Basis: 8 + r.IntN(20)}, block.Descent{}, momentum.Nesterov{},
		}[r.IntN(4)]
		t.Run(fmt.Sprintf("%d: %d×%d %+v share %v of at most %d", seed, rows, n, set.Method, set.Energy, set.Rank), func(t *testing.T) {
			byEnergy(t, a, set)
		})
	}
}

// TestEnergyOneByOne checks that every method, one-vector methods among them, continues until the share is reached.
func TestEnergyOneByOne(t *testing.T) {
	a := solvertest.WithValues(60, 30, 3, 9, 7, 5, 4, 3, 2, 1, 0.5, 0.1)
	for _, m := range all.Methods() {
		for _, set := range []solver.Settings{{}, {Operator: solver.Dilation}, {Deflation: solver.Plain}, {Stop: solver.StopPaper, Tol: 1e-10}} {
			if tr := m.Traits(9); set.Operator == solver.Dilation && !tr.Indefinite || set.Stop == solver.StopPaper && !tr.Paper {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v/%v/%v", m.Traits(1).Name, set.Operator, set.Deflation, set.Stop), func(t *testing.T) {
				set.Method, set.Energy = m, 0.9
				byEnergy(t, a, set)
				set.Rank = 3
				if res := byEnergy(t, a, set); res.Target.Reached || res.Target.Smallest {
					t.Errorf("target %+v with 3 triplets", res.Target)
				}
			})
		}
	}
}

// TestEnergySymmetric checks the operator Symmetric.
func TestEnergySymmetric(t *testing.T) {
	a := solvertest.Diagonal(20, 20, 10, 8, 6, 5, 4, 3, 2, 1, 1, 1, 1)
	byEnergy(t, a, solver.Settings{Energy: 0.8, Operator: solver.Symmetric})
	byEnergy(t, a, solver.Settings{Energy: 0.8, Operator: solver.Symmetric, Method: momentum.Nesterov{}})
}

// TestEnergyOfEqualValues checks that a share of equal values that falls between two numbers of
// triplets is reached to within rounding; which of the vectors comes last is undetermined.
func TestEnergyOfEqualValues(t *testing.T) {
	a := solvertest.Diagonal(12, 10, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2)
	for _, m := range []method.Method{lanczos.Krylov{Columns: 1}, lanczos.Krylov{Columns: 4}, block.Descent{Columns: 4}, momentum.Polyak{}} {
		res := byEnergy(t, a, solver.Settings{Energy: 0.5, Method: m})
		if len(res.Sigma) != 5 {
			t.Errorf("%+v: %d of 10 equal values for half of the energy", m, len(res.Sigma))
		}
	}
	res := byEnergy(t, solvertest.Diagonal(4, 4), solver.Settings{Energy: 0.9})
	if len(res.Sigma) != 1 || res.Sigma[0] != 0 || !res.Target.Reached {
		t.Errorf("zero matrix: %v, %+v", res.Sigma, res.Target)
	}
}

// TestEnergyUndecided checks that Smallest is false if residuals or the bound leave open whether one triplet fewer would do.
func TestEnergyUndecided(t *testing.T) {
	a := solvertest.WithValues(90, 45, 5, spectra()["slow"]...)
	set := solver.Settings{Energy: 0.7, Tol: 1e-3, Method: power.Iteration{}}
	plain := set
	plain.Deflation = solver.Plain
	if res := byEnergy(t, a, plain); res.Target.Smallest || res.Outside.Leading {
		t.Errorf("target %+v without evidence of what is outside: %+v", res.Target, res.Outside)
	}
	first := byEnergy(t, a, set)
	before, err := first.Target.Before, first.Target.Error
	if !first.Target.Smallest || err < 1e-8 {
		t.Fatalf("target %+v", first.Target)
	}
	set.Energy = before + err/2
	if res := byEnergy(t, a, set); len(res.Sigma) != len(first.Sigma) || res.Target.Smallest || !res.Target.Reached {
		t.Errorf("%d triplets, %+v", len(res.Sigma), res.Target)
	}
	set.Energy = before - err/2
	if res := byEnergy(t, a, set); len(res.Sigma) != len(first.Sigma)-1 || !res.Target.Smallest {
		t.Errorf("%d triplets, %+v", len(res.Sigma), res.Target)
	}
}

// TestEnergyPasses checks that the passes are at most two more than those of a run for the final k,
// and at most half of those of runs for 5, 10, 20, ….
func TestEnergyPasses(t *testing.T) {
	sigma := make([]float64, 200)
	for i := range sigma {
		sigma[i] = math.Pow(1+float64(i), -0.7)
	}
	a := solvertest.WithValues(500, 200, 1, sigma...)
	solve := func(set solver.Settings) *solver.Result {
		set.Method = lanczos.Krylov{Columns: 8}
		res, err := solver.SVD(t.Context(), newDense(a), set)
		if err != nil || res.Status != solver.Converged {
			t.Fatal(err)
		}
		return res
	}
	by := solve(solver.Settings{Energy: 0.9, Rank: 100})
	k := len(by.Sigma)
	once, anew := solve(solver.Settings{Rank: k}).Stats.Passes, 0
	for l := 5; ; l *= 2 {
		anew += solve(solver.Settings{Rank: min(l, 100)}).Stats.Passes
		if l >= k {
			break
		}
	}
	if p := by.Stats.Passes; k < 20 || p > once+2 || 2*p > anew {
		t.Errorf("%d passes for %d triplets, %d for as many at once, %d for 5, 10, …", p, k, once, anew)
	}
}

// TestEnergyInit checks that runs from given vectors, more or fewer than needed, converge to as many triplets as runs without.
func TestEnergyInit(t *testing.T) {
	a := solvertest.WithValues(80, 40, 2, spectra()["decay"]...)
	for _, m := range []method.Method{lanczos.Krylov{Columns: 2}, block.Descent{}, momentum.Nesterov{}} {
		for _, given := range []int{1, 3, 12} {
			first := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: given}))(t)
			res := byEnergy(t, a, solver.Settings{Energy: 0.9, Rank: 20, Method: m, Init: first.Right})
			if res.Status != solver.Converged || !res.Outside.Leading {
				t.Errorf("%+v, %d given: %v, %+v", m, given, res.Status, res.Outside)
			}
		}
	}
}

// TestEnergyResume checks that a run resumed from a checkpoint has the bits of an uninterrupted run.
func TestEnergyResume(t *testing.T) {
	a := solvertest.WithValues(80, 40, 2, spectra()["slow"]...)
	for _, m := range []method.Method{lanczos.Krylov{Columns: 2, Basis: 40}, block.Descent{Columns: 6}, momentum.Polyak{}} {
		checkResume(t, a, solver.Settings{Energy: 0.6, Rank: 30, Tol: 1e-6, Method: m}, 4)
	}
}

// TestEnergyPassLimit checks that a pass limit leaves a certified result, of fewer triplets than the share needs.
func TestEnergyPassLimit(t *testing.T) {
	a := solvertest.WithValues(80, 40, 2, spectra()["slow"]...)
	for _, m := range []method.Method{lanczos.Krylov{Columns: 2}, momentum.Nesterov{}, power.Iteration{}} {
		for limit := 1; limit < 12; limit++ { // few for 40 vectors
			u := solver.NewDenseRows(80, 1)
			// Methods of one vector find only the first triplet, within the tolerance.
			set := solver.Settings{Energy: 0.9, Rank: 40, Tol: 0.1, Method: m, MaxPasses: limit, Left: u, Deflation: solver.Plain}
			res, err := solver.SVD(t.Context(), newDense(a), set)
			if err != nil || res.Status != solver.PassLimit || res.Stats.Passes > limit || !res.Certified || res.Target == nil {
				t.Fatalf("%+v, limit %d: %+v, %v", m, limit, res, err)
			}
			set.Rank = len(res.Sigma)
			checkResult(t, a, set, res, u.Dense)
		}
	}
}

// TestEnergyMisuse checks that a share that is negative, at least 1 or NaN panics.
func TestEnergyMisuse(t *testing.T) {
	for _, energy := range []float64{-0.1, 1, 2, math.NaN(), math.Inf(1)} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("energy %v is accepted", energy)
				}
			}()
			_, _ = solver.SVD(t.Context(), newDense(solvertest.Diagonal(3, 3, 1)), solver.Settings{Rank: 3, Energy: energy})
		}()
	}
}

// TestEnergyBound checks that the bound allows for the dropped triplets, whose values are Ritz values and lie below the
// true ones.
func TestEnergyBound(t *testing.T) {
	for seed := range longtest.Pick(uint64(300), 60) {
		r := rand.New(rand.NewPCG(seed, 1))
		sigma := make([]float64, 10)
		for i := range sigma {
			sigma[i] = 1 - 1e-3*r.Float64()
		}
		a := solvertest.WithValues(10, 33, seed, sigma...)
		set := solver.Settings{Energy: 0.5, Rank: 10, Seed: seed, Tol: 1e-2, Method: lanczos.Krylov{Columns: 1, Basis: 8}}
		res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
		if k := len(res.Sigma); k < 10 && res.Outside.Bound < solvertest.Singular(a)[k]*(1-1e-12) {
			t.Errorf("seed %d: %+v of %.8g, next is %.8g", seed, res.Outside, res.Sigma, solvertest.Singular(a)[k])
		}
	}
}
