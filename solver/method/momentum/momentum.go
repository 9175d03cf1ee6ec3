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
// The method multiplies y. With α = 0 it is the iterate itself and x⁺ needs the
// iterate before it. With α = β the first three terms of x⁺ are y, so x⁺ is a
// step of gradient descent from y and only y⁺ needs the iterate before.
type momentum struct {
	method.Alone
	arena  *tallskinny.Arena
	params momentumParams
	paper  bool

	next *mat.Dense // y, to be multiplied
	last *mat.Dense // y of the step before, multiplied last
	x    *mat.Dense // x, nil if it is y
	mul  *mat.Dense // M·last, for the spectrum; nil without

	seen     spectrum
	t        int     // products absorbed; the one with x₀ has t = 1
	value    float64 // largest Rayleigh quotient so far
	restarts int
	pair     [1]method.RitzPair
}

// momentumParams are what Polyak and Nesterov are made of.
type momentumParams struct {
	eta, beta float64 // β = 0 is automatic
	ahead     bool    // α = β: multiply beyond the iterate
}

func (p momentumParams) recurrence(r method.Run) method.Recurrence {
	return &momentum{arena: r.Arena, params: p, paper: r.Paper}
}

func (m *momentum) Start(z *mat.Dense) {
	n, _ := z.Dims()
	m.next, m.last = z, m.arena.Dense(n, 1)
	if m.params.ahead {
		m.x = m.arena.Dense(n, 1)
	}
	if m.params.beta == 0 {
		m.mul = m.arena.Dense(n, 1)
	}
}

func (m *momentum) State(s *method.State) {
	s.Tall("next", &m.next, 1)
	s.Tall("last", &m.last, 1)
	if m.params.ahead {
		s.Tall("x", &m.x, 1)
	}
	if m.params.beta == 0 {
		s.Tall("product", &m.mul, 1)
	}
	s.Int("products", &m.t, 0, math.MaxInt32)
	s.Int("restarts", &m.restarts, 0, math.MaxInt32)
	s.Float("value", &m.value)
	m.seen.state(s)
}

func (m *momentum) Free() { m.arena.Free(m.next, m.last, m.x, m.mul) }

func (m *momentum) Next() *mat.Dense { return m.next }

func (m *momentum) Absorb(y *mat.Dense) []method.RitzPair {
	x, mx, out := tallskinny.Column(m.next), tallskinny.Column(y), tallskinny.Column(m.last)
	c := iterate.Ritz(m.arena, x, mx)
	if m.params.beta == 0 {
		if m.t > 0 {
			m.seen.observe(m.arena, x, mx, c.Value, out, tallskinny.Column(m.mul))
		}
		m.arena.CopyVector(tallskinny.Column(m.mul), mx)
	}
	switch {
	case m.t == 0:
		iterate.First(m.arena, out, mx, m.paper)
		if m.params.ahead {
			m.arena.CopyVector(tallskinny.Column(m.x), out)
		}
	case m.params.ahead:
		m.fromAhead(&c, x, mx, out)
	default:
		m.fromIterate(&c, x, mx, out)
	}
	m.value = max(m.value, c.Value)
	m.next, m.last = m.last, m.next
	m.t++
	m.pair[0] = c
	return m.pair[:]
}

// fromIterate sets before, the iterate before x, to the one after it: α = 0.
func (m *momentum) fromIterate(c *method.RitzPair, x, mx, before []float64) {
	beta, xx := m.beta(), m.arena.Dot(x, x)
	switch {
	case m.t == 1: // x₀ has none before it
		beta = 0
	case m.params.beta == 0:
		beta *= settledness(xx, c.Value)
	}
	a, b := 1-m.params.eta, m.params.eta/xx
	m.arena.EachTile(len(x), tallskinny.Reading(x, mx, before).Writing(before), func(from, to int) {
		for i := from; i < to; i++ {
			before[i] = a*x[i] + b*mx[i] + beta*(x[i]-before[i])
		}
	})
	if after := before; m.astray(c, m.arena.Dot(after, after)) {
		m.arena.Combine(after, a, x, b, mx)
	}
	m.change(c, x, before)
}

// settledness weakens momentum while ‖x‖² is far from the Rayleigh quotient, where
// it settles: from 1 there to 0 where they differ by half. Otherwise a heavy ball
// may go round zero for ever, on a cycle that turns x towards another eigenvector
// than the leading one. A step without momentum halves the distance at least; a
// weight that jumped would make cycles of its own.
func settledness(xx, value float64) float64 {
	if !(value > 0) {
		return 0
	}
	return max(0, 1-2*math.Abs(xx/value-1))
}

// fromAhead sets m.x to the iterate after it and out to the y that follows, given
// the current y: α = β.
func (m *momentum) fromAhead(c *method.RitzPair, y, my, out []float64) {
	x, beta := tallskinny.Column(m.x), m.beta()
	a, b := 1-m.params.eta, m.params.eta/m.arena.Dot(y, y)
	m.arena.Combine(out, a, y, b, my)
	m.change(c, x, out)
	sum := 0.0 // ‖y⁺‖²
	m.arena.EachTile(len(out), tallskinny.Reading(out, x).Writing(out, x), func(from, to int) {
		for i := from; i < to; i++ {
			v := out[i]
			d := v + beta*(v-x[i])
			x[i], out[i] = v, d
			sum += d * d
		}
	})
	if m.astray(c, sum) {
		m.arena.CopyVector(out, x)
	}
}

// beta returns the momentum of this step.
func (m *momentum) beta() float64 {
	p := m.params
	beta := p.beta
	switch {
	case beta == 0:
		beta = p.best(m.seen.gap())
	case !p.ahead && float64(m.t-1) <= 100*beta:
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

// betaSetting is momentum.
func betaSetting(beta float64) method.Setting {
	return method.Setting{Name: "beta", Help: "momentum", High: 1, Value: beta}
}

// limit returns the β from which on the length of the iterates does not
// settle if α = β, +Inf if there is none: the length has c = 1 − 2η, and for
// negative c the roots stay within the unit circle only if |c|(1+2β) < 1.
func (p momentumParams) limit() float64 {
	if c := 2*p.eta - 1; c > 0 {
		return (1/c - 1) / 2
	}
	return math.Inf(1)
}

// astray reports whether momentum leads away from the solution, given the
// squared length of the vector to be multiplied next: it has carried the
// iterate through zero, near which the step η/‖y‖² has no bound, or turned it
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

// change fills in what the rule of the paper looks at.
func (m *momentum) change(c *method.RitzPair, x, next []float64) {
	if m.paper {
		iterate.PaperChanges(m.arena, c, x, m.arena.Dot(x, x), next)
	}
}

// Vector returns the vector whose residual is known, or under the paper's rule
// the iterate after it.
func (m *momentum) Vector(dst []float64, _ int) {
	from := m.last
	switch {
	case m.paper && m.params.ahead && m.t > 1:
		from = m.x
	case m.paper:
		from = m.next
	}
	m.arena.Normalise(dst, tallskinny.Column(from))
}
