package ui

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// Patience is the time after which a command that was interrupted and has not ended reports its activity, and the time
// between two such reports.
const Patience = 2500 * time.Millisecond

// Doing holds the activity that goes on after an interruption.
type Doing struct{ now atomic.Pointer[activity] }

// Linger reports the activity of a command that was interrupted, until the command has ended.
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

// activity is work that is completed although the command was interrupted, because computed data would be lost otherwise. A
// nil activity stands for any other work.
type activity struct {
	what        string
	began       time.Time
	done, total int64 // bytes; total 0: not known
}

// Writing records the progress of an activity; "" ends it. See factor.Options.
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

// Beside describes the current activity; "": there is none.
func (d *Doing) Beside() string {
	if act := d.now.Load(); act != nil {
		return act.describe(time.Now())
	}
	return ""
}

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

// Passes displays the passes of a run.
type Passes struct {
	Display *Display
	// After, if not nil, is called after each pass.
	After   func(solver.Event, factor.Outlook)
	shown   State     // after the last pass
	at      time.Time // time of the last pass
	vectors int64     // bytes of vectors moved up to the last pass
}

// StageOf returns the name of the stage to which a pass belongs.
func StageOf(e solver.Event) string {
	switch e.Phase {
	case solver.PhaseConfirm:
		return "looking for more copies"
	case solver.PhaseOutside:
		return "looking outside of what was found"
	case solver.PhaseFinish:
		return "finishing"
	}
	return "passes"
}

func (p *Passes) Pass(e solver.Event, now factor.Outlook) {
	residual, doing := e.Worst, ""
	if factor.EventOf(e).Searching() {
		residual, doing = e.Residual, ", "+StageOf(e)
	}
	const steps = 1000
	p.shown = State{
		Done: int64(now.Done * steps), Total: steps, ETA: now.Left, About: true,
		Text: fmt.Sprintf("pass %d: %d of %d found%s, residual %.1e", e.Pass, e.Locked, e.Rank, doing, residual),
		Attrs: []slog.Attr{
			slog.String("phase", e.Phase), slog.Int("pass", e.Pass), slog.Int("found", e.Locked), slog.Int("of", e.Rank),
			slog.Any("sigma", Figure{X: e.Sigma, Digits: 6}), slog.Any("residual", Figure{X: residual, Digits: 3}),
			slog.Any("passes/s", Figure{X: float64(e.Pass) / max(e.Stats.Total.Seconds(), 1e-6), Digits: 3}),
		},
	}
	p.Display.Update(p.shown)
	if p.After != nil {
		p.After(e, now)
	}
	p.at, p.vectors = time.Now(), e.Stats.VectorsRead+e.Stats.VectorsWritten
}

// Between displays the work since the last pass.
func (p *Passes) Between(w solver.Stats) {
	s := p.shown
	if s.Total == 0 {
		s.Text = "before the first pass"
	} else {
		s = s.After(time.Since(p.at))
	}
	moved := max(0, w.VectorsRead+w.VectorsWritten-p.vectors)
	s.Text += ", then " + memory.FormatSize(moved) + " of vectors"
	s.Attrs = append(slices.Clone(s.Attrs), slog.Any("vectors", Amount(moved)))
	p.Display.Update(s)
}
