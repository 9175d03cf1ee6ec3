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

// Passes shows the passes of a run.
type Passes struct {
	Display *Display
	// After, if not nil, is told of each pass as well.
	After   func(solver.Event, factor.Outlook)
	shown   State     // after the last pass
	at      time.Time // which was then
	vectors int64     // bytes of vectors moved until then
}

// StageOf names what a pass is for.
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

// Between shows the work since the last pass.
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
