package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
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

// etaSetting is the step size of gradient descent and of what builds on it.
func etaSetting(eta float64) Setting {
	const preset = 0.5
	if eta == 0 {
		eta = preset // said and unsaid are no two methods
	}
	return Setting{Name: "eta", Help: "step size", Default: preset, High: 1, Value: eta}
}

// Traits implements Method.
func (g GradientDescent) Traits(int) Traits {
	t := Single("gd", 3, 360) // x, the next one, and the product
	t.Settings = []Setting{etaSetting(g.Eta)}
	t.With = func(v []float64) Method { return GradientDescent{v[0]} }
	t.Indefinite = true
	t.Candidates = func(w Workload) []Method {
		if w.Paper {
			return []Method{GradientDescent{}}
		}
		return nil
	}
	return t
}

// New implements Method.
func (g GradientDescent) New(r Run) Recurrence {
	return &descent{arena: r.Arena, eta: etaSetting(g.Eta).Value, paper: r.Paper}
}

// descent is the state of GradientDescent.
type descent struct {
	Alone
	arena   *Arena
	eta     float64
	paper   bool
	x, prev *mat.Dense // next to be multiplied, and multiplied last
	started bool       // x is an iterate, no longer the start vector z
	cand    [1]Candidate
}

func (d *descent) Start(z *mat.Dense) {
	n, _ := z.Dims()
	d.x, d.prev = z, d.arena.Dense(n, 1)
}

func (d *descent) State(s *State) {
	s.Tall("x", &d.x, 1)
	s.Tall("last", &d.prev, 1)
	s.Flag("started", &d.started)
}

func (d *descent) Free() { d.arena.Free(d.x, d.prev) }

func (d *descent) Next() *mat.Dense { return d.x }

func (d *descent) Absorb(y *mat.Dense) []Candidate {
	x, mx, next := tallskinny.Column(d.x), tallskinny.Column(y), tallskinny.Column(d.prev)
	c := ritz(d.arena, x, mx)
	if d.started {
		d.step(&c, x, mx, next)
	} else {
		firstIterate(d.arena, next, mx, d.paper)
		d.started = true
	}
	d.x, d.prev = d.prev, d.x
	d.cand[0] = c
	return d.cand[:]
}

// step sets next to the iterate after x and fills in the paper's changes.
func (d *descent) step(c *Candidate, x, mx, next []float64) {
	xx := d.arena.Dot(x, x)
	a, b := 1-d.eta, d.eta/xx
	d.arena.Combine(next, a, x, b, mx)
	if !d.paper {
		return
	}
	nn := d.arena.Dot(next, next)
	c.PaperValue = nn
	c.DeltaValue = math.Abs(nn - xx)
	c.DeltaVector = d.arena.Distance(next, 1/math.Sqrt(nn), x, 1/math.Sqrt(xx))
}

// Vector returns the vector whose residual is known, or under the paper's
// rule the iterate after it, as Algorithm 1 does.
func (d *descent) Vector(dst []float64, _ int) {
	if d.paper {
		d.arena.Normalise(dst, tallskinny.Column(d.x))
		return
	}
	d.arena.Normalise(dst, tallskinny.Column(d.prev))
}
