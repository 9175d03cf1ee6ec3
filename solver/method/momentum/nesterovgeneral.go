package momentum

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// NesterovGeneral is the accelerated scheme for which the paper has a proof
// ("Accelerated gradient descent for k-SVD" and the appendix on local
// convergence, after Nesterov, Introductory Lectures on Convex Optimization,
// §2.2.1). With α = 1/√ρ,
//
//	y  = (x + αv)/(1+α)
//	x⁺ = y − η/‖y‖² ∇g(y)
//	v⁺ = (1−α)v + α(y − ∇g(y)/μ),
//
// and η = 1/6, μ < (λ₁−λ₂)/4, ρ = 9λ₁/μ. Close to the solution ‖x−x*‖² shrinks by
// 1 − 1/√ρ a pass.
//
// Two displays of the paper's main part are misprinted: y gives v the weight
// √ρ/(1+√ρ), with which the scheme diverges unless λ₁ and λ₂ are far apart, and
// the rate is 1 − √ρ. The appendix, whose α is √(μ/2L) with L = 9λ₁/2, has 1/(1+√ρ)
// as above and the rate 1 − √(μ/2L).
//
// Convergence is local: the proof requires ‖x₀ ± √λ₁v₁‖ ≤ (λ₁−λ₂)^{3/2}/(90√2·λ₁).
// So the method starts with gradient descent, η = ½, until the angle to the
// solution is estimated to be at most 0.1, which is far more than the proof allows.
// If the scheme moves away from the solution, the method returns to gradient
// descent and tries again from a tenth of the angle. It gives up after a few
// attempts: with a ρ that is too small for μ the scheme never converges.
//
// The scheme is included for its theory. Its constants are those of a proof: with
// the true gap known it takes about √18 times the passes of Nesterov, besides those
// of gradient descent at the beginning, which are not accelerated.
type NesterovGeneral struct {
	// Mu is μ/λ₁, in (0, ¼): the constant of strong convexity, relative to the
	// leading eigenvalue of the operator as it is deflated at the time, so that
	// it means the same for every vector and every scale of the matrix. 0
	// means automatic: a quarter of the relative gap 1 − θ₂/θ₁ from Ritz values
	// of successive vectors, which falls to the true gap.
	Mu float64
	// Rho is ρ, above 1; 0 means 9λ₁/μ.
	Rho float64
}

func (g NesterovGeneral) Traits(int) method.Traits {
	t := method.Single("nesterov-general", 6, 220) // the five vectors of the scheme and the product
	t.Settings = []method.Setting{
		{Name: "mu", Help: "strong convexity relative to the leading eigenvalue", High: 0.25, Value: g.Mu},
		{Name: "rho", Help: "condition number of the accelerated scheme", Low: 1, High: math.Inf(1), Value: g.Rho},
	}
	t.With = func(v []float64) method.Method { return NesterovGeneral{Mu: v[0], Rho: v[1]} }
	t.Indefinite = true
	return t
}

func (g NesterovGeneral) New(r method.Run) method.Recurrence {
	const enter = 0.1
	return &general{TwoTerm: iterate.TwoTerm{Arena: iterate.Arena(r), Paper: r.Paper}, method: g, enter: enter}
}

// general is the state of NesterovGeneral. It multiplies y, or x during gradient descent.
type general struct {
	iterate.TwoTerm
	method NesterovGeneral
	x, v   *mat.Dense // iterate, and centre of the estimate of g; v is unused outside of the scheme
	mul    *mat.Dense // M·Last
	seen   spectrum

	inside   bool    // the scheme is at work, not gradient descent
	enter    float64 // angle at which the scheme begins; 0: never
	value    float64 // Rayleigh quotient and residual where the scheme began
	residual float64
	best     float64 // least residual since, up to one half
	bestAt   int     // number of the product with that residual
}

func (m *general) Start(z *mat.Dense) {
	n, _ := z.Dims()
	m.TwoTerm.Start(z)
	m.x, m.v, m.mul = m.Arena.Dense(n, 1), m.Arena.Dense(n, 1), m.Arena.Dense(n, 1)
}

func (m *general) State(s *method.State) {
	m.TwoTerm.State(s)
	s.Tall("iterate", &m.x, 1)
	s.Tall("v", &m.v, 1)
	s.Tall("product", &m.mul, 1)
	s.Flag("inside", &m.inside)
	s.Int("best at", &m.bestAt, 0, math.MaxInt32)
	s.Float("enter", &m.enter)
	s.Float("value", &m.value)
	s.Float("residual", &m.residual)
	s.Float("best", &m.best)
	m.seen.state(s)
}

func (m *general) Free() {
	m.TwoTerm.Free()
	m.Arena.Free(m.x, m.v, m.mul)
}

func (m *general) Absorb(y *mat.Dense) []method.RitzPair {
	pairs := m.Advance(y, func(c *method.RitzPair, x, mx, out []float64) {
		m.seen.observe(m.Arena, x, mx, c.Value, out, tallskinny.Column(m.mul))
		if m.inside && !m.astray(c, m.Arena.Dot(x, x)) {
			m.step(c, x, mx, out)
		} else {
			m.descend(c, x, mx, out)
		}
	})
	m.Arena.CopyVector(tallskinny.Column(m.mul), tallskinny.Column(y))
	if m.T == 1 {
		m.Arena.CopyVector(tallskinny.Column(m.x), tallskinny.Column(m.X))
	}
	return pairs
}

// descend makes a step of gradient descent, after which the scheme begins if x
// is close enough to the solution.
func (m *general) descend(c *method.RitzPair, x, mx, out []float64) {
	const eta, settled = 0.5, 0.1
	xx := m.Arena.Dot(x, x)
	m.Arena.Combine(out, 1-eta, x, eta/xx, mx)
	m.advance(c, out)
	if m.enter == 0 || c.Residual > m.enter*(m.seen.first-m.seen.second) || math.Abs(xx-c.Value) > settled*c.Value {
		return
	}
	m.inside, m.value, m.residual = true, c.Value, c.Residual
	m.best, m.bestAt = c.Residual, m.T
	m.Arena.CopyVector(tallskinny.Column(m.v), out)
}

// step makes a step of the scheme from y and stores the next y in out.
func (m *general) step(c *method.RitzPair, y, my, out []float64) {
	alpha, perMu := m.constants()
	yy := m.Arena.Dot(y, y)
	const eta = 1.0 / 6
	step := eta / yy
	v := tallskinny.Column(m.v)
	m.Arena.EachTile(len(y), tallskinny.Reading(y, my, v).Writing(out, v), func(from, to int) {
		for i := from; i < to; i++ {
			grad := yy*y[i] - my[i]
			out[i] = y[i] - step*grad
			v[i] += alpha * (y[i] - perMu*grad - v[i])
		}
	})
	m.advance(c, out)
	m.Arena.EachTile(len(out), tallskinny.Reading(out, v).Writing(out), func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = (out[i] + alpha*v[i]) / (1 + alpha)
		}
	})
}

func (m *general) constants() (alpha, perMu float64) {
	const share, least = 0.99, 1e-12 // of the most that is allowed
	mu, rho := m.method.Mu, m.method.Rho
	if mu == 0 {
		mu = max(least, share*m.seen.gap()/4)
	}
	if rho == 0 {
		rho = 9 / mu
	}
	return 1 / math.Sqrt(rho), 1 / (mu * m.seen.first)
}

// advance makes next the iterate, and sets the fields of c that the rule of the paper uses.
func (m *general) advance(c *method.RitzPair, next []float64) {
	x := tallskinny.Column(m.x)
	if m.Paper {
		iterate.PaperChanges(m.Arena, c, x, m.Arena.Dot(x, x), next)
	}
	m.Arena.CopyVector(x, next)
}

// astray reports whether the scheme has moved away from the solution, in
// direction or in length, or has not come closer for far longer than its rate
// allows, and if so, ends the scheme.
func (m *general) astray(c *method.RitzPair, length float64) bool {
	const much, least, periods = 16, 1e-4, 40
	if c.Residual < m.best/2 {
		m.best, m.bestAt = c.Residual, m.T
	}
	alpha, _ := m.constants()
	if c.Residual <= much*m.residual && c.Value*much >= m.value &&
		length <= much*c.Value && c.Value <= much*length &&
		alpha*float64(m.T-m.bestAt) <= periods {
		return false
	}
	m.inside = false
	m.enter /= 10
	if m.enter < least {
		m.enter = 0
	}
	return true
}

func (m *general) Vector(dst []float64, j int) {
	if m.Paper {
		m.Arena.Normalise(dst, tallskinny.Column(m.x)) // X is y
		return
	}
	m.TwoTerm.Vector(dst, j)
}
