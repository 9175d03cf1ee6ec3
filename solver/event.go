package solver

import (
	"errors"
	"fmt"
	"time"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
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

// Stats is what a run has cost, with the runs that it continues.
type Stats struct {
	Passes    int   // reads of the whole matrix
	Products  int64 // products of G with one vector
	BytesRead int64 // as told by the Matrix (Cost); 0 for an Operator
	// VectorsRead and VectorsWritten are the bytes of blocks in Settings.Space that
	// passes and the loops between them have gone over; 0 without one. They depend on
	// the numbers of the matrix and the settings alone.
	VectorsRead, VectorsWritten int64

	Total         time.Duration // wall time of the run
	Multiply      time.Duration // multiplying in all passes (Cost), or wall time of all passes
	Wait          time.Duration // waiting for data in all passes (Cost), or 0
	Orthogonalise time.Duration // everything between the passes of the recurrences
	Finish        time.Duration // wall time of finishing, its passes included
	Checkpoint    time.Duration // writing checkpoints
}

// Status says why a run ended.
type Status uint8

const (
	// NotTerminated is the zero value: the run has not ended.
	NotTerminated Status = iota
	// Converged: every triplet satisfies the stop rule; under StopResidual
	// every residual of the certificate is at most the tolerance.
	Converged
	// Stagnated: the search is over, but at least one triplet misses the
	// tolerance and cannot be improved: rounding stands in the way, or going
	// on has brought nothing.
	Stagnated
	// PassLimit: Settings.MaxPasses was reached first.
	PassLimit
	// TimeLimit: the deadline of the context passed.
	TimeLimit
	// Cancelled: the context was cancelled.
	Cancelled
	// Breakdown: the operator produced numbers that cannot be worked with.
	Breakdown
)

// ErrBreakdown is wrapped by the error of a run whose numbers cannot be worked with.
var ErrBreakdown = tallskinny.ErrBreakdown

// ErrFault is wrapped by the error of a run whose Space could not deliver what
// was in it.
var ErrFault = tallskinny.ErrFault

var statuses = [...]struct {
	name string
	err  error
}{
	NotTerminated: {"not-terminated", errors.New("run has not ended")},
	Converged:     {"converged", nil},
	Stagnated:     {"stagnated", errors.New("residuals stagnated above the tolerance")},
	PassLimit:     {"pass-limit", errors.New("pass limit reached before convergence")},
	TimeLimit:     {"time-limit", errors.New("time limit reached before convergence")},
	Cancelled:     {"cancelled", errors.New("cancelled before convergence")},
	Breakdown:     {"breakdown", ErrBreakdown},
}

// String returns the name of the status in lower case, words joined by
// hyphens.
func (s Status) String() string {
	if int(s) >= len(statuses) {
		return fmt.Sprintf("status(%d)", uint8(s))
	}
	return statuses[s].name
}

// Early reports whether the run ended before its goal was reached.
func (s Status) Early() bool { return s > Converged && int(s) < len(statuses) }

// Err returns nil for Converged, and otherwise why the run ended before that.
func (s Status) Err() error {
	if int(s) >= len(statuses) {
		return statuses[NotTerminated].err
	}
	return statuses[s].err
}
