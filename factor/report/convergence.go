package report

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/solver"
)

// leastResidual is the least residual that is drawn: a smaller one is drawn at the foot of the chart.
const leastResidual = 1e-17

func (p *page) convergence(r *factor.Result, events []factor.Event) {
	if r.Completion != nil {
		p.rounds(events)
		return
	}
	if !slices.ContainsFunc(events, func(e factor.Event) bool { return !e.Searching() }) {
		return
	}
	p.section("Convergence", "")
	p.WriteString("<div class=\"pair\">\n")
	p.residuals(r, events, counting("passes", 0, 1), func(e factor.Event) float64 { return float64(e.Pass) })
	if slices.ContainsFunc(events, func(e factor.Event) bool { return e.Seconds.Total > 0 }) {
		p.residuals(r, events, linear("seconds", 0, 1), func(e factor.Event) float64 { return e.Seconds.Total })
	}
	p.WriteString("</div>\n")
	p.f("<p class=\"dim\">Residuals are relative to %s. Curves are estimates during the run; an estimate below a tenth of the tolerance and of every certified residual is drawn at the bottom, since rounding keeps the true residual above it.", scaleOf(r))
	if r.Certified {
		p.f(" Marks at the end are certified residuals, measured on %s.", matrixOf(r))
	}
	p.WriteString("</p>\n")
	p.end()
}

// estimated returns the least estimate that is drawn: min(tolerance, least certified residual)/10, at least leastResidual.
func estimated(r *factor.Result) float64 {
	least := r.Settings.Tol
	for _, v := range r.Residual {
		if x := float64(v); r.Certified && x > 0 {
			least = min(least, x)
		}
	}
	return max(least/10, leastResidual)
}

func matrixOf(r *factor.Result) string {
	return either(r.View != nil, "the view of the matrix", "the matrix")
}

// residuals draws the residuals of events over x, with the axis over, which it extends to the last event.
func (p *page) residuals(r *factor.Result, events []factor.Event, over axis, x func(factor.Event) float64) {
	what := over.title
	foot := estimated(r)
	least, last := 1., 0.
	var of []int // triplets with a curve, in order
	curves := map[int][]point{}
	var worst, search []point
	for _, e := range events {
		last = max(last, x(e))
		add := func(to []point, v factor.Number) []point {
			if !finite(v) {
				return to
			}
			y := min(max(float64(v), foot), 1)
			least = min(least, y)
			return append(to, point{x(e), y})
		}
		switch {
		case e.Searching():
			search = add(search, e.Worst)
			continue
		case e.Open > 1:
			worst = add(worst, e.Worst)
		}
		if e.Phase == solver.PhaseIterate && finite(e.Residual) {
			if curves[e.Triplet] == nil {
				of = append(of, e.Triplet)
			}
			curves[e.Triplet] = add(curves[e.Triplet], e.Residual)
		}
	}
	var certified []point
	step := max(1, (len(r.Residual)+mostPoints-1)/mostPoints)
	for i, v := range r.Residual {
		if y := float64(v); r.Certified && i%step == 0 && y-y == 0 {
			y = min(max(y, leastResidual), 1)
			least = min(least, y)
			certified = append(certified, point{last, y})
		}
	}
	y := logarithmic("residual", min(least, max(r.Settings.Tol, leastResidual), 0.1), 1)
	over.hi = max(last, 1e-3)
	c := newChart("Residuals by "+what, over, y)
	for i, triplet := range of {
		c.line(curves[triplet], i%8, markedUp(`stroke-opacity="0.75" %s`, dash(i/8)))
	}
	c.line(worst, 10, "")
	c.line(search, 9, `stroke-dasharray="2 3"`)
	c.dots(certified, 0)
	if r.Settings.Tol > leastResidual {
		c.across(r.Settings.Tol, "tolerance")
	}
	caption := markedUp("Residuals by %s. ", what)
	if len(of) > 1 {
		for i, triplet := range of[:min(len(of), 8*len(dashes))] {
			caption += stroke(i%8, dash(i/8), markedUp("%d", triplet+1))
		}
		caption += markedUp("are the triplets of the curves, %d in all. ", len(of))
	} else {
		caption += key(0, "first triplet searched for")
	}
	if len(worst) > 0 {
		caption += key(10, "worst of the triplets searched together")
	}
	if len(search) > 0 {
		caption += key(9, "search for missed triplets")
	}
	p.figure(c, caption)
}

func (p *page) rounds(events []factor.Event) {
	if len(events) == 0 {
		return
	}
	p.section("Convergence", "")
	p.WriteString("<div class=\"pair\">\n")
	for _, x := range []struct {
		what, axis string
		of         []func(factor.Event) factor.Number
		keys       []markup
	}{
		{"Objective by rounds", "objective", []func(factor.Event) factor.Number{func(e factor.Event) factor.Number { return e.Objective }}, []markup{"objective F"}},
		{"Errors by rounds", "error", []func(factor.Event) factor.Number{func(e factor.Event) factor.Number { return e.RMSE }, func(e factor.Event) factor.Number { return e.HeldOut }},
			[]markup{"root mean square error on the entries fitted", "on entries held out"}},
	} {
		lo, hi, last := math.Inf(1), math.Inf(-1), 1.
		type part struct {
			of     int
			points []point
		}
		var parts []*part // one curve for each phase
		for i, of := range x.of {
			phase := ""
			for _, e := range events {
				y := float64(of(e))
				if !(y > 0) || y-y != 0 {
					continue
				}
				if len(parts) == 0 || parts[len(parts)-1].of != i || phase != e.Phase {
					phase = e.Phase
					parts = append(parts, &part{of: i})
				}
				lo, hi, last = min(lo, y), max(hi, y), max(last, float64(e.Pass))
				parts[len(parts)-1].points = append(parts[len(parts)-1].points, point{float64(e.Pass), y})
			}
		}
		if len(parts) == 0 {
			continue
		}
		y := linear(x.axis, lo, hi)
		if hi > 5*lo {
			y = logarithmic(x.axis, lo, hi)
		}
		c := newChart(x.what, counting("round", 0, last), y)
		caption, keyed := markup(""), -1
		for _, s := range parts {
			if c.line(s.points, s.of, ""); s.of != keyed {
				keyed = s.of
				caption += key(s.of, x.keys[s.of])
			}
		}
		p.figure(c, caption)
	}
	p.WriteString("</div>\n")
	p.end()
}

// readEvents reads the events of a result, nil if it has none. The error of a file that differs from result.json wraps
// csr.ErrCorrupt.
func readEvents(ctx context.Context, r *factor.Result) (_ []factor.Event, err error) {
	path := filepath.Join(r.Dir(), layout.Events)
	f, err := r.FS().Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var sum crc.Summer
	events, line, err := live.ReadEvents(ctx, io.TeeReader(f, &sum))
	for _, file := range r.Files {
		if err == nil && file.Name == layout.Events && (file.Size != sum.Size || file.CRC != sum.CRC) {
			err = fmt.Errorf("%w: %d bytes with the checksum %v, where %s says %d with %v", live.ErrEvents, sum.Size, sum.CRC, factor.ResultFile, file.Size, file.CRC)
		}
	}
	if errors.Is(err, live.ErrEvents) {
		err = fmt.Errorf("%w: %s: line %d: %w: the file is damaged; remove the result and compute it again", csr.ErrCorrupt, path, line, err)
	}
	return events, r.OrReplaced(err)
}
