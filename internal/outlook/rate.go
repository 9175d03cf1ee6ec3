package outlook

import "time"

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
