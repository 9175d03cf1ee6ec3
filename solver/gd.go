package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// GradientDescent minimises g(x) = ¼‖M − xxᵀ‖²_F by gradient steps whose
// length adapts to the iterate (Algorithm 1 of the paper):
//
//	x⁺ = x − η/‖x‖² ∇g(x),  ∇g(x) = −Mx + ‖x‖²x,
//
// that is x⁺ = (1−η)x + η/‖x‖² Mx, from x₀ = Mz. On a matrix of rank one it
// is Heron's iteration for √λ. At the end λ = ‖x‖² and v = x/‖x‖.
//
// Near the solution the components along other eigenvectors shrink by the
// factor (1−η) + η·λ₂/λ₁ a pass: for η = ½ the method needs about twice the
// passes of Power, in exchange for a value and a vector that come from the
// same iterate and a step that never forgets the past altogether.
type GradientDescent struct {
	// Eta is the step size η in (0,1); 0 means ½.
	Eta float64
}

var _ Method = GradientDescent{}

// Name returns "gd".
func (GradientDescent) Name() string { return "gd" }

// Width returns 1: one vector at a time.
func (GradientDescent) Width(int) int { return 1 }

// Start implements Method.
func (g GradientDescent) Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence {
	n, _ := z.Dims()
	return &descent{arena: a, eta: g.step(), rule: rule, x: z, prev: a.Dense(n, 1)}
}

// Restore implements Method.
func (g GradientDescent) Restore(a *Arena, s State, rule StopRule) (Recurrence, error) {
	x, prev, started, err := s.pair(1)
	if err != nil {
		return nil, err
	}
	return &descent{arena: a, eta: g.step(), rule: rule, x: x, prev: prev, started: started}, nil
}

// fit implements fitter: an η that is said and the same one unsaid are no two
// methods.
func (g GradientDescent) fit(int) Method {
	g.Eta = g.step()
	return g
}

// step returns η.
func (g GradientDescent) step() float64 {
	if g.Eta == 0 {
		return 0.5
	}
	if !(g.Eta > 0 && g.Eta < 1) {
		panic("solver: step size of gradient descent must lie in (0,1)")
	}
	return g.Eta
}

// descent is the state of GradientDescent.
type descent struct {
	arena   *Arena
	eta     float64
	rule    StopRule
	x, prev *mat.Dense // next to be multiplied, and multiplied last
	started bool       // x is an iterate, no longer the start vector z
	cand    [1]Candidate
}

func (d *descent) Next() *mat.Dense { return d.x }

func (d *descent) Absorb(y *mat.Dense) []Candidate {
	x, mx, next := column(d.x), column(y), column(d.prev)
	c := d.arena.ritz(x, mx)
	if d.started {
		d.step(&c, x, mx, next)
	} else {
		d.arena.firstIterate(next, mx, d.rule)
		d.started = true
	}
	d.x, d.prev = d.prev, d.x
	d.cand[0] = c
	return d.cand[:]
}

// step sets next to the iterate after x and fills in the paper's changes.
func (d *descent) step(c *Candidate, x, mx, next []float64) {
	xx := d.arena.dot(x, x)
	a, b := 1-d.eta, d.eta/xx
	d.arena.combine(next, a, x, b, mx)
	if d.rule != StopPaper {
		return
	}
	nn := d.arena.dot(next, next)
	c.PaperValue = nn
	c.DeltaValue = math.Abs(nn - xx)
	c.DeltaVector = d.arena.distance(next, 1/math.Sqrt(nn), x, 1/math.Sqrt(xx))
}

// Vector returns the vector whose residual is known, or under the paper's
// rule the iterate after it, as Algorithm 1 does.
func (d *descent) Vector(dst []float64, _ int) {
	if d.rule == StopPaper {
		d.arena.normalise(dst, column(d.x))
		return
	}
	d.arena.normalise(dst, column(d.prev))
}

func (d *descent) Lock(int) bool { return false }

func (d *descent) Save() State {
	return State{Blocks: []*mat.Dense{d.x, d.prev}, Scalars: []float64{scalar(d.started)}}
}

// combine sets dst = f·x + g·y.
func (a *Arena) combine(dst []float64, f float64, x []float64, g float64, y []float64) {
	a.eachTile(len(x), reading(x, y).writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f*x[i] + g*y[i]
		}
	})
}

// firstIterate sets x0 = Mz, given mz, in the direction the paper starts in.
// Algorithms 1 and 2 take Mz itself; otherwise it is scaled such that
// ‖x0‖² = ‖Mz‖, an estimate of the value sought, which makes every iterate of
// gradient descent scale with √λ and hence the run independent of the scale of
// the matrix.
func (a *Arena) firstIterate(x0, mz []float64, rule StopRule) {
	f := 1.0
	if norm := a.norm2(mz); rule != StopPaper && norm > 0 {
		f = 1 / math.Sqrt(norm)
	}
	a.eachTile(len(mz), reading(mz).writing(x0), func(from, to int) {
		for i := from; i < to; i++ {
			x0[i] = f * mz[i]
		}
	})
}
