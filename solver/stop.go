package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// verdict is what becomes of a Ritz pair.
type verdict uint8

const (
	goOn    verdict = iota // not good enough yet
	found                  // the stop rule is met
	floor                  // as good as the arithmetic allows
	nothing                // the operator is zero to working precision from here on
)

// Constants of the decisions below, in units of the roundoff of a product.
const (
	// A product with G carries an error of a few ε·λ₁. Below floorFactor·ε·λ₁
	// neither a residual nor a product means anything.
	floorFactor = 4
	// Large sums may be less accurate than that. Within nearFloor times the
	// floor a residual that no longer improves is taken to be rounding.
	nearFloor = 1000
	// A direction that is orthogonal to what is left only by chance has been
	// multiplied often enough to show after this many products.
	minProducts = 3
	// Least length of the window without improvement.
	patience = 50
)

// judge decides about the Ritz pairs of each pass of one recurrence.
type judge struct {
	rule     StopRule
	tol      float64 // of the rule, internal safety included
	scale    scale   // of the matrix
	linear   bool    // values are σ, not σ²
	warm     bool    // the start vectors were given, not drawn
	products int
	progress []progress // by Ritz pair
}

// progress is the history of the residual of one Ritz pair.
type progress struct {
	best float64 // least residual so far, up to 10 %
	at   int     // product it was seen at
}

func newJudge(rule StopRule, tol float64, e scale, linear, warm bool) judge {
	return judge{rule: rule, tol: tol, scale: e, linear: linear, warm: warm}
}

// verdict decides about c, Ritz pair i of the current product. lambda1 is the
// largest ‖Gv‖ of a unit vector seen in the run; noise bounds what the
// deflation, rather than rounding, makes of the zero eigenvalues of the
// operator.
func (j *judge) verdict(i int, c method.RitzPair, lambda1, noise float64) verdict {
	least := floorFactor * tallskinny.Epsilon * lambda1
	size := math.Hypot(c.Value, c.Residual) // ‖Mv‖
	settled := j.products >= minProducts || j.warm
	switch {
	case size == 0 || settled && size <= least:
		return nothing
	case j.met(c, lambda1):
		return found
	case settled && size <= noise:
		return floor
	case settled && j.rule == StopResidual && c.Residual <= least:
		return floor
	case !j.stagnates(i, c.Residual, least, noise*(noise/size)):
		return goOn
	case c.Value <= 10*c.Residual && j.progress[i].best <= nearFloor*least:
		return nothing
	}
	return floor
}

// met reports whether the stop rule is met.
func (j *judge) met(c method.RitzPair, lambda1 float64) bool {
	if j.rule == StopPaper {
		return c.DeltaVector <= j.tol && c.DeltaValue <= j.scale.tolerance(j.tol, j.linear)
	}
	if j.linear {
		return c.Value > 0 && relativeLinear(c, lambda1) <= j.tol
	}
	return c.Value > 0 && c.Residual <= j.tol*math.Sqrt(c.Value)*math.Sqrt(lambda1)
}

// stagnates reports whether the residual of Ritz pair i is close to the floor
// and has not improved for so long that waiting is in vain. The window grows
// with the run: linear convergence, however slow, gains orders of magnitude in
// a quarter of the passes it has taken to come near the floor.
//
// Plain deflation splits multiple eigenvalues λ by as much as noise²/λ. A
// residual below that goes on towards one side of the split, which may take any
// time and means nothing; the paper's algorithms know no better.
func (j *judge) stagnates(i int, residual, least, split float64) bool {
	for len(j.progress) <= i {
		j.progress = append(j.progress, progress{best: math.Inf(1)})
	}
	p := &j.progress[i]
	if residual < 0.9*p.best {
		p.best, p.at = residual, j.products
	}
	near, window := nearFloor*least+split, max(patience, j.products/4)
	if j.rule == StopPaper {
		// Its changes shrink after the residual.
		near, window = nearFloor*least, max(4*patience, p.at)
	}
	return p.best <= near && j.products-p.at > window
}

// relative turns the residual of a Ritz pair for the Gram operator into that
// of a triplet relative to σ₁: ‖Gv−λv‖/(σσ₁). A value that is zero to working
// precision has no σ to speak of: then it is ‖Gv−λv‖/λ₁.
func relative(c method.RitzPair, lambda1 float64) float64 {
	switch {
	case c.Residual == 0:
		return 0
	case c.Value <= 10*c.Residual && c.Residual <= nearFloor*floorFactor*tallskinny.Epsilon*lambda1:
		return c.Residual / lambda1
	}
	// A value smaller than its error, possibly negative, says no more than that.
	value := max(c.Value, c.Residual*(c.Residual/lambda1))
	return c.Residual / (math.Sqrt(value) * math.Sqrt(lambda1))
}

// relativeLinear is relative for an operator whose eigenvalues are σ itself.
// With u = Av/‖Av‖, which is what the certificate takes, both equations of the
// triplet contribute: ‖Gv−σ²v‖ ≤ σ‖Av−σu‖ + σ‖Aᵀu−σv‖ in the complement of the
// larger ones, which is at most 2σ times the residual of the Ritz pair.
func relativeLinear(c method.RitzPair, lambda1 float64) float64 {
	if c.Residual == 0 {
		return 0
	}
	return 2 * c.Residual / lambda1
}
