package lanczos

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/method"
)

// timing decides in which passes Ritz pairs are looked at, from how fast they
// got better: in a third of the time that it would take them at that pace, which
// leaves room for the convergence to speed up.
type timing struct {
	missing func([]method.RitzPair) float64
	passes  int     // to wait
	since   int     // passes since the last look
	gap     float64 // log₂ of what was missing then, not finite if that is not known
}

// Passes to wait at most: events tell nothing new in the meantime.
const maxWait = 8

// wait counts a pass and reports whether its Ritz pairs can do without a look.
func (t *timing) wait(must bool) bool {
	t.since++
	if must || t.passes == 0 || t.missing == nil {
		return false
	}
	t.passes--
	return true
}

// solved takes the Ritz pairs of a pass that has been looked at.
func (t *timing) solved(pairs []method.RitzPair) {
	t.passes = 0
	if t.missing == nil {
		return
	}
	gap := math.Log2(t.missing(pairs))
	if pace := (t.gap - gap) / float64(t.since); t.gap > 0 && gap > 0 && pace > 0 && !math.IsInf(pace, 1) {
		t.passes = int(min(maxWait, max(0, gap/(3*pace)-1)))
	}
	if math.IsNaN(gap) || math.IsInf(gap, 0) {
		gap = 0
	}
	t.gap, t.since = gap, 0
}
