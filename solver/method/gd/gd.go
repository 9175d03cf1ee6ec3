// Package gd is gradient descent for the leading eigenvector.
package gd

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Descent minimises g(x) = ¼‖M − xxᵀ‖²_F by gradient steps whose
// length adapts to the iterate (Algorithm 1 of the paper):
//
//	x⁺ = x − η/‖x‖² ∇g(x),  ∇g(x) = −Mx + ‖x‖²x,
//
// that is x⁺ = (1−η)x + η/‖x‖² Mx, from x₀ = Mz. On a matrix of rank one it
// is Heron's iteration for √λ. At the end λ = ‖x‖² and v = x/‖x‖.
//
// Near the solution the components along other eigenvectors shrink by the
// factor (1−η) + η·λ₂/λ₁ a pass: for η = ½ the method needs about twice the
// passes of the power method, in exchange for a value and a vector that come from the
// same iterate and a step that always keeps a part of the previous iterate.
type Descent struct {
	// Eta is the step size η in (0,1); 0 means ½.
	Eta float64
}

func (g Descent) Traits(int) method.Traits {
	t := method.Single("gd", 3, 360) // x, the next one, and the product
	t.Settings = []method.Setting{iterate.Eta(g.Eta)}
	t.With = func(v []float64) method.Method { return Descent{v[0]} }
	t.Indefinite, t.Paper = true, true
	t.Options = func(method.Workload) []method.Method { return []method.Method{Descent{}} }
	return t
}

func (g Descent) New(r method.Run) method.Recurrence {
	return &descent{iterate.TwoTerm{Arena: iterate.Arena(r), Paper: r.Paper}, iterate.Eta(g.Eta).Value}
}

// descent is the state of a run.
type descent struct {
	iterate.TwoTerm
	eta float64
}

func (d *descent) Absorb(y *mat.Dense) []method.RitzPair { return d.Advance(y, d.step) }

// step sets next to the iterate after x and fills in the paper's changes.
func (d *descent) step(c *method.RitzPair, x, mx, next []float64) {
	xx := d.Arena.Dot(x, x)
	a, b := 1-d.eta, d.eta/xx
	d.Arena.Combine(next, a, x, b, mx)
	if d.Paper {
		iterate.PaperChanges(d.Arena, c, x, xx, next)
	}
}
