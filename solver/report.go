package solver

import (
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/solver/method"
)

func (r *run) event(phase string, triplet int, c method.RitzPair) Event {
	return Event{
		Phase: phase, Pass: r.stats.Passes, Triplet: triplet, Locked: r.locked.Len, Rank: r.s.Rank,
		Sigma: r.sigma(c.Value), Residual: r.relative(c), Goal: r.s.Tol, Tol: r.s.Tol, Stats: r.cost(),
	}
}

// outlook is Event.Open and Event.Worst of a pass that has these Ritz pairs.
func (r *run) outlook(pairs []method.RitzPair) (open int, worst float64) {
	missing := r.s.Rank - r.locked.Len
	open = min(len(pairs), missing)
	if r.about.Copies > 0 {
		open = missing // the space grows until it has them all
	}
	if open > len(pairs) {
		return open, 1
	}
	for _, c := range pairs[:open] {
		worst = max(worst, r.relative(c))
	}
	return open, min(worst, 1)
}

// sigma returns the singular value that belongs to an eigenvalue.
func (r *run) sigma(value float64) float64 {
	if r.linear {
		return max(value, 0)
	}
	return math.Sqrt(max(value, 0))
}

// eigenvalue is the inverse of sigma.
func (r *run) eigenvalue(sigma float64) float64 {
	if r.linear {
		return sigma
	}
	return sigma * sigma
}

// relative returns the residual of the triplet that belongs to a Ritz pair,
// relative to σ₁.
func (r *run) relative(c method.RitzPair) float64 {
	if r.linear {
		return relativeLinear(c, r.lambda1)
	}
	return relative(c, r.lambda1)
}

func (r *run) observe(e Event) error {
	if err := r.s.Observer(e); err != nil {
		return fmt.Errorf("observe pass %d: %w", e.Pass, err)
	}
	return nil
}
