package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Power is the power method (Algorithm 2 of the paper):
//
//	x⁺ = Mx/‖Mx‖  from x₀ = Mz,
//
// with λ = ‖Mx‖ and v = x at the end. The components along other eigenvectors
// shrink by the factor λ₂/λ₁ a pass.
//
// Under StopResidual the value is the Rayleigh quotient of x, which is never
// further from λ than ‖Mx‖ is.
type Power struct{}

var _ Method = Power{}

// Name returns "power".
func (Power) Name() string { return "power" }

// Width returns 1: one vector at a time.
func (Power) Width(int) int { return 1 }

// Start implements Method.
func (Power) Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence {
	n, _ := z.Dims()
	return &power{arena: a, rule: rule, x: z, prev: a.Dense(n, 1), delta: math.Inf(1)}
}

// Restore implements Method.
func (Power) Restore(a *Arena, s State, rule StopRule) (Recurrence, error) {
	x, prev, started, err := s.pair(3)
	if err != nil {
		return nil, err
	}
	return &power{arena: a, rule: rule, x: x, prev: prev, started: started, delta: s.Scalars[1], norm: s.Scalars[2]}, nil
}

// power is the state of Power.
type power struct {
	arena   *Arena
	rule    StopRule
	x, prev *mat.Dense // next to be multiplied, and multiplied last
	started bool       // x is an iterate, no longer the start vector z
	delta   float64    // ‖x − prev‖, +Inf if x is the first iterate
	norm    float64    // ‖M prev‖, valid if prev is an iterate
	cand    [1]Candidate
}

func (p *power) Next() *mat.Dense { return p.x }

func (p *power) Absorb(y *mat.Dense) []Candidate {
	x, mx, next := column(p.x), column(y), column(p.prev)
	c := p.arena.ritz(x, mx)
	if p.started {
		p.step(&c, x, mx, next)
	} else {
		p.arena.firstIterate(next, mx, p.rule)
		p.started = true
	}
	p.x, p.prev = p.prev, p.x
	p.cand[0] = c
	return p.cand[:]
}

// step sets next to the iterate after x. The change of the value that belongs
// to the step towards x is known only now that x has been multiplied.
func (p *power) step(c *Candidate, x, mx, next []float64) {
	norm := p.arena.norm2(mx)
	p.arena.normalise(next, mx)
	if p.rule != StopPaper {
		return
	}
	c.PaperValue = norm
	c.DeltaVector = p.delta
	c.DeltaValue = math.Inf(1)
	if !math.IsInf(p.delta, 1) {
		c.DeltaValue = math.Abs(norm - p.norm)
	}
	p.delta = p.arena.distance(next, 1, x, 1)
	p.norm = norm
}

func (p *power) Vector(dst []float64, _ int) { p.arena.normalise(dst, column(p.prev)) }

func (p *power) Lock(int) bool { return false }

func (p *power) Save() State {
	return State{Blocks: []*mat.Dense{p.x, p.prev}, Scalars: []float64{scalar(p.started), p.delta, p.norm}}
}
