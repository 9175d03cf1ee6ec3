package solver

import "math"

// aimer is implemented by recurrences for which it costs something to say how
// good their candidates are. missing says by what factor the residual of a
// candidate exceeds what will be accepted; nil means that the candidates of every
// pass are wanted. In between those of an earlier pass are reported once more. The
// driver calls aim before Next.
type aimer interface {
	aim(missing func(Candidate) float64)
}

// timing decides in which passes candidates are looked at, from how fast they
// got better: in a third of the time that it would take them at that pace, which
// leaves room for the convergence to speed up.
type timing struct {
	missing func(Candidate) float64
	passes  int     // to wait
	since   int     // passes since the last look
	gap     float64 // log₂ of what was missing then, not finite if that is not known
}

// Passes to wait at most: events tell nothing new in the meantime.
const maxWait = 8

// wait counts a pass and reports whether its candidates can do without a look.
func (t *timing) wait(must bool) bool {
	t.since++
	if must || t.passes == 0 || t.missing == nil {
		return false
	}
	t.passes--
	return true
}

// solved takes the candidates of a pass that has been looked at.
func (t *timing) solved(cands []Candidate) {
	t.passes = 0
	if t.missing == nil {
		return
	}
	worst := 0.0
	for _, c := range cands {
		worst = max(worst, t.missing(c))
	}
	gap := math.Log2(worst)
	if pace := (t.gap - gap) / float64(t.since); t.gap > 0 && gap > 0 && pace > 0 && !math.IsInf(pace, 1) {
		t.passes = int(min(maxWait, max(0, gap/(3*pace)-1)))
	}
	if math.IsNaN(gap) || math.IsInf(gap, 0) {
		gap = 0
	}
	t.gap, t.since = gap, 0
}

const timingScalars = 3

// save returns the state of t as scalars.
func (t *timing) save() []float64 {
	return []float64{float64(t.passes), float64(t.since), t.gap}
}

// timing returns what was saved from scalar i on.
func (s State) timing(i int) (t timing, err error) {
	if t.passes, err = s.count(i, maxWait); err != nil {
		return t, err
	}
	t.since, err = s.count(i+1, math.MaxInt32)
	t.gap = s.Scalars[i+2]
	return t, err
}
