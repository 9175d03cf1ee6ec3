package ui

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

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

// Pass shows a pass.
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
