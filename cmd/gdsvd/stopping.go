package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// patience is the time after which a command that was interrupted and has not ended says
// what it is doing, and that between two such lines.
const patience = 2500 * time.Millisecond

// linger says what a command that was interrupted is still doing, until it has ended.
func (a *app) linger(ctx context.Context, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	since := time.Now()
	tick := time.NewTicker(a.patience)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			a.say(fmt.Sprintf("gdsvd: interrupted %s ago, still %s (once more to stop at once)",
				ui.Short(time.Since(since)), a.doing.Load().describe(time.Now())))
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

// writing notes how far an activity is: see factor.Options.
func (a *app) writing(what string, done, total int64) {
	if what == "" {
		a.doing.Store(nil)
		return
	}
	now := activity{what, time.Now(), done, total}
	if before := a.doing.Load(); before != nil && before.what == what {
		now.began = before.began
	}
	a.doing.Store(&now)
}

// beside describes the activity under way, "" if there is none.
func (a *app) beside() string {
	if act := a.doing.Load(); act != nil {
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
		return fmt.Sprintf("%s, for %s", x.what, ui.Short(now.Sub(x.began)))
	case x.done >= x.total:
		return fmt.Sprintf("%s: %s are written, waiting for the disk", x.what, memory.FormatSize(x.total))
	case x.done == 0:
		return fmt.Sprintf("%s of %s", x.what, memory.FormatSize(x.total))
	}
	left := time.Duration(float64(now.Sub(x.began)) * float64(x.total-x.done) / float64(x.done))
	return fmt.Sprintf("%s: %s of %s, about %s left", x.what, memory.FormatSize(x.done), memory.FormatSize(x.total), ui.Short(left))
}
