package momentum

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

var heap *tallskinny.Arena

func started(m NesterovGeneral, z *mat.Dense) *general {
	rec := m.New(method.Run{Rank: 1})
	rec.Start(z)
	return rec.(*general)
}

// TestSpectrumFromBelow checks that the estimates of the two largest eigenvalues never exceed them,
// for random vectors at any scale and angle.
func TestSpectrumFromBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1, 3), 2, 8).Draw(t, "values")
		n := len(values)
		g := mat.NewDense(n, n, nil)
		for i, v := range values {
			g.Set(i, i, v)
		}
		first, second := math.Inf(-1), math.Inf(-1)
		for _, v := range values {
			switch {
			case v > first:
				first, second = v, first
			case v > second:
				second = v
			}
		}
		var s spectrum
		draw := func() (x, mx *mat.Dense) {
			x, mx = mat.NewDense(n, 1, nil), new(mat.Dense)
			heap.Gaussian(x, 0, rapid.Uint64().Draw(t, "seed"), 1)
			x.Scale(math.Pow(10, rapid.Float64Range(-30, 30).Draw(t, "scale")), x)
			mx.Mul(g, x)
			return x, mx
		}
		y, my := draw()
		for range 10 {
			x, mx := draw()
			if rapid.Bool().Draw(t, "near") { // nearly dependent vectors
				x.Scale(math.Pow(10, rapid.Float64Range(-17, -1).Draw(t, "angle"))*mat.Norm(y, 2)/mat.Norm(x, 2), x)
				x.Add(x, y)
				mx.Mul(g, x)
			}
			s.observe(nil, tallskinny.Column(x), tallskinny.Column(mx), iterate.Ritz(heap, tallskinny.Column(x), tallskinny.Column(mx)).Value, tallskinny.Column(y), tallskinny.Column(my))
			y, my = x, mx
		}
		// The slack is for rounding; see observe.
		slack := 1e-7 + 0.02*(first-second)
		if s.first > max(first, 0)+1e-7 || s.second > max(second, 0)+slack {
			t.Errorf("estimates %.15g, %.15g, eigenvalues %.15g, %.15g", s.first, s.second, first, second)
		}
		if gap := s.gap(); !(gap >= 0 && gap <= 1) {
			t.Errorf("gap %g", gap)
		}
	})
}

// TestBestMomentum checks that the rate of the best β is 1 − √(ηγ), from the roots of the
// recurrence for all eigenvalues up to λ₂.
func TestBestMomentum(t *testing.T) {
	largest := func(p momentumParams, beta, gap float64) float64 {
		worst := 0.0
		for ratio := 0.0; ratio <= 1; ratio += 1.0 / 64 {
			c := 1 - p.eta*(1-ratio*(1-gap))
			trace, det := c+beta, beta
			if p.ahead {
				trace, det = c*(1+beta), c*beta
			}
			size := math.Sqrt(math.Abs(det))
			if d := trace*trace/4 - det; d > 0 {
				size = math.Abs(trace)/2 + math.Sqrt(d)
			}
			worst = max(worst, size)
		}
		return worst
	}
	for _, p := range []momentumParams{{eta: 0.5}, {eta: 0.2}, {eta: 0.5, ahead: true}, {eta: 0.2, ahead: true}} {
		for _, gap := range []float64{1, 0.5, 1e-1, 1e-2, 1e-4} {
			best := p.best(gap)
			rate := largest(p, best, gap)
			if want := 1 - math.Sqrt(p.eta*gap); math.Abs(rate-want) > 1e-6 {
				t.Errorf("%+v, gap %g: rate %g, want %g", p, gap, rate, want)
			}
			for beta := 0.0; beta < 1; beta += 0.01 {
				if largest(p, beta, gap) < rate-1e-6 {
					t.Errorf("%+v, gap %g: β = %g is better than %g", p, gap, beta, best)
				}
			}
		}
	}
}

// TestRestart sets iterates that momentum has carried through zero or turned away, and checks that
// the next step is a plain one.
func TestRestart(t *testing.T) {
	g := mat.NewDense(3, 3, []float64{4, 0, 0, 0, 1, 0, 0, 0, 0.5})
	for name, start := range map[string]struct {
		x, before []float64
		value     float64
	}{
		"through zero": {[]float64{2, 0.1, 0}, []float64{4.78, 0.1, 0}, 4},
		"turned away":  {[]float64{0.1, 0, 2}, []float64{0.1, 0, 1.9}, 16},
	} {
		for _, ahead := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", ahead), func(t *testing.T) {
				p := momentumParams{eta: 0.5, beta: 0.7, ahead: ahead}
				m := p.recurrence(method.Run{Rank: 1}).(*momentum)
				m.Start(mat.NewDense(3, 1, nil))
				m.T, m.value = 1000, start.value
				copy(tallskinny.Column(m.X), start.x)
				var my mat.Dense
				if ahead {
					// The step from here must fall short of the previous x.
					copy(tallskinny.Column(m.x), start.before)
				} else {
					copy(tallskinny.Column(m.Last), start.before)
				}
				my.Mul(g, m.X)
				want := make([]float64, 3)
				xx := heap.Dot(start.x, start.x)
				for i, v := range start.x {
					want[i] = 0.5*v + 0.5/xx*my.At(i, 0)
				}
				m.Absorb(&my)
				if d := heap.Distance(tallskinny.Column(m.Next()), 1, want, 1); d > 1e-14 || m.restarts != 1 {
					t.Errorf("next is %v after %d restarts, want %v", tallskinny.Column(m.Next()), m.restarts, want)
				}
			})
		}
	}
}

// TestGeneralStep compares the steps of the general scheme with the formulas of the appendix, from
// a point inside its region.
func TestGeneralStep(t *testing.T) {
	const n, eta, mu = 5, 1.0 / 6, 0.02
	g := mat.NewDense(n, n, nil)
	for i, v := range []float64{2, 1.8, 1, 0.5, 0} {
		g.Set(i, i, v)
	}
	x := mat.NewVecDense(n, []float64{math.Sqrt2, 0.01, 0.02, -0.01, 0.03})
	v, y := mat.VecDenseCopyOf(x), mat.VecDenseCopyOf(x)
	m := started(NesterovGeneral{Mu: mu}, mat.DenseCopyOf(x))
	m.T, m.inside, m.value, m.residual, m.seen = 1, true, 2, 1, spectrum{first: 2}
	copy(tallskinny.Column(m.x), x.RawVector().Data)
	copy(tallskinny.Column(m.v), x.RawVector().Data)
	alpha := math.Sqrt(mu / 9) // √(μ/2L), L = 9λ₁/2
	for range 200 {
		my := new(mat.Dense)
		my.Mul(g, m.Next())
		m.Absorb(my)
		var grad mat.VecDense
		grad.MulVec(g, y)
		grad.AddScaledVec(&grad, -mat.Dot(y, y), y)
		grad.ScaleVec(-1, &grad)
		x.AddScaledVec(y, -eta/mat.Dot(y, y), &grad)
		v.ScaleVec(1-alpha, v)
		v.AddScaledVec(v, alpha, y)
		v.AddScaledVec(v, -alpha/(mu*2), &grad)
		y.ScaleVec(1/(1+alpha), x)
		y.AddScaledVec(y, alpha/(1+alpha), v)
		if d := heap.Distance(tallskinny.Column(m.Next()), 1, y.RawVector().Data, 1); d > 1e-12 {
			t.Fatalf("differs by %g", d)
		}
	}
	if math.Abs(x.AtVec(0)-math.Sqrt2) > 1e-6 || !m.inside {
		t.Errorf("ended at %v", mat.Formatted(x.T()))
	}
}

// TestMisprint shows that the scheme does not converge with the weight of v printed in the main
// part of the paper, but does with that of the appendix.
func TestMisprint(t *testing.T) {
	const gap, eta = 1e-3, 1.0 / 6
	lambda := []float64{1, 1 - gap}
	run := func(weight func(root float64) float64) float64 {
		x := []float64{1, 1e-6}
		v := []float64{1, 1e-6}
		mu := 0.99 * gap / 4
		root := math.Sqrt(9 / mu)
		for range 2000 {
			w := weight(root)
			y := []float64{x[0] + w*(v[0]-x[0]), x[1] + w*(v[1]-x[1])}
			yy := y[0]*y[0] + y[1]*y[1]
			for i := range x {
				grad := yy*y[i] - lambda[i]*y[i]
				x[i] = y[i] - eta/yy*grad
				v[i] = (1-1/root)*v[i] + (y[i]-grad/mu)/root
			}
		}
		return math.Hypot(math.Abs(x[0])-1, x[1])
	}
	if d := run(func(root float64) float64 { return 1 / (1 + root) }); !(d < 1e-9) {
		t.Errorf("the scheme of the appendix ends at a distance of %g", d)
	}
	if d := run(func(root float64) float64 { return root / (1 + root) }); d < 1e-3 {
		t.Errorf("the scheme as printed converges after all: distance %g", d)
	}
}

// TestGeneralFallsBack runs the general scheme with a ρ for which it diverges: the run leaves it and converges.
func TestGeneralFallsBack(t *testing.T) {
	g := mat.NewDense(3, 3, []float64{1, 0, 0, 0, 0.99, 0, 0, 0, 0.5})
	z := mat.NewDense(3, 1, []float64{1, 0.1, 0.1})
	m := started(NesterovGeneral{Mu: 1e-4, Rho: 2}, z)
	entered := 0
	var c method.RitzPair
	for range 10_000 {
		var y mat.Dense
		y.Mul(g, m.Next())
		before := m.inside
		c = m.Absorb(&y)[0]
		if m.inside && !before {
			entered++
		}
	}
	if entered == 0 || entered > 10 || m.inside || c.Residual > 1e-12 {
		t.Errorf("entered %d times, inside %t, residual %g", entered, m.inside, c.Residual)
	}
}
