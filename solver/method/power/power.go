// Package power is the power method for the leading eigenvector.
package power

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Iteration is the power method (Algorithm 2 of the paper):
//
//	x⁺ = Mx/‖Mx‖  from x₀ = Mz,
//
// with λ = ‖Mx‖ and v = x at the end. The components along other eigenvectors
// shrink by the factor λ₂/λ₁ a pass.
//
// Under solver.StopResidual the value is the Rayleigh quotient θ of x, for which the
// residual ‖Mx − θx‖ is smallest.
type Iteration struct{}

func (Iteration) Traits(int) method.Traits {
	t := method.Single("power", 3, 180) // x, the next one, and the product
	t.With = func([]float64) method.Method { return Iteration{} }
	t.Indefinite = true
	t.Options = func(method.Workload) []method.Method { return []method.Method{Iteration{}} }
	return t
}

func (Iteration) New(r method.Run) method.Recurrence {
	p := &power{TwoTerm: iterate.TwoTerm{Arena: iterate.Arena(r), Paper: r.Paper}, delta: math.Inf(1)}
	if r.Indefinite {
		return &shifted{power: p}
	}
	return p
}

// power is the state of Iteration.
type power struct {
	iterate.TwoTerm
	delta float64 // ‖x − last‖, +Inf if x is the first iterate
	norm  float64 // ‖M last‖, valid if last is an iterate
}

func (p *power) State(s *method.State) {
	p.TwoTerm.State(s)
	s.Float("change", &p.delta)
	s.Float("norm", &p.norm)
}

func (p *power) Absorb(y *mat.Dense) []method.RitzPair { return p.Advance(y, p.step) }

// step sets next to the iterate after x. The change of the value that belongs
// to the step towards x is known only now that x has been multiplied.
func (p *power) step(c *method.RitzPair, x, mx, next []float64) {
	norm := p.Arena.Norm2(mx)
	p.Arena.Normalise(next, mx)
	if !p.Paper {
		return
	}
	c.PaperValue = norm
	c.DeltaVector = p.delta
	c.DeltaValue = math.Inf(1)
	if !math.IsInf(p.delta, 1) {
		c.DeltaValue = math.Abs(norm - p.norm)
	}
	p.delta = p.Arena.Distance(next, 1, x, 1)
	p.norm = norm
}

func (p *power) Vector(dst []float64, _ int) { p.Arena.Normalise(dst, tallskinny.Column(p.Last)) }

// shifted is the state of Iteration for operators with negative eigenvalues of the size of
// the leading one, for which the power method does not converge:
//
//	x⁺ = (M + sI)x/‖(M + sI)x‖,  s = ¼ max‖Mx‖/‖x‖.
//
// The maximum is over the products so far and soon close to λ₁. The component
// of −λ₁ then shrinks by 3/5 a pass and that of λ₂ by (λ₁+4λ₂)/(5λ₁), as in
// gradient descent with η = 4/5. λ is the Rayleigh quotient.
type shifted struct {
	*power
	largest float64 // largest ‖Mx‖/‖x‖ so far
}

func (s *shifted) State(st *method.State) {
	s.power.State(st)
	st.Float("largest", &s.largest)
}

func (s *shifted) Absorb(y *mat.Dense) []method.RitzPair {
	x, mx := tallskinny.Column(s.X), tallskinny.Column(y)
	c := iterate.Ritz(s.Arena, x, mx)
	if xx := s.Arena.Norm2(x); xx > 0 {
		s.largest = max(s.largest, s.Arena.Norm2(mx)/xx)
		const part = 0.25
		s.Arena.AddScaled(mx, part*s.largest, x)
	}
	changes := s.power.Absorb(y)
	changes[0].Value, changes[0].Residual, changes[0].PaperValue = c.Value, c.Residual, c.Value
	return changes
}
