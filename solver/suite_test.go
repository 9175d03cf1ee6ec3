package solver_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// options adjust the suite to a method.
type options struct {
	// maxPasses is the number of passes within which the method must solve
	// every case; 0 means 200,000.
	maxPasses int
	// seeds is the number of seeds for the tests that run over many; 0 means
	// 2, in their long form 25.
	seeds int
	// narrow says that start vectors need not save passes: the method works with fewer vectors at a
	// time than it is given, or has few passes to save. It is set for methods that look for all
	// vectors in one space.
	narrow bool
	// operator is the operator of the runs, Gram or Dilation.
	operator solver.OperatorKind
	// many says that the method can find hundreds of triplets in little time.
	many bool
}

func init() { longtest.Rapid() }

// TestMethods runs the suite for every method with default settings, with the Gram operator and, if
// the method supports it, with the dilation.
func TestMethods(t *testing.T) { conformAll(t, all.Methods()) }

func conformAll(t *testing.T, methods []method.Method) {
	for _, m := range methods {
		about := m.Traits(1)
		t.Run(about.Name, func(t *testing.T) { conform(t, m, options{many: about.Width(2) > 1}) })
		if about.Indefinite {
			t.Run(about.Name+" in the dilation", func(t *testing.T) { conform(t, m, options{operator: solver.Dilation}) })
		}
	}
}

// TestMethodsWithSettings runs the suite for methods with other settings than the default.
func TestMethodsWithSettings(t *testing.T) {
	for name, m := range map[string]method.Method{
		"block/3 columns":              block.Descent{Columns: 3},
		"krylov/2 columns, basis of 7": lanczos.Krylov{Columns: 2, Basis: 7},
	} {
		t.Run(name, func(t *testing.T) { conform(t, m, options{}) })
	}
	if !longtest.On() {
		return
	}
	for name, m := range map[string]method.Method{
		"gd/0.9":                gd.Descent{Eta: 0.9},
		"polyak/0.6":            momentum.Polyak{Beta: 0.6},
		"nesterov/0.7":          momentum.Nesterov{Beta: 0.7},
		"nesterov-general/0.02": momentum.NesterovGeneral{Mu: 0.02},

		"block/one column":  block.Descent{Columns: 1},
		"block/8 columns":   block.Descent{Columns: 8},
		"block/one to help": block.Descent{Oversample: 1},

		"krylov/one column":             lanczos.Krylov{Columns: 1},
		"krylov/one column, basis of 6": lanczos.Krylov{Columns: 1, Basis: 6},
		"krylov/4 columns":              lanczos.Krylov{Columns: 4},
		"krylov/4 columns, basis of 8":  lanczos.Krylov{Columns: 4, Basis: 8},
		"krylov/3 columns, basis of 20": lanczos.Krylov{Columns: 3, Basis: 20},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, m, options{narrow: m == block.Descent{Oversample: 1}, many: m == lanczos.Krylov{Columns: 4}})
		})
	}
	t.Run("gd/0.25", func(t *testing.T) { conform(t, gd.Descent{Eta: 0.25}, options{}) })
	t.Run("gd/0.8 in the dilation", func(t *testing.T) { conform(t, gd.Descent{Eta: 0.8}, options{operator: solver.Dilation}) })
}

// conform checks that a method solves every hard case, is deterministic and invariant under
// scaling, returns true residuals at every pass limit, stops at limits and cancellation, and
// continues from its checkpoints.
func conform(t *testing.T, m method.Method, o options) {
	o.narrow = o.narrow || m.Traits(1).Copies > 0
	if o.maxPasses == 0 {
		o.maxPasses = 200_000
	}
	if o.seeds == 0 {
		o.seeds = longtest.Pick(25, 2)
	}
	s := suite{m, o}
	t.Run("cases", s.cases)
	t.Run("rerun is bit-identical", s.rerun)
	if o.operator == solver.Dilation && !longtest.On() {
		return
	}
	t.Run("left signs and no left", s.leftVariants)
	t.Run("scaling", s.scaling)
	t.Run("diagonal with zeros", s.diagonal)
	t.Run("random", s.random)
	if o.many {
		t.Run("many", s.many)
	}
	t.Run("pass limit", s.passLimit)
	t.Run("warm start", s.warmStart)
	t.Run("go further", s.goFurther)
	t.Run("events", s.events)
	t.Run("cancel", s.cancel)
	t.Run("deadline", s.deadline)
	t.Run("resume", s.resume)
	t.Run("faults", s.faults)
	t.Run("breakdown", s.breakdown)
}

type suite struct {
	method method.Method
	o      options
}

// solve runs SVD with left vectors kept.
func (s suite) solve(t testing.TB, a *mat.Dense, set solver.Settings) (*solver.Result, *mat.Dense) {
	t.Helper()
	set.Method, set.Operator = s.method, s.o.operator
	if set.MaxPasses == 0 {
		set.MaxPasses = s.o.maxPasses
	}
	rows, _ := a.Dims()
	left := solver.NewDenseRows(rows, set.Rank)
	set.Left = left
	d := newDense(a)
	res := must.Get(solver.SVD(t.Context(), d, set))(t)
	if res.Stats.Passes != d.Passes {
		t.Errorf("result counts %d passes, there were %d", res.Stats.Passes, d.Passes)
	}
	return res, left.Dense
}

func (s suite) cases(t *testing.T) {
	for _, c := range hardCases() {
		t.Run(c.Name, func(t *testing.T) {
			set := solver.Settings{Rank: c.K, Tol: c.Tol, Seed: 1}
			res, u := s.solve(t, c.A, set)
			checkResult(t, c.A, set, res, u)
			checkValues(t, res, c.Values(), c.Tol)
			if res.Rank != c.Rank {
				t.Errorf("rank %d, want %d (σ = %.3g)", res.Rank, c.Rank, res.Sigma)
			}
			if res.Status != solver.Converged && !(c.Unreachable && res.Status == solver.Stagnated) {
				t.Errorf("status %v after %d passes, residuals %.3g", res.Status, res.Stats.Passes, res.Residuals)
			}
		})
	}
}

func (s suite) leftVariants(t *testing.T) {
	for _, a := range []*mat.Dense{solvertest.Random(30, 8, 1), solvertest.Random(8, 30, 1), solvertest.WithValues(20, 10, 1, 3, 2)} {
		set := solver.Settings{Rank: 4, SignLeft: true}
		res, u := s.solve(t, a, set)
		checkResult(t, a, set, res, u)

		set = solver.Settings{Rank: 4, Method: s.method, Operator: s.o.operator, MaxPasses: s.o.maxPasses}
		bare := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
		checkResult(t, a, set, bare, nil)
		if !slices.Equal(bare.Sigma, res.Sigma) {
			t.Errorf("values depend on whether left vectors are kept:\n%v\n%v", bare.Sigma, res.Sigma)
		}
	}
}

func (s suite) rerun(t *testing.T) {
	a := solvertest.WithValues(40, 15, 3, 5, 4, 3, 2, 1)
	set := solver.Settings{Rank: 7, Seed: 9}
	res1, u1 := s.solve(t, a, set)
	res2, u2 := s.solve(t, a, set)
	if !slices.Equal(res1.Sigma, res2.Sigma) || !slices.Equal(res1.Residuals, res2.Residuals) ||
		!mat.Equal(res1.Right, res2.Right) || !mat.Equal(u1, u2) || res1.Stats.Passes != res2.Stats.Passes {
		t.Error("second run differs from the first")
	}
	set.Seed++
	if other, _ := s.solve(t, a, set); mat.Equal(other.Right, res1.Right) {
		t.Error("another seed gives the same bits: the seed is not used")
	}
}

// scaling multiplies matrices by powers of two, which changes no digit within the range of float64.
// Integer entries stay exact where float64 has few digits left. In the dilation some iterates have
// length √σ, which scales exactly by powers of four: there results for odd powers of two are
// compared with the first such result.
func (s suite) scaling(t *testing.T) {
	integers := solvertest.Random(30, 12, 5)
	integers.Apply(func(_, _ int, v float64) float64 { return math.Round(9 * v) }, integers)
	for name, c := range map[string]struct {
		a      *mat.Dense
		powers []int
	}{
		"reals":    {solvertest.WithValues(30, 12, 4, 7, 5, 4, 2, 1, 1e-3), []int{-900, -300, -134, -100, -21, -20, 20, 21, 100, 133, 301, 900, 1000}},
		"integers": {integers, []int{-1074, -1070, -1060, -1022, 1015}},
	} {
		set, wants, lefts := solver.Settings{Rank: 8}, map[int]*solver.Result{}, map[int]*mat.Dense{}
		times := func(p int) (*solver.Result, *mat.Dense) {
			b := mat.DenseCopyOf(c.a)
			b.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, p) }, b)
			return s.solve(t, b, set)
		}
		for i, p := range c.powers {
			if !longtest.On() && i%4 != 0 {
				continue
			}
			first := 0
			if s.o.operator == solver.Dilation {
				first = p & 1
			}
			if wants[first] == nil {
				wants[first], lefts[first] = times(first)
			}
			want, wantU := wants[first], lefts[first]
			got, gotU := times(p)
			if got.Stats.Passes != want.Stats.Passes {
				t.Errorf("%s times 2^%d: %d passes, want %d", name, p, got.Stats.Passes, want.Stats.Passes)
			}
			if !slices.Equal(got.Residuals, want.Residuals) || got.Energy != want.Energy {
				t.Errorf("%s times 2^%d: residuals %g, energy %g, want %g, %g", name, p, got.Residuals, got.Energy, want.Residuals, want.Energy)
			}
			if !mat.Equal(got.Right, want.Right) || !mat.Equal(gotU, wantU) {
				t.Errorf("%s times 2^%d: vectors differ", name, p)
			}
			for i, v := range got.Sigma {
				if w := math.Ldexp(want.Sigma[i], p-first); v != w {
					t.Errorf("%s times 2^%d: σ[%d] = %g, want %g", name, p, i, v, w)
				}
			}
		}
	}
}

func (s suite) diagonal(t *testing.T) {
	a := solvertest.Diagonal(9, 9, 1, 2, 3, 4, 5)
	for seed := range uint64(s.o.seeds) {
		for _, k := range []int{3, 5, 6, 9} {
			set := solver.Settings{Rank: k, Seed: seed}
			res, u := s.solve(t, a, set)
			checkResult(t, a, set, res, u)
			checkValues(t, res, []float64{5, 4, 3, 2, 1}, set.Tol)
			if res.Rank != min(k, 5) || res.Status != solver.Converged {
				t.Fatalf("seed %d, k %d: rank %d, %v", seed, k, res.Rank, res.Status)
			}
		}
	}
}

// random solves matrices of random shapes and geometric spectra.
func (s suite) random(t *testing.T) {
	for seed := range uint64(s.o.seeds) {
		rows, cols := 3+int(seed*7%31), 3+int(seed*13%17)
		sigma := make([]float64, min(rows, cols))
		for i := range sigma {
			sigma[i] = math.Pow(1.2+float64(seed%5)/3, -float64(i))
		}
		k := 1 + int(seed)%len(sigma)
		for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
			a := solvertest.WithValues(rows, cols, seed, sigma...)
			set := solver.Settings{Rank: k, Seed: seed, Deflation: d}
			res, u := s.solve(t, a, set)
			checkResult(t, a, set, res, u)
			checkValues(t, res, sigma, set.Tol)
			if res.Status != solver.Converged {
				t.Errorf("%d×%d, seed %d, k %d, %v: %v, residuals %.3g", rows, cols, seed, k, d, res.Status, res.Residuals)
			}
		}
	}
}

// many asks for 200 triplets, in the short form for 60, and for all triplets.
func (s suite) many(t *testing.T) {
	n, most := longtest.Pick(220, 66), longtest.Pick(200, 60)
	sigma := make([]float64, n)
	for i := range sigma {
		sigma[i] = math.Pow(0.97, float64(i))
	}
	for _, shape := range [][2]int{{n + 20, n}, {n, n + 20}} {
		a := solvertest.WithValues(shape[0], shape[1], 1, sigma...)
		for _, k := range []int{most, n} {
			set := solver.Settings{Rank: k}
			res, u := s.solve(t, a, set)
			checkResult(t, a, set, res, u)
			checkValues(t, res, sigma, set.Tol)
			if res.Status != solver.Converged || res.Rank != k {
				t.Errorf("%d×%d, k %d: %v, rank %d", shape[0], shape[1], k, res.Status, res.Rank)
			}
		}
	}
}

// warmStart starts from a finished run, which takes a few passes to confirm. A method that begins
// with one block mixes the given vectors into it and takes about the passes of the first run.
func (s suite) warmStart(t *testing.T) {
	a := solvertest.WithValues(30, 12, 6, 9, 7, 5, 3, 1, 0.5)
	set := solver.Settings{Rank: 4}
	first, _ := s.solve(t, a, set)
	set.Init = first.Right
	set.Seed = 77
	again, u := s.solve(t, a, set)
	checkResult(t, a, set, again, u)
	checkValues(t, again, []float64{9, 7, 5, 3}, set.Tol)
	most := max(6, first.Stats.Passes/2)
	if s.method.Traits(4).Copies > 0 {
		most = first.Stats.Passes + 1
	}
	if again.Status != solver.Converged || again.Stats.Passes > most {
		t.Errorf("from a finished run: %v after %d passes, the run had %d", again.Status, again.Stats.Passes, first.Stats.Passes)
	}
	// Useless start vectors do no harm: a zero vector and one in the null space.
	set.Init = mat.NewDense(12, 2, nil)
	b := solvertest.Diagonal(14, 12, 3, 2, 1)
	set.Init.Set(11, 1, 1)
	res, u := s.solve(t, b, set)
	checkResult(t, b, set, res, u)
	checkValues(t, res, []float64{3, 2, 1, 0}, set.Tol)
}

// goFurther checks that a start from the result for 4 triplets takes at most 1 + slack passes more than a start without it.
func (s suite) goFurther(t *testing.T) {
	const rows, cols = 60, 40
	sigma := make([]float64, cols)
	for i := range sigma {
		sigma[i] = math.Pow(0.9, float64(i))
	}
	a := solvertest.WithValues(rows, cols, 1, sigma...)
	from, _ := s.solve(t, a, solver.Settings{Rank: 4})
	var grown, shifted mat.Dense
	grown.Augment(a, solvertest.Random(rows, 1, 2)) // one more column
	grown.Scale(0.01, &grown)
	grown.Slice(0, rows, 0, cols).(*mat.Dense).Copy(a)
	shifted.Scale(1e-4, solvertest.Random(rows, cols, 3))
	shifted.Add(a, &shifted)
	narrow := mat.DenseCopyOf(from.Right.Slice(0, cols, 0, 2))
	for _, c := range []struct {
		name string
		a    *mat.Dense
		set  solver.Settings
		init *mat.Dense
		// slack is the number of further passes allowed: a block method searches for the other
		// triplets in as many passes as for all, and spends some on confirming the given ones.
		slack int
	}{
		{"more triplets", a, solver.Settings{Rank: 6}, from.Right, 3},
		{"fewer triplets", a, solver.Settings{Rank: 2}, from.Right, 0},
		{"half of them", a, solver.Settings{Rank: 4}, narrow, 3},
		{"smaller tolerance", a, solver.Settings{Rank: 4, Tol: 1e-11}, from.Right, 0},
		{"another matrix", &shifted, solver.Settings{Rank: 4}, from.Right, 0},
		{"a larger matrix", &grown, solver.Settings{Rank: 4}, from.Right, 0},
	} {
		for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
			c.set.Deflation, c.set.Init = d, nil
			cold, _ := s.solve(t, c.a, c.set)
			c.set.Init = c.init
			warm, u := s.solve(t, c.a, c.set)
			checkResult(t, c.a, c.set, warm, u)
			checkValues(t, warm, solvertest.Singular(c.a), c.set.Tol)
			if warm.Status != solver.Converged || !s.o.narrow && warm.Stats.Passes > cold.Stats.Passes+1+c.slack {
				t.Errorf("%s: %v after %d passes, %d without start vectors", c.name, warm.Status, warm.Stats.Passes, cold.Stats.Passes)
			}
		}
	}
}

// resume cancels and continues runs under every stop rule.
func (s suite) resume(t *testing.T) {
	for _, a := range []*mat.Dense{
		solvertest.WithValues(20, 10, 8, 4, 2, 1), // of rank 3
		solvertest.WithValues(9, 12, 5, 9, 8, 3, 2, 1, 0.5),
	} {
		for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
			for _, r := range []solver.StopRule{solver.StopResidual, solver.StopPaper} {
				limit := s.o.maxPasses
				if r == solver.StopPaper {
					limit = 100 // a block method never meets the paper's rule
				}
				checkResume(t, a, solver.Settings{
					Rank: 5, Method: s.method, Deflation: d, Stop: r, Tol: 1e-5, Seed: 3, MaxPasses: limit,
				}, longtest.Pick(8, 2))
			}
		}
		set := solver.Settings{Rank: 4, Method: s.method, Seed: 2, Tol: 1e-5, MaxPasses: s.o.maxPasses}
		first, _ := s.solve(t, a, set)
		full := first.Stats.Passes
		for limit := 1; limit < full; limit += 1 + full/longtest.Pick(7, 2) {
			set.MaxPasses = limit
			checkResume(t, a, set, 2)
		}
	}
}
