package main

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/solver"
)

// svdProgress shows the passes of a run.
type svdProgress struct {
	display   *progress.Display
	iteration progress.Iteration
	shown     progress.State // after the last pass
	at        time.Time      // which was then
	vectors   int64          // bytes of vectors moved until then
}

// newSVDProgress begins to show a run with a method.
func (a *app) newSVDProgress(store *csr.Store, method solver.Method, o *svdOptions) *svdProgress {
	a.display.Begin("svd")
	expected := solver.EstimateOf(o.problem(store, o.planned), o.machine(), method)
	about := method.Traits(o.rank)
	width := float64(about.Width(o.rank))
	return &svdProgress{display: a.display, iteration: progress.Iteration{
		Expected: float64(expected.Passes - 1), Superlinear: about.Copies > 0, Blind: o.stop == solver.StopPaper,
		MaxPasses: o.maxPasses, Deadline: o.timeLimit,
		Finish: func(pass time.Duration) time.Duration {
			return finishTime(pass, width, store.Rows(), o)
		},
	}}
}

// finishTime estimates what comes after the search: a pass with as many columns
// as triplets, and long vectors written, read and written again.
func finishTime(pass time.Duration, width float64, rows int64, o *svdOptions) time.Duration {
	const diskRate = 1e9                                               // bytes a second, of a disk or of the page cache
	t := pass.Seconds() * max(1, math.Pow(float64(o.rank)/width, 0.7)) // wide passes cost less a column
	if o.vectors != noVectors {
		t += 3 * 8 * float64(rows) * float64(o.rank) / diskRate
	}
	return time.Duration(t * float64(time.Second))
}

// Observe implements solver.Observer.
func (p *svdProgress) Observe(e solver.Event) error {
	now := p.iteration.Observe(progress.Moment{
		Pass: e.Pass, Elapsed: e.Stats.Total, Rank: e.Rank, Locked: e.Locked,
		Open: e.Open, More: e.More, Residual: e.Worst, Tol: e.Goal, Finished: e.Phase == solver.PhaseFinish,
	})
	residual, doing := e.Worst, ""
	switch e.Phase {
	case solver.PhaseConfirm:
		residual, doing = e.Residual, ", looking for more copies"
	case solver.PhaseOutside:
		residual, doing = e.Residual, ", looking outside of them"
	}
	const steps = 1000
	s := progress.State{
		Done: int64(now.Done * steps), Total: steps, ETA: now.Left, About: true,
		Text: fmt.Sprintf("pass %d: %d of %d found%s, residual %.1e", e.Pass, e.Locked, e.Rank, doing, residual),
		Attrs: []slog.Attr{
			slog.String("phase", e.Phase), slog.Int("pass", e.Pass), slog.String("found", fmt.Sprintf("%d/%d", e.Locked, e.Rank)),
			slog.String("sigma", fmt.Sprintf("%.6g", e.Sigma)), slog.String("residual", fmt.Sprintf("%.2e", residual)),
			slog.String("passes/s", fmt.Sprintf("%.3g", float64(e.Pass)/max(e.Stats.Total.Seconds(), 1e-6))),
		},
	}
	p.display.Update(s)
	p.shown, p.at, p.vectors = s, time.Now(), e.Stats.VectorsRead+e.Stats.VectorsWritten
	return nil
}

// Watch implements solver.Watcher: it tells of the work since the last pass.
func (p *svdProgress) Watch(w solver.Work) {
	s := p.shown
	if s.Total == 0 {
		s.Text = "before the first pass"
	} else {
		s = s.After(time.Since(p.at))
	}
	size := memory.FormatSize(max(0, w.VectorsRead+w.VectorsWritten-p.vectors))
	s.Text += ", then " + size + " of vectors"
	s.Attrs = append(slices.Clone(s.Attrs), slog.String("vectors", size))
	p.display.Update(s)
}
