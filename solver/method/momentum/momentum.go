// Package momentum is gradient descent that adds a part of the last step to the next one.
package momentum

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// momentum is the state of Polyak and Nesterov:
//
//	x⁺ = x + β(x−x⁻) − η/‖y‖² ∇g(y),  y = x + α(x−x⁻).
//
// The method multiplies y. With α = 0 y is the iterate itself, and x⁺ needs the
// iterate before it. With α = β the first three terms of x⁺ are y, so x⁺ is a
// step of gradient descent from y and only y⁺ needs the iterate before.
type momentum struct {
	iterate.TwoTerm
	params momentumParams
	x      *mat.Dense // iterate x; nil: x is y
	mul    *mat.Dense // M·Last, for the spectrum; nil: β is fixed

	seen     spectrum
	value    float64 // largest Rayleigh quotient so far
	restarts int
}

// momentumParams are the parameters of Polyak and Nesterov.
type momentumParams struct {
	eta, beta float64 // β = 0 is automatic
	ahead     bool    // α = β: multiply beyond the iterate
}

func (p momentumParams) recurrence(r method.Run) method.Recurrence {
	return &momentum{TwoTerm: iterate.TwoTerm{Arena: iterate.Arena(r), Paper: r.Paper}, params: p}
}

func (m *momentum) Start(z *mat.Dense) {
	n, _ := z.Dims()
	m.TwoTerm.Start(z)
	if m.params.ahead {
		m.x = m.Arena.Dense(n, 1)
	}
	if m.params.beta == 0 {
		m.mul = m.Arena.Dense(n, 1)
	}
}

func (m *momentum) State(s *method.State) {
	m.TwoTerm.State(s)
	if m.params.ahead {
		s.Tall("iterate", &m.x, 1)
	}
	if m.params.beta == 0 {
		s.Tall("product", &m.mul, 1)
	}
	s.Int("restarts", &m.restarts, 0, math.MaxInt32)
	s.Float("value", &m.value)
	m.seen.state(s)
}

func (m *momentum) Free() {
	m.TwoTerm.Free()
	m.Arena.Free(m.x, m.mul)
}

func (m *momentum) Absorb(y *mat.Dense) []method.RitzPair {
	pairs := m.Advance(y, m.step)
	m.value = max(m.value, pairs[0].Value)
	if m.params.beta == 0 {
		m.Arena.CopyVector(tallskinny.Column(m.mul), tallskinny.Column(y))
	}
	if m.T == 1 && m.params.ahead {
		m.Arena.CopyVector(tallskinny.Column(m.x), tallskinny.Column(m.X))
	}
	return pairs
}

// step sets last, the vector multiplied before x, to the vector to be multiplied next.
func (m *momentum) step(c *method.RitzPair, x, mx, last []float64) {
	if m.params.beta == 0 {
		m.seen.observe(m.Arena, x, mx, c.Value, last, tallskinny.Column(m.mul))
	}
	if m.params.ahead {
		m.fromAhead(c, x, mx, last)
	} else {
		m.fromIterate(c, x, mx, last)
	}
}

// fromIterate sets before, the iterate before x, to the iterate after x. It is for α = 0.
func (m *momentum) fromIterate(c *method.RitzPair, x, mx, before []float64) {
	beta, xx := m.beta(), m.Arena.Dot(x, x)
	switch {
	case m.T == 1: // no iterate comes before x₀
		beta = 0
	case m.params.beta == 0:
		beta *= settledness(xx, c.Value)
	}
	a, b := 1-m.params.eta, m.params.eta/xx
	m.Arena.EachTile(len(x), tallskinny.Reading(x, mx, before).Writing(before), func(from, to int) {
		for i := from; i < to; i++ {
			before[i] = a*x[i] + b*mx[i] + beta*(x[i]-before[i])
		}
	})
	if after := before; m.astray(c, m.Arena.Dot(after, after)) {
		m.Arena.Combine(after, a, x, b, mx)
	}
	m.change(c, x, before)
}

// settledness returns the weight of momentum while ‖x‖² converges to the Rayleigh quotient: from 1 if they are
// equal to 0 if they differ by half. With full momentum a heavy ball may go round zero for ever, on a cycle that
// turns x towards an eigenvector that is not the leading one. A step without momentum at least halves the
// distance; a weight that jumped would cause cycles of its own.
func settledness(xx, value float64) float64 {
	if !(value > 0) {
		return 0
	}
	return max(0, 1-2*math.Abs(xx/value-1))
}

// fromAhead sets m.x to the next iterate and out to the next y, given the current y. It is for α = β.
func (m *momentum) fromAhead(c *method.RitzPair, y, my, out []float64) {
	x, beta := tallskinny.Column(m.x), m.beta()
	a, b := 1-m.params.eta, m.params.eta/m.Arena.Dot(y, y)
	m.Arena.Combine(out, a, y, b, my)
	m.change(c, x, out)
	sum := 0.0 // ‖y⁺‖²
	m.Arena.EachTile(len(out), tallskinny.Reading(out, x).Writing(out, x), func(from, to int) {
		for i := from; i < to; i++ {
			v := out[i]
			d := v + beta*(v-x[i])
			x[i], out[i] = v, d
			sum += d * d
		}
	})
	if m.astray(c, sum) {
		m.Arena.CopyVector(out, x)
	}
}

func (m *momentum) beta() float64 {
	p := m.params
	beta := p.beta
	switch {
	case beta == 0:
		beta = p.best(m.seen.gap())
	case !p.ahead && float64(m.T-1) <= 100*beta:
		return 0
	}
	const free = 2 // restarts that may come from the start vector
	return math.Ldexp(beta, -max(0, m.restarts-free))
}

// best returns the β that is best for a relative gap between the two leading
// eigenvalues.
//
// Near the solution, a component whose eigenvalue is λ is multiplied by
// c = 1 − η(1−λ/λ₁) in a step of gradient descent. With momentum it obeys
// z² = (c+β)z − β for α = 0, and z² = c(1+β)z − cβ for α = β. The β for which
// λ₂ has a double root gives the smallest |z|, namely 1 − √(1−c) for either,
// and all smaller λ have conjugate roots of that size or less.
func (p momentumParams) best(gap float64) float64 {
	q := math.Sqrt(p.eta * gap)
	if !p.ahead {
		return (1 - q) * (1 - q)
	}
	const margin = 0.9
	return min((1-q)/(1+q), margin*p.limit())
}

// betaSetting returns the setting of the momentum β.
func betaSetting(beta float64) method.Setting {
	return method.Setting{Name: "beta", Help: "momentum", High: 1, Value: beta}
}

// limit returns the β from which on the length of the iterates does not converge if α = β, +Inf if no β is too large.
// The length has c = 1 − 2η, and for negative c the roots stay in the unit circle only if |c|(1+2β) < 1.
func (p momentumParams) limit() float64 {
	if c := 2*p.eta - 1; c > 0 {
		return (1/c - 1) / 2
	}
	return math.Inf(1)
}

// astray reports whether momentum leads away from the solution, given the
// squared length of the vector to be multiplied next: momentum has carried the
// iterate through zero, near which the step η/‖y‖² has no bound, or has turned it
// away from the leading eigenvector. Gradient descent does neither. The
// recurrence then starts again from a step without momentum.
func (m *momentum) astray(c *method.RitzPair, length float64) bool {
	const much = 16
	if !(length*much < c.Value || c.Value*much < m.value) {
		return false
	}
	m.restarts++
	m.value = c.Value
	return true
}

// change sets the fields of c that the rule of the paper uses.
func (m *momentum) change(c *method.RitzPair, x, next []float64) {
	if m.Paper {
		iterate.PaperChanges(m.Arena, c, x, m.Arena.Dot(x, x), next)
	}
}

func (m *momentum) Vector(dst []float64, j int) {
	if m.Paper && m.params.ahead && m.T > 1 {
		m.Arena.Normalise(dst, tallskinny.Column(m.x)) // X is beyond the iterate
		return
	}
	m.TwoTerm.Vector(dst, j)
}

// spectrum estimates the two leading eigenvalues of M from the products that a recurrence computes anyway, so
// that β can be set without a given gap.
//
// Two successive vectors and their products give the two Ritz values θ₁ ≥ θ₂ of the plane they span, and θ₁ ≤ λ₁,
// θ₂ ≤ λ₂ whatever the vectors are (Cauchy's interlacing; Parlett, The Symmetric Eigenvalue Problem, §10.1). The
// largest Ritz values seen therefore never exceed the eigenvalues. Nor do they stay below: as long as θ₂ < λ₂, β
// is less than the best for λ₂, the error turns towards the second eigenvector, and θ₂ grows with the square of
// that.
type spectrum struct {
	first, second float64 // largest θ₁ and θ₂ so far
}

func (s *spectrum) state(st *method.State) {
	st.Float("first value", &s.first)
	st.Float("second value", &s.second)
}

// gap returns an estimate of 1 − λ₂/λ₁ in [0,1], 1 as long as nothing is known.
func (s *spectrum) gap() float64 {
	if s.first <= 0 {
		return 1
	}
	return max(0, 1-s.second/s.first)
}

// observe takes two successive vectors x and y with their products mx = Mx, my = My, and the Rayleigh quotient of
// x.
//
// The part of y orthogonal to x is a small difference. Its Ritz value is left out if rounding may change it by as
// much as matters to the gap: a plane that has shrunk to roundoff might otherwise show a second copy of λ₁.
func (s *spectrum) observe(a *tallskinny.Arena, x, mx []float64, theta float64, y, my []float64) {
	const (
		share = 0.01 // of the gap that an error of θ₂ may amount to
		most  = 1e-8 // relative error of either value
		units = 4    // of roundoff, the error of a product
	)
	xx, norm := a.Dot(x, x), a.Norm2(y)
	if xx == 0 || norm == 0 {
		return
	}
	s.first = max(s.first, theta)
	f, g := 1/norm, a.Dot(x, y)/(xx*norm)
	var ww, wmw, xmw float64 // of w = y/‖y‖ − (its part along x)
	a.EachTile(len(x), tallskinny.Reading(x, mx, y, my), func(from, to int) {
		for i := from; i < to; i++ {
			w, mw := f*y[i]-g*x[i], f*my[i]-g*mx[i]
			ww += w * w
			wmw += w * mw
			xmw += x[i] * mw
		}
	})
	noise := units * tallskinny.Epsilon / math.Sqrt(ww)
	if !(noise <= most) {
		return
	}
	other, coupling := wmw/ww, xmw/math.Sqrt(ww*xx)
	mean, radius := (theta+other)/2, math.Hypot((theta-other)/2, coupling)
	s.first = max(s.first, mean+radius)
	if second := mean - radius; noise*s.first <= share*(s.first-second) {
		s.second = max(s.second, second)
	}
}
