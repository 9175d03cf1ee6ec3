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
	PhaseInspect = "inspect" // a pass that checks that the matrix is symmetric
	PhaseConfirm = "confirm" // a pass that looks for more copies of values found
	PhaseOutside = "outside" // a pass that looks for values larger than those found
)

// Event describes a run after one pass. It is a plain record, for progress bars, logs and tests alike.
type Event struct {
	Phase    string  // one of the Phase constants
	Pass     int     // passes so far, this one included
	Triplet  int     // index of the triplet worked on, from 0 (finish: of the largest residual)
	Locked   int     // triplets found so far
	Rank     int     // triplets wanted
	Sigma    float64 // current estimate of the singular value of Triplet
	Residual float64 // its residual relative to σ₁: an estimate (iterate), certified (finish)
	// Sigma and Residual are those of an earlier pass if the method has not computed its Ritz pairs, which
	// could not be good enough yet.
	// Open is the number of triplets that the pass searched for together, including those that it found. Worst is
	// the largest of their residuals, at most 1, and 1 if nothing is known about one of them yet. All of them are
	// found in the pass in which Worst falls to the tolerance. In a finishing pass Open counts all triplets and
	// Worst is Residual. In confirm and outside passes Open is 0, and Worst falls from 1 to Goal with the evidence.
	Open  int
	Worst float64
	Goal  float64 // value of Worst at which the phase ends; 0: not known
	Tol   float64 // the tolerance asked for
	// More reports whether the search goes on although all triplets are found: for more copies of their values,
	// or for evidence that no larger values were missed.
	More  bool
	Stats Stats // costs so far
}

func (r *run) event(phase string, triplet int, c method.RitzPair) Event {
	return Event{
		Phase: phase, Pass: r.passes.stats.Passes, Triplet: triplet, Locked: r.found.Len(), Rank: r.found.Len() + r.missing(nil),
		Sigma: r.reported(r.found.Sigma(c.Value)), Residual: r.found.Relative(c), Goal: r.s.Tol, Tol: r.s.Tol, Stats: r.passes.cost(),
	}
}

// outlook returns Event.Open and Event.Worst of a pass that reported pairs.
func (r *run) outlook(pairs []method.RitzPair) (open int, worst float64) {
	missing := r.missing(pairs)
	open = min(len(pairs), missing)
	if r.about.Copies > 0 {
		open = missing // the space grows until it contains all of them
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

// Stats is the cost of a run, including the runs that it continues.
type Stats struct {
	Passes    int   // reads of the whole matrix
	Products  int64 // products of G with one vector
	BytesRead int64 // as reported by the Matrix (Cost); 0 for an Operator
	// VectorsRead and VectorsWritten are the bytes of blocks in Settings.Space that passes and the loops between
	// them have read and written; 0 without a Space. They depend on the entries of the matrix and the settings alone.
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
	// Stagnated: the search is over, but at least one triplet misses the tolerance and cannot be improved because
	// of rounding or because further passes did not help, or the triplets could not be shown to be the leading ones.
	Stagnated
	// PassLimit: Settings.MaxPasses was reached first.
	PassLimit
	// TimeLimit: Settings.Deadline or the deadline of the context passed.
	TimeLimit
	// Cancelled: the context was cancelled.
	Cancelled
	// Breakdown: the operator produced numbers that are not finite or out of range.
	Breakdown
)

// ErrBreakdown is wrapped by the error of a run that fails numerically: its numbers are not finite, or an
// algorithm fails on them.
var ErrBreakdown = tallskinny.ErrBreakdown

// ErrFault is wrapped by the error of a run that met a memory fault in the blocks of its Space.
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

// Err returns nil for Converged, and otherwise an error that says why the run ended before convergence.
func (s Status) Err() error {
	if int(s) >= len(statuses) {
		return statuses[NotTerminated].err
	}
	return statuses[s].err
}
