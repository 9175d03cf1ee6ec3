package solver_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
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

// gradient returns ∇g(x) = −Mx + ‖x‖²x.
func gradient(m *mat.Dense, x *mat.VecDense) *mat.VecDense {
	var g mat.VecDense
	g.MulVec(m, x)
	g.AddScaledVec(&g, -mat.Dot(x, x), x)
	g.ScaleVec(-1, &g)
	return &g
}

// display runs the accelerated scheme as printed in the paper, from x₀ = Mz, and returns y₀, y₁, …
func display(m *mat.Dense, z *mat.VecDense, eta, beta float64, ahead bool, steps int) []*mat.VecDense {
	var x mat.VecDense
	x.MulVec(m, z)
	before := mat.VecDenseCopyOf(&x)
	var ys []*mat.VecDense
	for t := range steps {
		var change, y, next mat.VecDense
		change.SubVec(&x, before)
		b := beta
		if !ahead && float64(t) <= 100*beta {
			b = 0
		}
		alpha := 0.0
		if ahead {
			alpha = beta
		}
		y.AddScaledVec(&x, alpha, &change)
		next.AddScaledVec(&x, b, &change)
		next.AddScaledVec(&next, -eta/mat.Dot(&y, &y), gradient(m, &y))
		ys = append(ys, &y)
		before.CopyVec(&x)
		x.CopyVec(&next)
	}
	return ys
}

// TestDisplay compares every vector that a method multiplies with the scheme as printed in the
// paper.
func TestDisplay(t *testing.T) {
	const steps = 150
	for seed := range uint64(5) {
		g := gram(solvertest.WithValues(20, 8, seed, 1.2, 1.1, 0.9, 0.5, 0.1))
		for _, c := range []struct {
			method    method.Method
			eta, beta float64
			ahead     bool
		}{
			{momentum.Nesterov{Beta: 0.5}, 0.5, 0.5, true},
			{momentum.Nesterov{Eta: 0.3, Beta: 0.8}, 0.3, 0.8, true},
			{momentum.Polyak{Beta: 0.5}, 0.5, 0.5, false},
			{momentum.Polyak{Eta: 0.7, Beta: 0.9}, 0.7, 0.9, false},
		} {
			z := unit(8, 0, seed)
			want := display(g, z, c.eta, c.beta, c.ahead, steps)
			drive(c.method, solver.StopPaper, g, z, steps+1, func(s int, y *mat.VecDense) {
				if s == 0 {
					return // step 0 multiplies z itself
				}
				var d mat.VecDense
				d.SubVec(y, want[s-1])
				if norm := mat.Norm(&d, 2); norm > 1e-9 {
					t.Fatalf("%+v, seed %d: step %d differs from the display by %.3g", c.method, seed, s-1, norm)
				}
			})
		}
	}
}

// stepsTo counts the products until the sine of the angle to e₁ is at most 10⁻⁶.
func stepsTo(m method.Method, g *mat.Dense, limit int) int {
	n, _ := g.Dims()
	z := mat.NewDense(n, 1, nil)
	for i := range n {
		z.Set(i, 0, 1/math.Sqrt(float64(n)))
	}
	rec := solver.Started(m, method.Run{Rank: 1}, z)
	y, v := mat.NewDense(n, 1, nil), make([]float64, n)
	for t := range limit {
		y.Mul(g, rec.Next())
		rec.Absorb(y)
		rec.Vector(v, 0)
		v[0] = 0
		if mat.Norm(mat.NewVecDense(n, v), 2) <= 1e-6 {
			return t + 1
		}
	}
	return limit
}

// withGap returns a diagonal matrix with the eigenvalues 1, 1−gap, and smaller ones.
func withGap(gap float64) *mat.Dense {
	return solvertest.Diagonal(8, 8, 1, 1-gap, 0.8, 0.6, 0.4, 0.2, 0.1)
}

// slope is the slope of the least-squares line through (log x, log y).
func slope(x, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		lx, ly := math.Log(x[i]), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

// TestRates checks how the number of passes grows with the gap: as its inverse without momentum,
// and as its inverse root with the best β and with the automatic one, which must estimate the gap.
func TestRates(t *testing.T) {
	best := func(gap float64) float64 { q := math.Sqrt(gap / 2); return (1 - q) / (1 + q) }
	for _, c := range []struct {
		name   string
		method func(gap float64) method.Method
		want   float64
	}{
		{"gd", func(float64) method.Method { return gd.Descent{} }, -1},
		{"power", func(float64) method.Method { return power.Iteration{} }, -1},
		{"nesterov, best β", func(gap float64) method.Method { return momentum.Nesterov{Beta: best(gap)} }, -0.5},
		{"nesterov", func(float64) method.Method { return momentum.Nesterov{} }, -0.5},
		{"nesterov, η = 0.3", func(float64) method.Method { return momentum.Nesterov{Eta: 0.3} }, -0.5},
		{"polyak", func(float64) method.Method { return momentum.Polyak{} }, -0.5},
	} {
		var gaps, steps []float64
		for e := 4; e <= 12; e += 2 { // the paper's gaps are 10^(−e/4)
			gap := math.Pow(10, -float64(e)/4)
			gaps = append(gaps, gap)
			steps = append(steps, float64(stepsTo(c.method(gap), withGap(gap), 1_000_000)))
		}
		if s := slope(gaps, steps); math.Abs(s-c.want) > 0.1 {
			t.Errorf("%s: passes %v grow with the gap to the power of %.2f, want %g", c.name, steps, s, c.want)
		}
	}
}

// TestLocalRate checks the rate of the general scheme with the true gap close to the solution,
// where the theorem applies: passes per digit grow as the inverse root of the gap.
func TestLocalRate(t *testing.T) {
	var gaps, steps []float64
	for e := 4; e <= 12; e += 2 {
		gap := math.Pow(10, -float64(e)/4)
		g := withGap(gap)
		z := mat.NewDense(8, 1, []float64{1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3})
		rec := solver.Started(momentum.NesterovGeneral{Mu: 0.24 * gap}, method.Run{Rank: 1}, z)
		y, v := mat.NewDense(8, 1, nil), make([]float64, 8)
		count := 0
		for angle := 1.0; angle > 1e-9; count++ {
			y.Mul(g, rec.Next())
			rec.Absorb(y)
			rec.Vector(v, 0)
			v[0] = 0
			angle = mat.Norm(mat.NewVecDense(8, v), 2)
		}
		// The theorem bounds the angle by (1−√(gap/36))^(t/2).
		if bound := 2 * math.Log(1e9) / math.Sqrt(0.96*gap/36); float64(count) > bound {
			t.Errorf("gap %.2g: %d passes, the theorem allows %.0f", gap, count, bound)
		}
		gaps, steps = append(gaps, gap), append(steps, float64(count))
	}
	if s := slope(gaps, steps); math.Abs(s+0.5) > 0.1 {
		t.Errorf("passes %v grow with the gap to the power of %.2f, want −½", steps, s)
	}
}

// TestAutomaticMomentum compares the automatic β with the best fixed one.
func TestAutomaticMomentum(t *testing.T) {
	geometric := make([]float64, 40)
	slow := make([]float64, 40)
	for i := range geometric {
		geometric[i] = math.Pow(0.9, float64(i))
		slow[i] = 1 / math.Sqrt(float64(i+1))
	}
	for name, sigma := range map[string][]float64{"geometric": geometric, "slow": slow} {
		for seed := range longtest.Pick(uint64(3), 1) {
			a := solvertest.WithValues(60, 45, seed, sigma...)
			passes := func(m method.Method) int {
				res, err := solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 6, Seed: seed, Method: m})
				if err != nil || res.Status != solver.Converged {
					t.Fatalf("%v, %v", res.Status, err)
				}
				return res.Stats.Passes
			}
			bestNesterov, bestPolyak := math.MaxInt, math.MaxInt
			for beta := 0.1; beta < 0.99; beta += 0.05 {
				bestNesterov = min(bestNesterov, passes(momentum.Nesterov{Beta: beta}))
				bestPolyak = min(bestPolyak, passes(momentum.Polyak{Beta: beta}))
			}
			if got := passes(momentum.Nesterov{}); float64(got) > 1.25*float64(bestNesterov) {
				t.Errorf("%s, seed %d: nesterov takes %d passes, the best fixed β %d", name, seed, got, bestNesterov)
			}
			if got := passes(momentum.Polyak{}); float64(got) > 1.25*float64(bestPolyak) {
				t.Errorf("%s, seed %d: polyak takes %d passes, the best fixed β %d", name, seed, got, bestPolyak)
			}
		}
	}
}

// TestMomentumSettles runs the automatic methods from many starts on matrices of rank two: the gap
// is known after two steps, and momentum is at its largest long before the length of the iterate
// has settled. A heavy ball that goes around zero then ends at the second eigenvector.
func TestMomentumSettles(t *testing.T) {
	for _, m := range []method.Method{momentum.Polyak{}, momentum.Nesterov{}} {
		for _, gap := range []float64{1e-2, 1e-3, 1e-4, 1e-5} {
			op := diagonal{100, []float64{1, 1 - gap}}
			for seed := range longtest.Pick(uint64(40), 2) {
				res := must.Get(solver.Eigen(t.Context(), op, solver.Settings{Rank: 1, Method: m, Seed: seed, MaxPasses: 20_000}))(t)
				if res.Status != solver.Converged || math.Abs(res.Values[0]-1) > gap/100 {
					t.Errorf("%s, gap %g, seed %d: %v with %.9g after %d passes, want 1", m.Traits(1).Name, gap, seed, res.Status, res.Values[0], res.Stats.Passes)
				}
			}
		}
	}
}

// diagonal is the diagonal matrix of order n with the given values, followed by zeros.
type diagonal struct {
	n      int
	values []float64
}

func (d diagonal) Dim() int { return d.n }

func (d diagonal) Apply(ctx context.Context, dst, x *mat.Dense) error {
	dst.Zero()
	for i, v := range d.values {
		row := dst.RawRowView(i)
		copy(row, x.RawRowView(i))
		floats.Scale(v, row)
	}
	return ctx.Err()
}

var accelerated = []method.Method{
	momentum.Polyak{}, momentum.Polyak{Beta: 0.8}, momentum.Nesterov{}, momentum.Nesterov{Beta: 0.95}, momentum.Nesterov{Eta: 0.9},
	momentum.NesterovGeneral{}, momentum.NesterovGeneral{Rho: 50},
}

func TestAcceleratedParameters(t *testing.T) {
	nan := math.NaN()
	for _, m := range []method.Method{
		momentum.Polyak{Eta: 1}, momentum.Polyak{Eta: nan}, momentum.Polyak{Beta: -0.1}, momentum.Polyak{Beta: 1}, momentum.Polyak{Beta: nan},
		momentum.Nesterov{Eta: -1}, momentum.Nesterov{Beta: -0.1}, momentum.Nesterov{Beta: 1}, momentum.Nesterov{Beta: nan},
		momentum.Nesterov{Eta: 0.9, Beta: 0.2}, // the length of the iterates would not settle
		momentum.NesterovGeneral{Mu: -1}, momentum.NesterovGeneral{Mu: 0.25}, momentum.NesterovGeneral{Mu: nan},
		momentum.NesterovGeneral{Rho: 1}, momentum.NesterovGeneral{Rho: -3}, momentum.NesterovGeneral{Rho: nan}, momentum.NesterovGeneral{Rho: math.Inf(1)},
	} {
		if err := m.Traits(1).Check(); err == nil {
			t.Errorf("%T%+v is allowed", m, m)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("a run with %T%+v does not panic", m, m)
				}
			}()
			_, _ = solver.Eigen(t.Context(), falling(4), solver.Settings{Rank: 1, Method: m})
		}()
	}
}
