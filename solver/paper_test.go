package solver_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// gram returns AᵀA as an explicit matrix.
func gram(a *mat.Dense) *mat.Dense {
	var g mat.Dense
	g.Mul(a.T(), a)
	return &g
}

// unit returns the start vector of triplet l that the solver draws.
func unit(n, l int, seed uint64) *mat.VecDense {
	z := mat.NewDense(n, 1, nil)
	solver.Gaussian(z, 0, seed, uint64(l))
	v := mat.NewVecDense(n, z.RawMatrix().Data)
	v.ScaleVec(1/mat.Norm(v, 2), v)
	return v
}

// algorithm1 runs Algorithm 1 of the paper on an explicit matrix, line by line.
func algorithm1(m *mat.Dense, k int, eta, eps float64, seed uint64) (values []float64, vectors []*mat.VecDense, products int) {
	m = mat.DenseCopyOf(m)
	n, _ := m.Dims()
	for l := range k {
		x, mx, grad, next := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		x.MulVec(m, unit(n, l, seed))
		products++
		epsValue, epsVector := 2*eps, 2*eps
		for epsValue > eps || epsVector > eps {
			norm := mat.Norm(x, 2)
			mx.MulVec(m, x)
			products++
			grad.AddScaledVec(mx, -norm*norm, x) // −∇g
			next.AddScaledVec(x, eta/(norm*norm), grad)
			nextNorm := mat.Norm(next, 2)
			var d, u mat.VecDense
			u.ScaleVec(1/norm, x)
			d.ScaleVec(1/nextNorm, next)
			d.SubVec(&d, &u)
			epsVector = mat.Norm(&d, 2)
			epsValue = math.Abs(nextNorm*nextNorm - norm*norm)
			x.CopyVec(next)
		}
		norm := mat.Norm(x, 2)
		u := mat.NewVecDense(n, nil)
		u.ScaleVec(1/norm, x)
		values, vectors = append(values, norm*norm), append(vectors, u)
		m.RankOne(m, -norm*norm, u, u)
	}
	return values, vectors, products
}

// algorithm2 runs Algorithm 2 of the paper on an explicitly deflated matrix.
func algorithm2(m *mat.Dense, k int, eps float64, seed uint64) (values []float64, vectors []*mat.VecDense, products int) {
	m = mat.DenseCopyOf(m)
	n, _ := m.Dims()
	for l := range k {
		x, mx := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
		x.MulVec(m, unit(n, l, seed))
		mx.MulVec(m, x)
		products += 2
		epsValue, epsVector := 2*eps, 2*eps
		for epsValue > eps || epsVector > eps {
			var next, d mat.VecDense
			norm := mat.Norm(mx, 2)
			next.ScaleVec(1/norm, mx)
			d.SubVec(&next, x)
			epsVector = mat.Norm(&d, 2)
			x.CopyVec(&next)
			mx.MulVec(m, x)
			products++
			epsValue = math.Abs(mat.Norm(mx, 2) - norm)
		}
		value := mat.Norm(mx, 2)
		values, vectors = append(values, value), append(vectors, mat.VecDenseCopyOf(x))
		m.RankOne(m, -value, x, x)
	}
	return values, vectors, products
}

// TestAlgorithms compares the values, vectors and numbers of products of the methods with the
// algorithms of the paper as printed.
func TestAlgorithms(t *testing.T) {
	const k, eps = 4, 1e-8
	for seed := range uint64(5) {
		a := solvertest.WithValues(30, 12, seed, 3, 2.4, 1.9, 1.2, 1, 0.5)
		for _, c := range []struct {
			method method.Method
			run    func() ([]float64, []*mat.VecDense, int)
		}{
			{gd.Descent{}, func() ([]float64, []*mat.VecDense, int) { return algorithm1(gram(a), k, 0.5, eps, seed) }},
			{gd.Descent{Eta: 0.8}, func() ([]float64, []*mat.VecDense, int) { return algorithm1(gram(a), k, 0.8, eps, seed) }},
			{power.Iteration{}, func() ([]float64, []*mat.VecDense, int) { return algorithm2(gram(a), k, eps, seed) }},
		} {
			t.Run(fmt.Sprintf("%s/%d", c.method.Traits(1).Name, seed), func(t *testing.T) {
				values, vectors, products := c.run()
				res := must.Get(solver.Eigen(t.Context(), solver.GramOf(newDense(a)), solver.Settings{
					Rank: k, Method: c.method, Stop: solver.StopPaper, Deflation: solver.Plain, Tol: eps, Seed: seed,
				}))(t)
				// Close to the threshold rounding may add or save a step.
				if got := res.Stats.Passes - 1; got < products-k || got > products+k {
					t.Errorf("%d products, the algorithm takes %d", got, products)
				}
				if res.Status != solver.Converged {
					t.Errorf("status %v", res.Status)
				}
				for i, v := range values {
					if math.Abs(res.Values[i]-v) > 1e-9 {
						t.Errorf("λ[%d] = %.15g, the algorithm finds %.15g", i, res.Values[i], v)
					}
					if c := math.Abs(mat.Dot(res.Vectors.ColView(i), vectors[i])); c < 1-1e-12 {
						t.Errorf("vector %d has cosine %.15g with the algorithm's", i, c)
					}
				}
			})
		}
	}
}

// drive runs the given number of steps of a method on an explicit matrix and hands every vector to
// be multiplied to f.
func drive(m method.Method, rule solver.StopRule, g *mat.Dense, z *mat.VecDense, steps int, f func(t int, x *mat.VecDense)) {
	n, _ := g.Dims()
	rec := solver.Started(m, method.Run{Rank: 1, Paper: rule == solver.StopPaper}, mat.NewDense(n, 1, mat.Col(nil, 0, z)))
	y := mat.NewDense(n, 1, nil)
	for t := range steps {
		x := rec.Next()
		f(t, mat.NewVecDense(n, mat.Col(nil, 0, x)))
		y.Mul(g, x)
		rec.Absorb(y)
	}
}

// TestHeron checks the proposition on matrices of rank one: ‖x_t‖ follows
// Heron's iteration for √λ, so ε_{t+1} ≤ min(ε_t², ε_t)/2 for t ≥ 1.
func TestHeron(t *testing.T) {
	for seed := range uint64(10) {
		for _, lambda := range []float64{1e-4, 1, 3, 1e5} {
			g := gram(solvertest.WithValues(9, 9, seed, math.Sqrt(lambda)))
			last := math.Inf(1)
			drive(gd.Descent{}, solver.StopPaper, g, unit(9, 0, seed), 60, func(s int, x *mat.VecDense) {
				eps := mat.Norm(x, 2)/math.Sqrt(lambda) - 1
				// Step 0 multiplies z, step 1 is x₀, step 2 is x₁.
				const rounding = 1e-14
				if s >= 3 && (eps < -rounding || eps > min(last*last, last)/2+rounding) {
					t.Errorf("λ = %g, seed %d: ε = %.3g after %.3g", lambda, seed, eps, last)
				}
				last = eps
			})
			if math.Abs(last) > 1e-14 {
				t.Errorf("λ = %g, seed %d: ε = %.3g at the end", lambda, seed, last)
			}
		}
	}
}

// TestCosine checks that the angle to the leading eigenvector never grows.
func TestCosine(t *testing.T) {
	for _, m := range []method.Method{gd.Descent{}, gd.Descent{Eta: 0.9}, gd.Descent{Eta: 0.1}, power.Iteration{}} {
		for seed := range uint64(10) {
			a := solvertest.WithValues(15, 10, seed, 3, 2.9, 2, 1, 0.1)
			var svd mat.SVD
			var v mat.Dense
			svd.Factorize(a, mat.SVDThin)
			svd.VTo(&v)
			last := 0.0
			drive(m, solver.StopResidual, gram(a), unit(10, 0, seed), 2000, func(s int, x *mat.VecDense) {
				cos := math.Abs(mat.Dot(x, v.ColView(0))) / mat.Norm(x, 2)
				if cos < last-1e-14 {
					t.Errorf("%s, seed %d, step %d: cosine %.15g after %.15g", m.Traits(1).Name, seed, s, cos, last)
				}
				last = cos
			})
			if last < 0.99 {
				t.Errorf("%s, seed %d: cosine %g at the end", m.Traits(1).Name, seed, last)
			}
		}
	}
}

// TestEnds runs the rules and the deflation of the paper on every hard case: each run ends before
// the pass limit with a certificate that passes checkResult. With the residual rule it converges.
func TestEnds(t *testing.T) {
	for n, c := range hardCases() {
		end := func(m method.Method, d solver.Deflation, rule solver.StopRule) {
			t.Run(fmt.Sprintf("%s/%T%+v/%v/%v", c.Name, m, m, d, rule), func(t *testing.T) {
				rows, _ := c.A.Dims()
				left := solver.NewDenseRows(rows, c.K)
				set := solver.Settings{Rank: c.K, Method: m, Deflation: d, Stop: rule, Left: left, Tol: c.Tol, MaxPasses: 300_000}
				res := must.Get(solver.SVD(t.Context(), newDense(c.A), set))(t)
				checkResult(t, c.A, set, res, left.Dense)
				if res.Status == solver.PassLimit || rule == solver.StopResidual && res.Status != solver.Converged && !(c.Unreachable && res.Status == solver.Stagnated) {
					t.Errorf("%v after %d passes: residuals %.2g", res.Status, res.Stats.Passes, res.Residuals)
				}
			})
		}
		rules := []solver.StopRule{solver.StopResidual, solver.StopPaper}
		for i, m := range longtest.Pick(accelerated, []method.Method{momentum.Polyak{}, momentum.NesterovGeneral{}}) {
			for j, rule := range rules {
				if longtest.On() || (i+j+n)%2 == 0 {
					end(m, solver.Plain, rule)
				}
			}
		}
		for i, m := range []method.Method{gd.Descent{}, power.Iteration{}} {
			for j, rule := range rules {
				if longtest.On() || i != j {
					end(m, solver.Plain, rule)
				}
			}
			if longtest.On() || i == 0 {
				end(m, solver.Projected, solver.StopPaper)
			}
		}
	}
}
