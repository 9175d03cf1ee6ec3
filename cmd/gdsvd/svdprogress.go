package main

import (
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/solver"
)

// svdProgress shows the passes of a run.
type svdProgress struct {
	display     *progress.Display
	convergence progress.Convergence
	triplet     int
	first       float64 // largest residual seen of the triplet
}

func newSVDProgress(d *progress.Display) *svdProgress {
	d.Begin("svd")
	return &svdProgress{display: d, triplet: -1}
}

// tripletSteps is how finely the bar divides the work on one triplet.
const tripletSteps = 1000

// Observe implements solver.Observer.
func (p *svdProgress) Observe(e solver.Event) error {
	if e.Triplet != p.triplet || e.Phase != solver.PhaseIterate {
		p.triplet, p.first = e.Triplet, 0
		p.convergence.Reset()
	}
	p.first = max(p.first, e.Residual)
	var left time.Duration
	if e.Phase == solver.PhaseIterate {
		left = p.convergence.Observe(e.Stats.Total, e.Residual, e.Tol)
	}
	s := progress.State{
		Done:  int64(tripletSteps * (float64(e.Locked) + share(p.first, e.Residual, e.Tol))),
		Total: int64(tripletSteps * e.Rank),
		Text:  fmt.Sprintf("pass %d triplet %d/%d σ %.5g residual %.1e", e.Pass, e.Triplet+1, e.Rank, e.Sigma, e.Residual),
		Attrs: []slog.Attr{
			slog.String("phase", e.Phase), slog.Int("pass", e.Pass), slog.String("triplet", fmt.Sprintf("%d/%d", e.Triplet+1, e.Rank)),
			slog.String("sigma", fmt.Sprintf("%.6g", e.Sigma)), slog.String("residual", fmt.Sprintf("%.2e", e.Residual)),
			slog.String("passes/s", fmt.Sprintf("%.3g", float64(e.Pass)/max(e.Stats.Total.Seconds(), 1e-6))),
		},
	}
	if left > 0 {
		// How long the triplets after this one will take cannot be known: with
		// the last one all is done, before it only this triplet is.
		if e.Triplet == e.Rank-1 {
			s.ETA = left
		} else {
			s.Text += " (~" + progress.Short(left) + ")"
			s.Attrs = append(s.Attrs, slog.String("triplet_eta", progress.Short(left)))
		}
	}
	p.display.Update(s)
	return nil
}

// share is how far a residual has come on its way down from first to tol, on a logarithmic scale, from 0 to 1.
func share(first, now, tol float64) float64 {
	x := math.Log(first/now) / math.Log(first/tol)
	if !(x > 0) { // NaN too
		return 0
	}
	return min(x, 1)
}
