// Package outlook estimates how long an iterative run still takes.
package outlook

import (
	"math"
	"time"
)

// Iteration estimates how long a search for singular triplets still takes: from how fast residuals fall towards the
// tolerance, how long passes take, and the number of passes expected beforehand. Triplets are found in stages; a stage finds
// one triplet, several or all. If stages find one triplet each at linear speed the gap of each decides how many passes it
// takes: then an estimate is given for the last stage only, after its residual has gained a quarter of the digits wanted.
type Iteration struct {
	// Expected is the number of passes that were expected beforehand, without those of finishing; 0: unknown.
	Expected float64
	// Superlinear is set if convergence speeds up, as that of Krylov spaces does: the number of correct digits grows like
	// the square of the number of passes. Otherwise it grows in proportion to the passes.
	Superlinear bool
	// Blind is set if the residual does not decide when a stage is over.
	Blind bool
	// MaxPasses and Deadline limit the search; 0: no limit. In a continued run Deadline counts from the first Moment
	// observed.
	MaxPasses int
	Deadline  time.Duration
	// Finish estimates the duration of the finishing pass, given the duration of a pass of the search.
	Finish func(pass time.Duration) time.Duration

	last    Moment
	began   int           // passes before the current stage
	points  []point       // of the current stage, in order
	found   int           // triplets found in stages that are over
	spent   int           // passes of the stages that are over
	before  time.Duration // duration of the earlier runs
	seconds float64       // average duration of recent passes, with the work between passes
	timed   int           // passes that were timed
	done    float64
}

type Moment struct {
	Pass          int           // passes so far
	Elapsed       time.Duration // of the run, with the runs that it continues
	Rank, Locked  int           // triplets wanted; triplets found
	Open          int           // triplets that the pass looked for together; 0 if all are found
	More          bool          // the search goes on although all are found
	Residual, Tol float64       // largest residual of the open triplets, or the measure that ends the phase; its goal
	Finished      bool          // a finishing pass is over
}

// point is the number of digits that the residual has gained after a number of passes of the stage.
type point struct{ passes, digits float64 }

type Outlook struct {
	Done float64       // elapsed share of the time of the run, from 0 to 1; it never falls
	Left time.Duration // 0: unknown
}

// Observe returns the outlook at moment m. It must be called with the moments of a run in order.
func (it *Iteration) Observe(m Moment) Outlook {
	it.time(m)
	if m.Locked < it.last.Locked || m.Finished {
		it.found, it.spent = 0, 0 // some triplets have to be found again
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
		// The estimate did not include this further search: the share that is not done yet is spread over it.
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

// time updates the average duration of a pass. The first pass reads and decodes data that later passes find in memory, so
// the second pass replaces it. Of the later passes the last few count most, since the work between passes grows.
func (it *Iteration) time(m Moment) {
	const memory = 8 // passes in the average
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

// passes estimates how many more passes the search takes; known is false if the estimate is a guess.
func (it *Iteration) passes(m Moment) (passes float64, known bool) {
	const others = 3 // least number of passes of a search for further triplets
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
		const enough = 0.25 // share of the digits that a search for one triplet has to gain before it is extrapolated
		return here, known && (!alone || math.Log10(m.Residual) < enough*math.Log10(m.Tol))
	}
	known = known && !alone // later triplets depend on gaps that are not known yet
	return here + it.each(m, it.found+open, it.spent+int(stage+here), open)*float64(missing-open), known
}

// each returns the expected number of passes for one triplet, after found triplets took spent passes. The expectation from
// beforehand counts like one stage that finds open triplets, because the first triplets found are often the easy ones.
func (it *Iteration) each(m Moment, found, spent, open int) float64 {
	if it.Expected == 0 {
		return float64(spent) / float64(max(found, 1))
	}
	beforehand := it.Expected / float64(max(m.Rank, 1)) * float64(open)
	return (float64(spent) + beforehand) / float64(found+open)
}

// stage estimates the passes until all triplets of the stage are found. The expected number of passes counts the less the
// more digits have been gained and the more of these passes are over; known is false if neither source tells much.
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

// leastDigits is the gain of a residual that was halved; a smaller gain cannot be told from none.
const leastDigits = 0.3

// fit returns the number of passes from now to the goal, extrapolated from the points of the stage.
func (it *Iteration) fit(passes, digits, goal float64) (left float64) {
	ratio := goal / math.Max(digits, math.Min(leastDigits, goal))
	if it.Superlinear {
		return passes * (math.Sqrt(ratio) - 1) // digits ~ passes²
	}
	if len(it.points) > 1 {
		// The slope is that of the chord over the last half of the passes.
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

// left returns the seconds that the given number of passes and finishing take, within MaxPasses and Deadline.
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
	// etaAfter is the time that a task must have run before its rate is meaningful.
	etaAfter = 2 * time.Second
	// etaLimit is the longest estimate worth showing.
	etaLimit = 100 * time.Hour
)

// AtRate returns the time left if the task goes on at the average rate so far; 0: unknown.
func AtRate(done, total int64, elapsed time.Duration) time.Duration {
	if done <= 0 || total <= done || elapsed < etaAfter {
		return 0
	}
	return sensible(elapsed.Seconds() * float64(total-done) / float64(done))
}

// sensible converts seconds to a duration, or to 0 if they are not positive or more than etaLimit.
func sensible(seconds float64) time.Duration {
	if !(seconds > 0) || seconds > etaLimit.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}
