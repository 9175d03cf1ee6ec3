package solver

import (
	"errors"
	"fmt"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

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

// Errors that Status.Err returns.
var (
	ErrNotTerminated = errors.New("run has not ended")
	ErrStagnated     = errors.New("residuals stagnated above the tolerance")
	ErrPassLimit     = errors.New("pass limit reached before convergence")
	ErrTimeLimit     = errors.New("time limit reached before convergence")
	ErrCancelled     = errors.New("cancelled before convergence")
	ErrBreakdown     = tallskinny.ErrBreakdown
)

// ErrFault is wrapped by the error of a run whose Space could not deliver what
// was in it.
var ErrFault = tallskinny.ErrFault

// errNotFinite is that of a finishing pass.
var errNotFinite = fmt.Errorf("product is not finite: %w", ErrBreakdown)

var statuses = [...]struct {
	name  string
	early bool
	err   error
}{
	NotTerminated: {"not-terminated", false, ErrNotTerminated},
	Converged:     {"converged", false, nil},
	Stagnated:     {"stagnated", true, ErrStagnated},
	PassLimit:     {"pass-limit", true, ErrPassLimit},
	TimeLimit:     {"time-limit", true, ErrTimeLimit},
	Cancelled:     {"cancelled", true, ErrCancelled},
	Breakdown:     {"breakdown", true, ErrBreakdown},
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
func (s Status) Early() bool { return int(s) < len(statuses) && statuses[s].early }

// Err returns nil for Converged and the matching Err… variable otherwise.
func (s Status) Err() error {
	if int(s) >= len(statuses) {
		return ErrNotTerminated
	}
	return statuses[s].err
}

// MarshalText implements encoding.TextMarshaler with the name of the status.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
