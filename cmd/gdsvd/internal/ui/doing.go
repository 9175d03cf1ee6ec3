package ui

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/internal/memory"
)

// Patience is the time after which a command that was interrupted and has not ended says
// what it is doing, and that between two such lines.
const Patience = 2500 * time.Millisecond

// Doing is what goes on after an interruption.
type Doing struct{ now atomic.Pointer[activity] }

// Linger says what a command that was interrupted is still doing, until it has ended.
func (d *Doing) Linger(ctx context.Context, ended <-chan struct{}, patience time.Duration, say func(line string)) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	since := time.Now()
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			say(fmt.Sprintf("gdsvd: interrupted %s ago, still %s (once more to stop at once)",
				Short(time.Since(since)), d.now.Load().describe(time.Now())))
		}
	}
}

// activity is something that is done to its end although the command was interrupted,
// because what has been computed would be lost. A nil activity is everything else.
type activity struct {
	what        string
	began       time.Time
	done, total int64 // bytes; a total of 0 is not known
}

// Writing notes how far an activity is: see factor.Options.
func (d *Doing) Writing(what string, done, total int64) {
	if what == "" {
		d.now.Store(nil)
		return
	}
	now := activity{what, time.Now(), done, total}
	if before := d.now.Load(); before != nil && before.what == what {
		now.began = before.began
	}
	d.now.Store(&now)
}

// Beside describes the activity under way, "" if there is none.
func (d *Doing) Beside() string {
	if act := d.now.Load(); act != nil {
		return act.describe(time.Now())
	}
	return ""
}

// describe says how far the activity is.
func (x *activity) describe(now time.Time) string {
	switch {
	case x == nil:
		return "waiting for the step under way to come to its end"
	case x.total == 0:
		return fmt.Sprintf("%s, for %s", x.what, Short(now.Sub(x.began)))
	case x.done >= x.total:
		return fmt.Sprintf("%s: %s are written, waiting for the disk", x.what, memory.FormatSize(x.total))
	case x.done == 0:
		return fmt.Sprintf("%s of %s", x.what, memory.FormatSize(x.total))
	}
	left := time.Duration(float64(now.Sub(x.began)) * float64(x.total-x.done) / float64(x.done))
	return fmt.Sprintf("%s: %s of %s, about %s left", x.what, memory.FormatSize(x.done), memory.FormatSize(x.total), Short(left))
}
