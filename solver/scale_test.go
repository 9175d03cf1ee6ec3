package solver_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
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

// times returns 2^p·a.
func times(a *mat.Dense, p int) *mat.Dense {
	b := mat.DenseCopyOf(a)
	b.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, p) }, b)
	return b
}

// everyMethod holds the methods with default settings.
var everyMethod = []method.Method{
	gd.Descent{}, power.Iteration{}, momentum.Polyak{}, momentum.Nesterov{}, momentum.NesterovGeneral{}, block.Descent{}, lanczos.Krylov{},
}

// TestSymmetricScale checks that the results of the symmetric operator agree at every scale, to the
// bit for powers of four. Iterates of length √σ do not scale exactly by two.
func TestSymmetricScale(t *testing.T) {
	a := rotated(solvertest.Diagonal(9, 9, 4, 3, 2, 1, 0.5), 2)
	whole := mat.NewDense(4, 4, []float64{9, 1, 2, 0, 1, 8, 0, 1, 2, 0, 7, 1, 0, 1, 1, 6})
	for _, m := range everyMethod {
		for _, c := range []struct {
			a      *mat.Dense
			powers []int
		}{{a, []int{-900, -134, 132, 600, 1000}}, {whole, []int{-1074, -1064, 1016}}} {
			n, _ := c.a.Dims()
			run := func(p int) (*solver.Result, *mat.Dense) {
				left := solver.NewDenseRows(n, 3)
				res, err := solver.SVD(t.Context(), newDense(times(c.a, p)), solver.Settings{
					Rank: 3, Method: m, Operator: solver.Symmetric, Left: left, MaxPasses: 100_000,
				})
				if err != nil {
					t.Fatalf("%s, 2^%d: %v", m.Traits(1).Name, p, err)
				}
				return res, left.Dense
			}
			want, wantU := run(0)
			for _, p := range c.powers {
				got, gotU := run(p)
				for i, s := range got.Sigma {
					if s != math.Ldexp(want.Sigma[i], p) {
						t.Errorf("%s, 2^%d: σ[%d] = %g, want %g", m.Traits(1).Name, p, i, s, math.Ldexp(want.Sigma[i], p))
					}
				}
				if w := math.Ldexp(want.Outside.Bound, p); got.Outside.Bound < w || got.Outside.Bound > w+math.SmallestNonzeroFloat64 {
					t.Errorf("%s, 2^%d: nothing outside beyond %g, want %g", m.Traits(1).Name, p, got.Outside.Bound, w)
				}
				if got.Status != solver.Converged || !mat.Equal(got.Right, want.Right) || !mat.Equal(gotU, wantU) ||
					!slices.Equal(got.Residuals, want.Residuals) || got.Stats.Passes != want.Stats.Passes {
					t.Errorf("%s, 2^%d: %v after %d passes, residuals %g, or the vectors differ", m.Traits(1).Name, p, got.Status, got.Stats.Passes, got.Residuals)
				}
			}
		}
	}
}

// TestScaledRefusals checks that errors name norms, entries and eigenvalues of the unscaled matrix.
func TestScaledRefusals(t *testing.T) {
	for _, c := range []struct {
		a    *mat.Dense
		want string
	}{
		{mat.NewDense(2, 2, []float64{0, 1e200, -1e200, 0}), "‖A‖ is 1.41e+200; entry (1, 0) is -1e+200 and entry (0, 1) is 1e+200, counted from 0: matrix is not symmetric"},
		{mat.NewDense(1, 1, []float64{-3e200}), "it has an eigenvalue of at most -3e+200: matrix is not positive semidefinite"},
	} {
		_, err := solver.SVD(t.Context(), newDense(c.a), solver.Settings{Rank: 1, Operator: solver.Symmetric})
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got %v, want … %s", err, c.want)
		}
	}
}

// TestScaledResume resumes runs on scaled matrices, and checks that the checkpoint of another scale
// is refused.
func TestScaledResume(t *testing.T) {
	a := solvertest.WithValues(20, 9, 5, 5, 4, 3, 1)
	for _, m := range everyMethod {
		for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
			if operator == solver.Dilation && !m.Traits(1).Indefinite {
				continue
			}
			for _, p := range longtest.Pick([]int{-900, 600}, []int{600}) {
				checkResume(t, times(a, p), solver.Settings{Rank: 3, Method: m, Operator: operator, Tol: 1e-6}, 3)
			}
		}
	}
	all := new(checkpoints)
	set := solver.Settings{Rank: 3, Method: power.Iteration{}, Checkpointer: all}
	must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
	set.Checkpointer = nil
	_, err := solver.SVD(t.Context(), newDense(times(a, 600)), resumedFrom(t, set, all.Saved[0]))
	if mismatch := new(solver.MismatchError); !errors.As(err, &mismatch) || mismatch.Setting != "shape" {
		t.Errorf("a checkpoint of another scale: %v", err)
	}
}

// TestScaledReports checks that events, and results of runs ended by a limit or by their context,
// are in the scale of the matrix.
func TestScaledReports(t *testing.T) {
	a := solvertest.WithValues(30, 12, 3, 5, 4, 3, 2, 1)
	for _, p := range []int{-1000, 900} {
		for _, m := range everyMethod {
			for _, limit := range []int{1, 3, 6} {
				var events [2][]float64
				var results [2]*solver.Result
				var cancelled [2]*solver.Result
				for i, d := range []*denseMatrix{newDense(a), newDense(times(a, p))} {
					set := solver.Settings{Rank: 3, Method: m, MaxPasses: limit, Observer: func(e solver.Event) error {
						events[i] = append(events[i], e.Sigma)
						return nil
					}}
					var err error
					results[i] = must.Get(solver.SVD(t.Context(), d, set))(t)
					ctx, cancel := context.WithCancel(t.Context())
					second := d.Passes + 2
					d.Hook = cancelAt(second, cancel)
					set.Observer, set.MaxPasses = nil, 0
					if cancelled[i], err = solver.SVD(ctx, d, set); err != nil || cancelled[i].Certified {
						t.Fatal(err, cancelled[i].Certified)
					}
					cancel()
				}
				for what, pair := range map[string][2][]float64{
					"events":    events,
					"values":    {results[0].Sigma, results[1].Sigma},
					"cancelled": {cancelled[0].Sigma, cancelled[1].Sigma},
				} {
					want := slices.Clone(pair[0])
					for i := range want {
						want[i] = math.Ldexp(want[i], p)
					}
					if !slices.Equal(pair[1], want) {
						t.Errorf("%s, 2^%d, %d passes: %s %g, want %g", m.Traits(1).Name, p, limit, what, pair[1], want)
					}
				}
				if cancelled[0].Energy != cancelled[1].Energy || !slices.Equal(results[0].Residuals, results[1].Residuals) {
					t.Errorf("%s, 2^%d, %d passes: energy or residuals differ", m.Traits(1).Name, p, limit)
				}
			}
		}
	}
}

// TestScaledInit starts from singular vectors of any length.
func TestScaledInit(t *testing.T) {
	a := solvertest.WithValues(30, 12, 3, 5, 4, 3, 2, 1)
	first := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 3}))(t)
	for _, p := range []int{-1060, -510, 0, 510, 1000, 1024} {
		for _, m := range everyMethod {
			set := solver.Settings{Rank: 3, Method: m, Init: times(first.Right, p)}
			q := min(1000, max(-1000, -p))
			res := must.Get(solver.SVD(t.Context(), newDense(times(a, q)), set))(t)
			if res.Status != solver.Converged || math.Abs(math.Ldexp(res.Sigma[0], -q)-5) > 1e-7 {
				t.Errorf("%s, vectors times 2^%d: %v, σ = %g", m.Traits(1).Name, p, res.Status, res.Sigma)
			}
		}
	}
}

// TestEigenScale checks that eigenvalues of the Gram operator scale as squares, and that squares out of range give ErrScale.
func TestEigenScale(t *testing.T) {
	a := solvertest.WithValues(20, 9, 5, 5, 4, 3, 1)
	run := func(p int) (*solver.EigenResult, error) {
		return solver.Eigen(t.Context(), solver.GramOf(newDense(times(a, p))), solver.Settings{Rank: 3})
	}
	want := must.Get(run(0))(t)
	for _, p := range []int{-490, -200, 200, 490} {
		got, err := run(p)
		if err != nil {
			t.Fatalf("2^%d: %v", p, err)
		}
		for i, v := range got.Values {
			if v != math.Ldexp(want.Values[i], 2*p) {
				t.Errorf("2^%d: λ[%d] = %g, want %g", p, i, v, math.Ldexp(want.Values[i], 2*p))
			}
		}
	}
	for _, p := range []int{-560, 520} {
		if _, err := run(p); !errors.Is(err, solver.ErrScale) {
			t.Errorf("2^%d: %v", p, err)
		}
	}
	// An operator without an exponent is applied unscaled.
	for _, f := range []float64{1e-150, 1e150} {
		_, err := solver.Eigen(t.Context(), explicitOperator{solvertest.Diagonal(5, 5, 3*f, 2*f, f)}, solver.Settings{Rank: 2})
		if !errors.Is(err, solver.ErrScale) {
			t.Errorf("values near %g: %v", f, err)
		}
	}
}
