package solver

import (
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
	t.Options = func(w Workload) []Method {
		if w.Paper {
			return []Method{GradientDescent{}}
		}
		return nil
	}
	return t
}

// New implements Method.
func (g GradientDescent) New(r Run) Recurrence {
	return &descent{twoTerm{arena: r.Arena, paper: r.Paper}, etaSetting(g.Eta).Value}
}

// descent is the state of GradientDescent.
type descent struct {
	twoTerm
	eta float64
}

func (d *descent) Absorb(y *mat.Dense) []RitzPair { return d.advance(y, d.step) }

// step sets next to the iterate after x and fills in the paper's changes.
func (d *descent) step(c *RitzPair, x, mx, next []float64) {
	xx := d.arena.Dot(x, x)
	a, b := 1-d.eta, d.eta/xx
	d.arena.Combine(next, a, x, b, mx)
	if d.paper {
		paperChanges(d.arena, c, x, xx, next)
	}
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
