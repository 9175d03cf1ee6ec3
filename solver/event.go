package solver

import (
	"fmt"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Phases of an Event.
const (
	PhaseIterate = "iterate" // a pass of a recurrence
	PhaseFinish  = "finish"  // a finishing pass
	PhaseInspect = "inspect" // a pass that checks what the matrix is said to be
	PhaseConfirm = "confirm" // a pass that looks for more copies of values found
	PhaseOutside = "outside" // a pass that looks for values larger than those found
)

// Event describes a run after one pass. It is a plain record: a progress bar,
// a log and a test read the same thing.
type Event struct {
	Phase    string  // one of the Phase constants
	Pass     int     // passes so far, this one included
	Triplet  int     // index of the triplet worked on, from 0 (finish: of the largest residual)
	Locked   int     // triplets found so far
	Rank     int     // triplets wanted
	Sigma    float64 // current estimate of the singular value of Triplet
	Residual float64 // its residual relative to σ₁: an estimate (iterate), certified (finish)
	// Both are those of an earlier pass where a method has not looked at its
	// vectors because they could not be good enough yet.
	// Open is how many triplets were looked for together in the pass, those that
	// it has found included, and Worst the largest residual among them, at most 1,
	// and 1 if of one of them nothing is known yet: the pass in which it falls to
	// the tolerance finds them all. (Finish: all triplets, and Residual. Confirm and
	// outside: 0 triplets, and from 1 down to Goal how little is known about others.)
	Open  int
	Worst float64
	Goal  float64 // what Worst has to fall to for the phase to be over, 0 if that is not known
	Tol   float64 // the tolerance asked for
	// More is whether the search goes on although all triplets are found: for more
	// copies of their values, or for values outside of what was given.
	More  bool
	Stats Stats // costs so far
}

func (r *run) event(phase string, triplet int, c method.RitzPair) Event {
	return Event{
		Phase: phase, Pass: r.passes.stats.Passes, Triplet: triplet, Locked: r.found.Len(), Rank: r.found.Len() + r.missing(nil),
		Sigma: r.reported(r.found.Sigma(c.Value)), Residual: r.found.Relative(c), Goal: r.s.Tol, Tol: r.s.Tol, Stats: r.passes.cost(),
	}
}

// outlook is Event.Open and Event.Worst of a pass that has these Ritz pairs.
func (r *run) outlook(pairs []method.RitzPair) (open int, worst float64) {
	missing := r.missing(pairs)
	open = min(len(pairs), missing)
	if r.about.Copies > 0 {
		open = missing // the space grows until it has them all
	}
	if open > len(pairs) {
		return open, 1
	}
	return open, min(r.found.Worst(pairs[:open]), 1)
}

func (r *run) observe(e Event) error {
	if err := r.s.Observer(e); err != nil {
		return fmt.Errorf("observe pass %d: %w", e.Pass, err)
	}
	return nil
}
