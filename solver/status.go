package solver

import (
	"errors"
	"fmt"
	"time"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

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
