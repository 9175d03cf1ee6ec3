// Package judge decides when a Ritz pair is good enough: by the stop rule, or because the
// arithmetic allows no better.
package judge

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Verdict is a decision about a Ritz pair.
type Verdict uint8

const (
	GoOn    Verdict = iota // not good enough yet
	Found                  // the stop rule is met
	Floor                  // as good as the arithmetic allows
	Nothing                // the deflated operator is zero to working precision
)

// Constants of the decisions below.
const (
	// A residual that no longer improves is taken to be rounding up to NearFloor times the floor (tallskinny.FloorFactor),
	// since large sums may be less accurate than a product.
	NearFloor = 1000
	// A vector that is nearly orthogonal to the remaining eigenvectors by chance shows them after this many products.
	MinProducts = 3
	// Shortest window without improvement, in products.
	patience = 50
	// A residual that has stayed within the share level of itself for leastLevel products or more, and so long that at this
	// pace the tolerance is endless products away, does not get there: its vector is a mixture of eigenvectors of values
	// that lie too close together. If such a mixture of angle φ turns by δ, the residual gap·sin φ·cos φ changes by the
	// share 2δ·cot 2φ of itself and the value by 2δ residuals: for every φ one of the two changes.
	level, leastLevel, endless = 1e-3, 1000, 5e6
)

// Judge decides about the Ritz pairs of each pass of one recurrence.
type Judge struct {
	Paper    bool    // the paper's rule is used, not the residual
	Tol      float64 // tolerance of the rule, internal safety included
	Exponent int     // true values are 2^Exponent times those of Ritz pairs
	Linear   bool    // values are σ, not σ²
	Warm     bool    // the start vectors were given, not drawn
	Single   bool    // the method finds one vector at a time
	Terms    float64 // norm that rounding errors of products are relative to, over the norm of the matrix; below 1: 1
	Products int
	Progress []Progress // index: Ritz pair
	Level    Level      // of the only Ritz pair
}

// Level is a Ritz pair, and the product since which the recurrence has kept it.
type Level struct {
	Value, Residual float64
	Since           int
}

// Progress is the history of the residual of one Ritz pair.
type Progress struct {
	Best float64 // least residual so far, to within 10 %
	At   int     // product of that residual
}

// State saves or restores the history of the judge.
func (j *Judge) State(s *method.State) {
	var best, at []float64
	for _, p := range j.Progress {
		best, at = append(best, p.Best), append(at, float64(p.At))
	}
	s.Flag("given start", &j.Warm)
	s.Int("products", &j.Products, 0, math.MaxInt32)
	s.Float("tolerance of the recurrence", &j.Tol)
	s.Float("level value", &j.Level.Value)
	s.Float("level residual", &j.Level.Residual)
	s.Int("level since", &j.Level.Since, 0, math.MaxInt32)
	s.Floats("least residuals", &best)
	s.Floats("products of least residuals", &at)
	if !s.Restoring() || !s.OK() {
		return
	}
	for i, p := range at {
		if len(best) != len(at) || !(p >= 0 && p <= math.MaxInt32) || p != math.Trunc(p) {
			s.Refuse("has the residual of product %g, %d of %d", p, len(best), len(at))
			return
		}
		j.Progress = append(j.Progress, Progress{best[i], int(p)})
	}
}

// Verdict decides about c, Ritz pair i of the current product. lambda1 is the largest ‖Gv‖ of a unit vector seen in the run.
// noise bounds the changes of the operator's zero eigenvalues by the deflation, rounding not included.
func (j *Judge) Verdict(i int, c method.RitzPair, lambda1, noise float64) Verdict {
	least := tallskinny.FloorFactor * tallskinny.Epsilon * lambda1
	size := math.Hypot(c.Value, c.Residual) // ‖Mv‖
	settled := j.Products >= MinProducts || j.Warm
	switch {
	case size == 0 || settled && size <= least:
		return Nothing
	case j.met(c, lambda1):
		return Found
	case settled && (size <= noise || !j.Paper && c.Residual <= least) || j.level(c, lambda1):
		return Floor
	case !j.stagnates(i, c.Residual, least*max(1, j.Terms), noise*(noise/size)):
		return GoOn
	case c.Value <= 10*c.Residual && j.Progress[i].Best <= NearFloor*least:
		return Nothing
	}
	return Floor
}

func (j *Judge) met(c method.RitzPair, lambda1 float64) bool {
	if j.Paper {
		return c.DeltaVector <= j.Tol && c.DeltaValue <= math.Ldexp(j.Tol, -j.Exponent)
	}
	if j.Linear {
		return c.Value > 0 && Relative(c, lambda1, true) <= j.Tol
	}
	return c.Value > 0 && c.Residual <= j.Tol*math.Sqrt(c.Value)*math.Sqrt(lambda1)
}

// level reports whether the only Ritz pair has kept its value and residual for so long that it will not reach the tolerance.
// The vector is locked as it is: the other vectors of its cluster follow, and the certificate rotates all of them to the
// best vectors in their span.
func (j *Judge) level(c method.RitzPair, lambda1 float64) bool {
	if !j.Single || j.Paper || j.Tol <= 0 {
		return false
	}
	if l := j.Level; !(max(math.Abs(c.Residual-l.Residual), math.Abs(c.Value-l.Value)) <= level*l.Residual) {
		j.Level = Level{c.Value, c.Residual, j.Products}
	}
	window := level * endless / math.Log(Relative(c, lambda1, j.Linear)/j.Tol)
	return float64(j.Products-j.Level.Since) > max(leastLevel, window)
}

// stagnates reports whether the residual of Ritz pair i is close to the floor and has not improved for so long that waiting
// is in vain. The window grows with the run: linear convergence, however slow, gains orders of magnitude in a quarter of the
// passes it has taken to come near the floor.
//
// Plain deflation splits multiple eigenvalues λ by as much as noise²/λ. A residual below that goes on towards one side of
// the split, which may take any time and means nothing; under the paper's rule the split is not allowed for.
func (j *Judge) stagnates(i int, residual, least, split float64) bool {
	for len(j.Progress) <= i {
		j.Progress = append(j.Progress, Progress{Best: math.Inf(1)})
	}
	p := &j.Progress[i]
	if residual < 0.9*p.Best {
		p.Best, p.At = residual, j.Products
	}
	near, window := NearFloor*least+split, max(patience, j.Products/4)
	if j.Paper {
		// The changes that the paper's rule tests shrink after the residual.
		near, window = NearFloor*least, max(4*patience, p.At)
	}
	return p.Best <= near && j.Products-p.At > window
}

// Relative turns the residual of a Ritz pair into that of a triplet relative to σ₁.
//
// For the Gram operator it is ‖Gv−λv‖/(σσ₁). For a value that is zero to working precision it is ‖Gv−λv‖/λ₁.
//
// For an operator whose eigenvalues are σ itself (linear), with u = Av/‖Av‖, which is what the certificate takes, both
// equations of the triplet contribute: ‖Gv−σ²v‖ ≤ σ‖Av−σu‖ + σ‖Aᵀu−σv‖ in the complement of the vectors of larger values,
// which is at most 2σ times the residual of the Ritz pair.
func Relative(c method.RitzPair, lambda1 float64, linear bool) float64 {
	switch {
	case c.Residual == 0:
		return 0
	case linear:
		return 2 * c.Residual / lambda1
	case c.Value <= 10*c.Residual && c.Residual <= NearFloor*tallskinny.FloorFactor*tallskinny.Epsilon*lambda1:
		return c.Residual / lambda1
	}
	// A value smaller than its error, possibly negative, is replaced by the bound residual²/λ₁.
	value := max(c.Value, c.Residual*(c.Residual/lambda1))
	return c.Residual / (math.Sqrt(value) * math.Sqrt(lambda1))
}
