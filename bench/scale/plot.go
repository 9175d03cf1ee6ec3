package main

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
)

// draw draws what an entry costs in a pass over the number of entries, a line a
// regime, if there is anything to draw.
func (r *report) draw(name string) error {
	p := plot.New()
	p.Title.Text = "Cost of a pass"
	p.X.Label.Text, p.Y.Label.Text = "entries", "ns an entry"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.BackgroundColor = color.White
	p.Y.Min, p.Legend.Left = 0, true
	least, largest, most, lines := math.Inf(1), 0.0, 0.0, 0
	for i, regime := range fixed {
		var points plotter.XYs
		for _, w := range r.Rows {
			if w.Regime == regime {
				x, y := float64(w.NNZ), w.nanoseconds()
				points = append(points, plotter.XY{X: x, Y: y})
				least, largest, most = min(least, x), max(largest, x), max(most, y)
			}
		}
		if len(points) < 2 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Color, marks.Color, marks.Shape = plotutil.Color(i), plotutil.Color(i), plotutil.Shape(i)
		p.Add(line, marks)
		p.Legend.Add(regime, line, marks)
		lines++
	}
	if lines == 0 {
		return nil
	}
	p.X.Min, p.X.Max = math.Pow(10, math.Floor(math.Log10(least))), 1.5*largest
	p.Y.Max = math.Ceil(most)
	var ticks plot.ConstantTicks
	for y := 0.0; y <= p.Y.Max; y += 0.5 {
		ticks = append(ticks, plot.Tick{Value: y, Label: strconv.FormatFloat(y, 'g', -1, 64)})
	}
	p.Y.Tick.Marker = ticks
	return p.Save(6*vg.Inch, 4*vg.Inch, name+".svg")
}
