package main

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/vfs"
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
				progress.Short(time.Since(since)), a.doing.Load().describe(time.Now())))
		}
	}
}

// activity is something that is done to its end although the command was interrupted,
// because what has been computed would be lost. A nil activity is everything else.
type activity struct {
	what        string
	began       time.Time
	done, total atomic.Int64 // bytes; a total of 0 is not known
}

// during begins an activity, which lasts until end is called.
func (a *app) during(what string) (act *activity, end func()) {
	act = &activity{what: what, began: time.Now()}
	before := a.doing.Swap(act)
	return act, func() { a.doing.Store(before) }
}

// beside describes the activity under way, "" if there is none.
func (a *app) beside() string {
	if act := a.doing.Load(); act != nil {
		return act.describe(time.Now())
	}
	return ""
}

// Expect says how many bytes there are to be written: see solver.Expecter.
func (x *activity) Expect(bytes int64) { x.total.Add(bytes) }

// describe says how far the activity is.
func (x *activity) describe(now time.Time) string {
	if x == nil {
		return "waiting for the step under way to come to its end"
	}
	done, total := x.done.Load(), x.total.Load()
	switch {
	case total == 0:
		return fmt.Sprintf("%s, for %s", x.what, progress.Short(now.Sub(x.began)))
	case done >= total:
		return fmt.Sprintf("%s: %s are written, waiting for the disk", x.what, memory.FormatSize(total))
	case done == 0:
		return fmt.Sprintf("%s of %s", x.what, memory.FormatSize(total))
	}
	left := time.Duration(float64(now.Sub(x.began)) * float64(total-done) / float64(done))
	return fmt.Sprintf("%s: %s of %s, about %s left", x.what, memory.FormatSize(done), memory.FormatSize(total), progress.Short(left))
}

// countedFile is a file that is being written by an activity. It waits for the disk now and
// then, so that the bytes that are counted are on it and the end is no surprise.
type countedFile struct {
	*activity
	f     vfs.File
	dirty int
}

// syncBytes is what is written between two waits for the disk.
const syncBytes = 256 << 20

var _ io.Writer = (*countedFile)(nil)

func (c *countedFile) Write(b []byte) (int, error) {
	n, err := c.f.Write(b)
	c.done.Add(int64(n))
	if c.dirty += n; err == nil && c.dirty >= syncBytes {
		c.dirty = 0
		err = c.f.Sync()
	}
	return n, err
}
