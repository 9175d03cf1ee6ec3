// Package outlook estimates how long an iterative run still takes.
package outlook

import (
	"math"
	"time"
)

// Iteration estimates how long a search for singular triplets still takes: from
// how fast residuals fall towards the tolerance, how long passes take, and what
// was expected beforehand. Triplets are found in stages, each of which finds
// one, several or all together. Where each takes as many passes as its gap does, the time left is
// told of the last one alone, once its residual falls steadily.
type Iteration struct {
	// Expected is the number of passes that were expected beforehand, those of
	// finishing excluded; 0 if nothing is known.
	Expected float64
	// Superlinear says that convergence speeds up as it goes, as that of Krylov
	// spaces does: digits grow like the square of the passes. Otherwise they grow
	// in proportion.
	Superlinear bool
	// Blind says that the residual does not decide when a stage is over.
	Blind bool
	// MaxPasses and Deadline, reckoned from the first moment if that belongs to a
	// run that goes on, end the search early; 0 if they do not.
	MaxPasses int
	Deadline  time.Duration
	// Finish estimates the time that finishing takes when passes take so long.
	Finish func(pass time.Duration) time.Duration

	last    Moment
	began   int           // passes before the current stage
	points  []point       // of the current stage
	found   int           // triplets found in stages that are over
	spent   int           // passes of those
	before  time.Duration // that earlier runs have taken
	seconds float64       // a recent pass, with everything around it
	timed   int           // passes that were timed
	done    float64
}

type Moment struct {
	Pass          int           // passes so far
	Elapsed       time.Duration // of the run, with those that it continues
	Rank, Locked  int           // triplets wanted, and found
	Open          int           // triplets looked for together in the pass; 0 if all are found
	More          bool          // the search goes on although all are found
	Residual, Tol float64       // the largest residual of those, or what others depend on, and what it has to fall to
	Finished      bool          // a finishing pass is over
}

// point is how many digits a residual has gained after a number of passes of a stage.
type point struct{ passes, digits float64 }

type Outlook struct {
	Done float64       // share of the time of the run, from 0 to 1; it never falls
	Left time.Duration // 0 if that cannot be said
}

// Observe takes the moments of a run in order.
func (it *Iteration) Observe(m Moment) Outlook {
	it.time(m)
	if m.Locked < it.last.Locked || m.Finished {
		it.found, it.spent = 0, 0 // some are to be found again
		it.next(m.Pass)
	}
	passes, known := it.passes(m)
	if m.Locked > it.last.Locked {
		it.found += m.Locked - it.last.Locked
		it.spent += m.Pass - it.began
		it.next(m.Pass)
	}
	step := max(0, (m.Elapsed - it.last.Elapsed).Seconds())
	it.last = m
	left := it.left(m, passes)
	if total := m.Elapsed.Seconds() + left; total > 0 {
		// The time of this search was not in the estimate: the share that is not done yet is
		// spread over it.
		if m.More && m.Locked == m.Rank && step > 0 {
			it.done += (1 - it.done) * step / (step + left)
		}
		it.done = max(it.done, m.Elapsed.Seconds()/total)
	}
	o := Outlook{Done: min(it.done, 1)}
	if known && it.timed > 0 && m.Elapsed >= etaAfter {
		o.Left = sensible(left)
	}
	return o
}

func (it *Iteration) next(pass int) { it.began, it.points = pass, it.points[:0] }

// time measures passes: the first one reads and decodes what later ones find in
// memory, so it counts until there is another. Of later ones the last few count
// most, since the work between passes grows.
func (it *Iteration) time(m Moment) {
	const memory = 8 // passes
	passes := m.Pass - it.last.Pass
	if it.last.Pass == 0 && m.Pass > 1 {
		it.began, it.before = m.Pass-1, m.Elapsed // a run that is continued
		return
	}
	if passes <= 0 || m.Finished {
		return
	}
	now := (m.Elapsed - it.last.Elapsed).Seconds() / float64(passes)
	it.timed++
	if it.timed <= 2 {
		it.seconds = now
		return
	}
	it.seconds += (now - it.seconds) / float64(min(it.timed-1, memory))
}

// passes estimates how many more passes the search takes; known is false if
// that is a guess.
func (it *Iteration) passes(m Moment) (passes float64, known bool) {
	const others = 3 // passes at least
	missing := m.Rank - m.Locked
	switch {
	case missing <= 0 && m.More && m.Locked > it.last.Locked:
		return others, true
	case missing <= 0 && m.More:
		stage := float64(m.Pass - it.began)
		left, known := it.stage(m, stage, others)
		return max(left, others-stage), known
	case missing <= 0 || m.Finished:
		return 0, true
	}
	if m.Locked > it.last.Locked { // the stage is over with this pass
		found := m.Locked - it.last.Locked
		return it.each(m, it.found+found, it.spent+m.Pass-it.began, found) * float64(missing), m.Open > 1 || it.Superlinear
	}
	open := min(max(m.Open, 1), missing)
	stage := float64(m.Pass - it.began) // passes of this stage
	here, known := it.stage(m, stage, it.each(m, it.found, it.spent, open)*float64(open))
	alone := open == 1 && !it.Superlinear
	if missing == open {
		const enough = 0.25 // of the digits, that a search for one triplet has gained before the rest is extrapolated
		return here, known && (!alone || math.Log10(m.Residual) < enough*math.Log10(m.Tol))
	}
	known = known && !alone // the passes of later triplets depend on gaps that are not known yet
	return here + it.each(m, it.found+open, it.spent+int(stage+here), open)*float64(missing-open), known
}

// each is the number of passes to expect for a triplet after some have been
// found in some passes. What was expected beforehand counts like one stage,
// which finds open of them: those that are found first are often the easy ones.
func (it *Iteration) each(m Moment, found, spent, open int) float64 {
	if it.Expected == 0 {
		return float64(spent) / float64(max(found, 1))
	}
	beforehand := it.Expected / float64(max(m.Rank, 1)) * float64(open)
	return (float64(spent) + beforehand) / float64(found+open)
}

// stage estimates the passes until all triplets that are looked for together
// are found. What was expected counts the less the more digits have been gained,
// and the more of the expected passes are over; known is false when neither
// tells much.
func (it *Iteration) stage(m Moment, passes, expected float64) (left float64, known bool) {
	goal := -math.Log10(m.Tol)
	digits := math.Min(math.Max(-math.Log10(m.Residual), 0), goal)
	if math.IsNaN(digits) || it.Blind || !(goal > 0) {
		digits, goal = 0, math.Max(goal, 1)
	}
	if n := len(it.points); digits > 0 && (n == 0 || it.points[n-1].digits != digits) {
		it.points = append(it.points, point{passes, digits})
	}
	trust := 0.0
	if expected > passes {
		trust = (1 - digits/goal) * (1 - passes/expected)
	}
	known = trust > 0 || digits > leastDigits && !it.Blind
	return trust*(expected-passes) + (1-trust)*it.fit(passes, digits, goal), known
}

// leastDigits are too few to be told from none: the residual has not been halved.
const leastDigits = 0.3

// fit extrapolates the digits gained in the passes of its points to the goal.
func (it *Iteration) fit(passes, digits, goal float64) (left float64) {
	ratio := goal / math.Max(digits, math.Min(leastDigits, goal))
	if it.Superlinear {
		return passes * (math.Sqrt(ratio) - 1) // digits ~ passes²
	}
	if len(it.points) > 1 {
		// Along the chord over the last half of the passes.
		from := it.points[0]
		for _, p := range it.points {
			if p.passes <= passes/2 {
				from = p
			}
		}
		if slope := (digits - from.digits) / (passes - from.passes); slope > 0 && !math.IsInf(slope, 1) {
			return (goal - digits) / slope
		}
	}
	return passes * (ratio - 1)
}

// left is the number of seconds that the given passes and finishing take, within the limits.
func (it *Iteration) left(m Moment, passes float64) float64 {
	if it.MaxPasses > 0 {
		passes = max(0, min(passes, float64(it.MaxPasses-m.Pass-1)))
	}
	left := passes * it.seconds
	if it.Deadline > 0 {
		left = max(0, min(left, (it.Deadline-(m.Elapsed-it.before)).Seconds()))
	}
	if !m.Finished && it.Finish != nil {
		left += it.Finish(time.Duration(it.seconds * float64(time.Second))).Seconds()
	}
	return left
}

const (
	// etaAfter is how long a task must have run before its rate means anything.
	etaAfter = 2 * time.Second
	// etaLimit is the longest estimate worth showing.
	etaLimit = 100 * time.Hour
)

// AtRate is the time left if the rest of the task goes at the rate so far; 0 when that cannot be said.
func AtRate(done, total int64, elapsed time.Duration) time.Duration {
	if done <= 0 || total <= done || elapsed < etaAfter {
		return 0
	}
	return sensible(elapsed.Seconds() * float64(total-done) / float64(done))
}

// sensible turns seconds into a duration, 0 for what is not a believable one.
func sensible(seconds float64) time.Duration {
	if !(seconds > 0) || seconds > etaLimit.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
