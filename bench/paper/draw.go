package main

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// figures draws all figures that there are records for, and returns their names.
func (l *lab) figures(records []*Record) (names []string, err error) {
	add := func(name string, width vg.Length, charts ...chart) {
		var plots []*plot.Plot
		for _, c := range charts {
			if len(c.curves) == 0 {
				return
			}
			p, e := c.plot()
			if e != nil {
				err = errors.Join(err, fmt.Errorf("figure %s: %w", name, e))
				return
			}
			plots = append(plots, p)
		}
		err = errors.Join(err, save(l.Dir, name, width, 4.3*vg.Inch, plots...))
		names = append(names, name)
	}
	gap := in(records, "gap", "", "")
	add("gap-iterations", 8.2*vg.Inch, gapChart(gap, 0, passes, "Iterations against the gap, rank 2", "iterations", true))
	add("gap-seconds", 8.2*vg.Inch, gapChart(gap, 0, seconds, "Run time against the gap, rank 2", "run time [s]", true))
	add("gap-momentum", 8.2*vg.Inch, gapChart(in(records, "momentum", "", ""), 1, passes, "What momentum does to the law of the gap", "iterations", false))
	size := in(records, "size", "", "")
	add("size", 11.5*vg.Inch, sizeChart(size, "implicit", "Rank 1, by its factors"), sizeChart(size, "store", "Rank 1, n² entries in a store"))
	for _, d := range datasets {
		runs := in(records, "passes", d.name, "")
		left := passesChart(runs, d.name+", by passes", "passes over the matrix", func(p Point) float64 { return float64(p.Passes) })
		right := passesChart(runs, d.name+", by time", "run time [s]", func(p Point) float64 { return p.Seconds })
		add("passes-"+d.slug, 11.5*vg.Inch, left, right)
	}
	p, e := trajectory()
	if e == nil {
		e = save(l.Dir, "trajectory", 6.4*vg.Inch, 5.4*vg.Inch, p)
	}
	return append(names, "trajectory"), errors.Join(err, e)
}

// gapChart draws a quantity over the gap: mean, and band and extremes over the
// orders if asked for, otherwise with the slopes in the legend.
func gapChart(records []*Record, family int, f func(*Record) float64, title, y string, spreads bool) chart {
	c := chart{title: title, x: "gap σ₁−σ₂  (σ₁ = 1)", y: y}
	for _, m := range gapFamilies[family].methods {
		mine := in(records, gapFamilies[family].name, "", m.name)
		if len(mine) == 0 {
			continue
		}
		cv := curve{method: m.name}
		for _, g := range byGap(mine) {
			s := spreadOf(g, f)
			cv.x, cv.y = append(cv.x, g[0].Gap), append(cv.y, s.Mean)
			if spreads && s.Max > s.Min {
				cv.low, cv.high = append(cv.low, max(s.Mean-s.Std, s.Min)), append(cv.high, s.Mean+s.Std)
				cv.least, cv.most = append(cv.least, s.Min), append(cv.most, s.Max)
			}
		}
		if slope := gapSlope(mine); !spreads && !math.IsNaN(slope) {
			cv.name = fmt.Sprintf("%s (%.2f)", m.name, slope)
		}
		c.curves = append(c.curves, cv)
	}
	return c
}

// curves are those of the methods for which add finds points.
func curves(methods []algorithm, add func(cv *curve)) (all []curve) {
	for _, m := range methods {
		cv := curve{method: m.name}
		add(&cv)
		if len(cv.x) > 0 {
			all = append(all, cv)
		}
	}
	return all
}

func sizeChart(records []*Record, matrix, title string) chart {
	return chart{title: title, x: "order n", y: "run time [s]", curves: curves(tableMethods, func(cv *curve) {
		for _, r := range in(records, "size", matrix, cv.method) {
			cv.x, cv.y = append(cv.x, float64(r.Rows)), append(cv.y, r.Seconds)
		}
	})}
}

func passesChart(records []*Record, title, x string, f func(Point) float64) chart {
	return chart{title: title, x: x, y: "mean residual", curves: curves(passMethods, func(cv *curve) {
		for _, r := range in(records, "passes", "", cv.method) {
			for _, p := range r.Points {
				cv.x, cv.y = append(cv.x, f(p)), append(cv.y, p.Mean)
			}
		}
	})}
}
