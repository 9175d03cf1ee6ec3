package progress

import (
	"math"
	"time"
)

const (
	// etaAfter is how long a task must have run before its rate means anything.
	etaAfter = 2 * time.Second
	// etaLimit is the longest estimate worth showing.
	etaLimit = 100 * time.Hour
)

// rateETA is the time left if the rest of the task goes at the rate so far; 0 when that cannot be said.
func rateETA(done, total int64, elapsed time.Duration) time.Duration {
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

// window is how many recent residuals Convergence looks at; it says nothing before it has seen half of them.
const window = 32

// steady is how far the rates of the two halves of the window may be apart.
const steady = 3

// Convergence estimates when a residual that falls geometrically will reach
// its tolerance. The zero value is ready.
type Convergence struct {
	at  []float64 // seconds
	log []float64 // natural logarithms of residuals
}

// Reset forgets what was seen: the residuals of something else follow.
func (c *Convergence) Reset() { c.at, c.log = c.at[:0], c.log[:0] }

// Observe takes the residual at a moment and returns the time left until it
// reaches tol, 0 if the residuals seen so far do not fall steadily enough to say.
func (c *Convergence) Observe(at time.Duration, residual, tol float64) time.Duration {
	if !(residual > 0) || math.IsInf(residual, 0) || !(tol > 0) {
		c.Reset()
		return 0
	}
	if len(c.at) == window {
		c.at = append(c.at[:0], c.at[1:]...)
		c.log = append(c.log[:0], c.log[1:]...)
	}
	c.at = append(c.at, at.Seconds())
	c.log = append(c.log, math.Log(residual))
	n := len(c.at)
	if residual <= tol || n < window/2 {
		return 0
	}
	older, newer, all := slope(c.at[:n/2], c.log[:n/2]), slope(c.at[n/2:], c.log[n/2:]), slope(c.at, c.log)
	if !(older < 0 && newer < 0 && all < 0) || older/newer > steady || newer/older > steady {
		return 0
	}
	return sensible((math.Log(residual) - math.Log(tol)) / -all)
}

// slope of the least-squares line through the points (x, y).
func slope(x, y []float64) float64 {
	var mx, my float64
	for i := range x {
		mx += x[i]
		my += y[i]
	}
	mx /= float64(len(x))
	my /= float64(len(x))
	var xx, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
	}
	return xy / xx
}
