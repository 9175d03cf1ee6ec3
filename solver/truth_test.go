package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
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
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// exactResiduals returns the larger of both residuals of every triplet, computed with 200 bits.
func exactResiduals(a *mat.Dense, res *solver.Result, u *mat.Dense) []float64 {
	const bits = 200
	num := func(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }
	norm := func(at func(i int) (dot, minus *big.Float), n int) float64 {
		sum := num(0)
		for i := range n {
			x, y := at(i)
			x.Sub(x, y)
			sum.Add(sum, x.Mul(x, x))
		}
		f, _ := sum.Sqrt(sum).Float64()
		return f
	}
	rows, cols := a.Dims()
	out := make([]float64, len(res.Sigma))
	for k, sigma := range res.Sigma {
		s := num(sigma)
		right := norm(func(i int) (*big.Float, *big.Float) { // Av − σu
			dot := num(0)
			for j := range cols {
				dot.Add(dot, num(0).Mul(num(a.At(i, j)), num(res.Right.At(j, k))))
			}
			return dot, num(0).Mul(s, num(u.At(i, k)))
		}, rows)
		left := norm(func(j int) (*big.Float, *big.Float) { // Aᵀu − σv
			dot := num(0)
			for i := range rows {
				dot.Add(dot, num(0).Mul(num(a.At(i, j)), num(u.At(i, k))))
			}
			return dot, num(0).Mul(s, num(res.Right.At(j, k)))
		}, cols)
		out[k] = max(left, right) / res.Sigma[0]
	}
	return out
}

// TestResidualIsMeasured compares residuals of graded matrices with residuals computed with 200
// bits: they agree within a factor of 2 above the floor, which bounds the effect of rounding and is
// not added to the residual.
func TestResidualIsMeasured(t *testing.T) {
	const rows, cols, k = 24, 12, 8
	above, below := 0, 0
	seeds := longtest.Pick(uint64(24), 8)
	for seed := range seeds {
		sigma := make([]float64, cols)
		for i := range sigma {
			sigma[i] = math.Pow(10, -float64(i)*(0.3+float64(seed%8)/4))
		}
		a := solvertest.WithValues(rows, cols, seed, sigma...)
		for _, form := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
			for _, limit := range []int{6, 30, 2000} {
				left := solver.NewDenseRows(rows, k)
				set := solver.Settings{Rank: k, Method: power.Iteration{}, Operator: form, Left: left, Seed: seed, Tol: 1e-13, MaxPasses: limit}
				res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				truth := exactResiduals(a, res, left.Dense)
				for i, r := range res.Residuals {
					floor := res.Floor[i]
					if truth[i] > 2*r+floor || r > 2*truth[i]+floor {
						t.Errorf("seed %d, %v, %d passes: residual %d is %.3g, reported %.3g, floor %.3g", seed, form, limit, i, truth[i], r, floor)
					}
					if r > floor {
						above++
					} else {
						below++
					}
				}
			}
		}
	}
	if least := 100 * int(seeds) / 24; above < least || below < least {
		t.Errorf("%d residuals above their floor and %d below: the test does not test", above, below)
	}
}

// TestTinyValuesAreNoCluster has values far apart, near the precision of float64: the floors of
// their residuals do not make them a cluster.
func TestTinyValuesAreNoCluster(t *testing.T) {
	sigma := []float64{1, 1e-3, 1e-10, 1e-11, 1e-12}
	a := solvertest.WithValues(20, 10, 3, sigma...)
	res := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 5, Method: power.Iteration{}, Operator: solver.Dilation, Tol: 1e-12}))(t)
	if len(res.Clusters) > 0 {
		t.Errorf("σ = %.3g with residuals %.3g and floors %.3g: clusters %v", res.Sigma, res.Residuals, res.Floor, res.Clusters)
	}
	equal := solvertest.WithValues(20, 10, 3, 2, 2, 1)
	res = must.Get(solver.SVD(t.Context(), newDense(equal), solver.Settings{Rank: 3, Method: block.Descent{}}))(t)
	if !slices.Equal(res.Clusters, [][2]int{{0, 2}}) {
		t.Errorf("σ = %.17g: clusters %v", res.Sigma, res.Clusters)
	}
}

// poisoned is a matrix one pass of which writes a given NaN, infinite or too large number.
type poisoned struct {
	*denseMatrix
	at    int
	value float64
}

func (p *poisoned) spoil(x *mat.Dense) {
	if p.Passes == p.at {
		r, c := x.Dims()
		x.Set(r/2, c-1, p.value)
	}
}

func (p *poisoned) Run(ctx context.Context, pass solver.Pass) (solver.Cost, error) {
	if b := pass.RowsOut.Block; b != nil && pass.R != nil {
		pass.RowsOut = solver.Rows{Func: (&solver.DenseRows{Dense: b}).WriteRows}
	}
	if out := pass.RowsOut.Func; out != nil {
		pass.RowsOut.Func = func(first int64, rows *mat.Dense) error {
			if first == 0 {
				p.spoil(rows)
			}
			return out(first, rows)
		}
	}
	cost, err := p.denseMatrix.Run(ctx, pass)
	switch {
	case pass.R != nil && p.at%2 == 1:
		p.spoil(pass.R)
	case pass.Sum != nil:
		p.spoil(pass.Sum)
	}
	return cost, err
}

// TestPoisonedPasses writes NaN, infinite and huge numbers into every pass: the run returns
// one of four errors or finite values, and never panics.
func TestPoisonedPasses(t *testing.T) {
	tall := solvertest.WithValues(20, 12, 1, 5, 4, 3, 2, 1)
	square := rotated(solvertest.Diagonal(14, 14, 5, 4, 3, 2, 1), 1)
	for name, m := range methodsOfUsers {
		for _, form := range []solver.OperatorKind{solver.Gram, solver.Dilation, solver.Symmetric} {
			if form == solver.Dilation && !m.Traits(1).Indefinite {
				continue
			}
			for _, init := range []*mat.Dense{nil, solvertest.Random(12, 3, 1)} {
				t.Run(fmt.Sprint(name, " ", form, " ", init != nil), func(t *testing.T) {
					a := tall
					if form == solver.Symmetric {
						a = square
					}
					for _, value := range longtest.Pick([]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e200}, []float64{math.NaN(), 1e300}) {
						for at := 1; ; at++ {
							if at > 12 {
								at += at / 4
							}
							p := &poisoned{denseMatrix: newDense(a), at: at, value: value}
							set := solver.Settings{Rank: 7, Method: m, Operator: form, Init: init, Left: solver.NewDenseRows(20, 7), MaxPasses: 2000}
							if form == solver.Symmetric {
								set.Left = solver.NewDenseRows(14, 7)
							}
							res, err := solver.SVD(t.Context(), p, set)
							if p.Passes < at {
								break // the run had ended
							}
							known := errors.Is(err, solver.ErrBreakdown) || errors.Is(err, solver.ErrScale) ||
								errors.Is(err, solver.ErrNotSymmetric) || errors.Is(err, solver.ErrNotDefinite)
							if err != nil && !known {
								t.Errorf("%g in pass %d: %v", value, at, err)
							}
							if err != nil {
								continue
							}
							for i, s := range res.Sigma {
								if math.IsNaN(s) || math.IsInf(s, 0) || math.IsNaN(res.Residuals[i]) {
									t.Errorf("%g in pass %d: σ = %g, residuals %g, %v", value, at, res.Sigma, res.Residuals, res.Status)
									break
								}
							}
						}
					}
				})
			}
		}
	}
}

// TestCompletionIsMeasuredWithinPassLimit checks that a pass limit that ends a run before all triplets of a
// matrix of lower rank are found leaves a pass to measure the left vectors that complete the others.
func TestCompletionIsMeasuredWithinPassLimit(t *testing.T) {
	const n, k = 20, 9
	sigma := []float64{16, 8, 4, 2, 1, 0.5}
	q := solvertest.WithValues(n, n, 3, sigma...)
	var a mat.Dense
	a.Mul(q.T(), q) // semidefinite, of the same rank
	for _, op := range []solver.OperatorKind{solver.Gram, solver.Symmetric, solver.Dilation} {
		for _, m := range []method.Method{gd.Descent{}, power.Iteration{}, lanczos.Krylov{}, block.Descent{}} {
			if _, ok := m.(gd.Descent); op == solver.Dilation && !ok {
				continue
			}
			for _, limit := range []int{2, 3, 5, 8, 12, 30} {
				left := solver.NewDenseRows(n, k)
				res := must.Get(solver.SVD(t.Context(), newDense(&a), solver.Settings{
					Method: m, Operator: op, Rank: k, MaxPasses: limit, Seed: 6, Left: left,
				}))(t)
				if res.Stats.Passes > limit {
					t.Errorf("%s, operator %d, limit %d: %d passes", m.Traits(1).Name, op, limit, res.Stats.Passes)
				}
				for i, real := range exactResiduals(&a, res, left.Dense) {
					if res.Sigma[i] == 0 && (res.Residuals[i] > 4*real+1e-13 || real > 2*res.Residuals[i]+1e-14) {
						t.Errorf("%s, operator %d, limit %d: residual %d is %g, really %g", m.Traits(1).Name, op, limit, i, res.Residuals[i], real)
					}
				}
			}
		}
	}
}
