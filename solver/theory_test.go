package solver_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// The statements of the paper about gradient descent, checked under their assumptions: M is
// diagonal, so that u_i are the unit vectors, and x_t are the iterates of the method. TestHeron and
// TestCosine check two more statements.

// attraction is the region of the lemma of that name, for a start x₀.
type attraction struct {
	a, b float64
	tau  int
	tan  []float64 // |cos θ_i|/|cos θ₁| of x_τ
}

func region(lambda []float64, eta float64, x0 *mat.VecDense) attraction {
	first, last := lambda[0], lambda[len(lambda)-1]
	norm := mat.Norm(x0, 2)
	cos, rel := math.Abs(x0.AtVec(0))/norm, norm/math.Sqrt(first)
	return attraction{
		a:   2 * math.Sqrt(eta*(1-eta)) * max(cos, math.Sqrt(last/first)),
		b:   2*(1-eta) + math.Sqrt(eta/(1-eta))*min(1/cos, math.Sqrt(first/last)),
		tau: max(1, int(math.Ceil(4/(3*eta)*math.Log(((1-eta)*rel+eta/rel)/2)))),
	}
}

// eachIterate runs gradient descent on diagonal matrices, for several spectra,
// step sizes, starts and scales, and calls f with every x_t.
func eachIterate(t *testing.T, steps int, f func(t *testing.T, lambda []float64, eta float64, at attraction, s int, x *mat.VecDense)) {
	for _, lambda := range [][]float64{{2, 1}, {1, 0.99, 0.5, 1e-3}, {1e4, 9e3, 1e2, 1}, {3e-5, 2e-5, 1e-5}} {
		m := solvertest.Diagonal(len(lambda), len(lambda), lambda...)
		for _, eta := range []float64{0.1, 0.5, 0.9} {
			for seed := range uint64(20) {
				t.Run(fmt.Sprint(lambda, eta, seed), func(t *testing.T) {
					var at attraction
					drive(gd.Descent{Eta: eta}, solver.StopPaper, m, unit(len(lambda), 0, seed), steps+1, func(s int, x *mat.VecDense) {
						switch s--; s { // step 0 multiplies z
						case -1:
							return
						case 0:
							at = region(lambda, eta, x)
						}
						if s == at.tau {
							at.tan = ratios(x)
						}
						f(t, lambda, eta, at, s, x)
					})
				})
			}
		}
	}
}

// TestRegionOfAttraction checks the lemma of that name: a√σ₁ ≤ ‖x_t‖ for t > 1
// and ‖x_t‖ ≤ b√σ₁ for t > τ.
func TestRegionOfAttraction(t *testing.T) {
	eachIterate(t, 500, func(t *testing.T, lambda []float64, _ float64, at attraction, s int, x *mat.VecDense) {
		rel := mat.Norm(x, 2) / math.Sqrt(lambda[0])
		if s > 1 && rel < at.a*(1-1e-14) {
			t.Errorf("‖x_%d‖/√σ₁ = %.6g is less than a = %.6g", s, rel, at.a)
		}
		if s > at.tau && rel > at.b*(1+1e-14) {
			t.Errorf("‖x_%d‖/√σ₁ = %.6g is more than b = %.6g, τ = %d", s, rel, at.b, at.tau)
		}
	})
}

// ratios returns |cos θ_i|/|cos θ₁| for i > 1, and tan θ₁ in place of the first ratio.
func ratios(x *mat.VecDense) []float64 {
	r := make([]float64, x.Len())
	for i := range r {
		r[i] = math.Abs(x.AtVec(i) / x.AtVec(0))
	}
	r[0] = mat.Norm(x.SliceVec(1, x.Len()), 2) / math.Abs(x.AtVec(0))
	return r
}

// TestAlignmentRate checks the lemma that follows: from τ on the cosines to all other eigenvectors,
// and ‖x/‖x‖ − u₁‖·‖x/‖x‖ + u₁‖ = 2·sin θ₁, fall at linear rates. The lemma is printed without the
// constant of its proof: |cos θ_i|/|cos θ₁| falls at that rate, so the bounds include its value at
// τ. Without it a start nearly orthogonal to u₁ would be a counterexample.
func TestAlignmentRate(t *testing.T) {
	eachIterate(t, 500, func(t *testing.T, lambda []float64, eta float64, at attraction, s int, x *mat.VecDense) {
		if s < at.tau {
			return
		}
		rate := func(i int) float64 {
			q := eta * (1 - lambda[i]/lambda[0]) / ((1-eta)*at.b*at.b + eta)
			return math.Pow(1-q, float64(s-at.tau)) * (1 + 1e-12)
		}
		norm, now := mat.Norm(x, 2), ratios(x)
		for i := 1; i < len(lambda); i++ {
			if c, most := math.Abs(x.AtVec(i))/norm, rate(i)*at.tan[i]; c > most {
				t.Errorf("|cos θ_%d| = %.6g after %d steps, want at most %.6g", i+1, c, s, most)
			}
		}
		if sin, most := now[0]/math.Hypot(1, now[0]), rate(1)*at.tan[0]; sin > most {
			t.Errorf("sin θ₁ = %.6g after %d steps, want at most %.6g", sin, s, most)
		}
	})
}

// TestDeflationAccuracy checks the theorem on k triplets: with gaps of more than 2ε, gradient
// descent with plain deflation finds all values and vectors to ε if each search runs long enough,
// here until a step changes less than ε/k times the least relative gap, the argument of the
// theorem's logarithm.
func TestDeflationAccuracy(t *testing.T) {
	lambda := []float64{5, 4, 3.8, 2, 1.5, 1, 0.2}
	const k, leastGap, cond = 6, 0.05, 5.0
	m := solvertest.Diagonal(7, 7, lambda...)
	for _, eps := range []float64{1e-2, 1e-4, 1e-6} {
		for seed := range uint64(10) {
			res := must.Get(solver.Eigen(t.Context(), explicitOperator{m}, solver.Settings{
				Rank: k, Stop: solver.StopPaper, Deflation: solver.Plain, Tol: eps / k * leastGap / cond, Seed: seed,
			}))(t)
			for i := range k {
				if math.Abs(res.Values[i]-lambda[i]) > eps*lambda[i] {
					t.Errorf("ε = %g, seed %d: σ_%d = %.9g, want %g", eps, seed, i+1, res.Values[i], lambda[i])
				}
				v := mat.VecDenseCopyOf(res.Vectors.ColView(i))
				v.SetVec(i, math.Abs(v.AtVec(i))-1)
				if d := mat.Norm(v, 2); d > eps {
					t.Errorf("ε = %g, seed %d: vector %d is off by %.3g", eps, seed, i+1, d)
				}
			}
		}
	}
}

// TestRepeatedIntoSpan checks the remark on σ₁ = … = σ_i: x_t converges to length √σ₁ and into the
// span of the first i vectors, at the rate of the gap after σ_i.
func TestRepeatedIntoSpan(t *testing.T) {
	lambda := []float64{2, 2, 2, 1, 0.5}
	const copies, steps = 3, 120
	m := solvertest.Diagonal(5, 5, lambda...)
	for _, method := range []method.Method{gd.Descent{}, gd.Descent{Eta: 0.8}, power.Iteration{}, momentum.Nesterov{}, momentum.Polyak{}} {
		for seed := range uint64(20) {
			var x mat.VecDense
			drive(method, solver.StopPaper, m, unit(5, 0, seed), steps, func(_ int, at *mat.VecDense) { x.CloneFromVec(at) })
			norm, outside := mat.Norm(&x, 2), mat.Norm(x.SliceVec(copies, 5), 2)
			if outside > 1e-9*norm {
				t.Errorf("%s, seed %d: %.3g of the iterate lies outside the span", method.Traits(1).Name, seed, outside/norm)
			}
			if method != (power.Iteration{}) && math.Abs(norm/math.Sqrt2-1) > 1e-9 {
				t.Errorf("%s, seed %d: length %.12g, want √2", method.Traits(1).Name, seed, norm)
			}
		}
	}
}

// TestPaperRuleScale shows that the paper's start and stop rule depend on the units of the matrix,
// as they use absolute lengths and changes: x₀ = Mz is far from √σ₁ for large and for small M, and
// a large value has to settle to more digits. The residual rule with its start takes as many passes
// at every scale.
func TestPaperRuleScale(t *testing.T) {
	a := solvertest.WithValues(30, 12, 1, 3, 2.4, 1.9, 1.2, 1, 0.5)
	passes := func(scale float64, rule solver.StopRule) int {
		var scaled mat.Dense
		scaled.Scale(scale, a)
		res := must.Get(solver.Eigen(t.Context(), solver.GramOf(newDense(&scaled)), solver.Settings{Rank: 3, Stop: rule, Tol: 1e-8}))(t)
		for i, s := range []float64{3, 2.4, 1.9} {
			if off := math.Abs(math.Sqrt(res.Values[i])/(s*scale) - 1); off > 1e-10 {
				t.Errorf("%v rule, scale %g: σ_%d is off by %.3g", rule, scale, i+1, off)
			}
		}
		return res.Stats.Passes
	}
	const unit = 1 << 20
	if small, usual, large := passes(1.0/unit, solver.StopPaper), passes(1, solver.StopPaper), passes(unit, solver.StopPaper); usual >= small || usual >= large {
		t.Errorf("paper's rule: %d passes scaled down, %d as it is, %d scaled up; want the middle to be least", small, usual, large)
	}
	if small, usual, large := passes(1.0/unit, solver.StopResidual), passes(1, solver.StopResidual), passes(unit, solver.StopResidual); small != usual || usual != large {
		t.Errorf("residual rule: %d, %d, %d passes; want no difference", small, usual, large)
	}
}

// explicitOperator is the operator of a symmetric matrix.
type explicitOperator struct{ m *mat.Dense }

func (e explicitOperator) Dim() int { n, _ := e.m.Dims(); return n }

func (e explicitOperator) Apply(ctx context.Context, dst, x *mat.Dense) error {
	dst.Mul(e.m, x)
	return ctx.Err()
}
