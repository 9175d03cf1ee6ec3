package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figures draws all figures for which there are records, and returns their names.
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

// gapChart draws the mean of a quantity over the gap. With spreads it adds the band and the extremes over the orders, otherwise
// the slopes in the legend.
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

// curves returns the curves of the methods for which add finds points.
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

// look is the appearance of a method, the same in every figure: a colour that colour-blind readers can distinguish from the
// others (Okabe, Ito 2002), and a dash and a mark for readers who see no colours.
type look struct {
	color color.RGBA
	dash  []vg.Length
	mark  draw.GlyphDrawer
}

var (
	solid    []vg.Length
	dashed   = []vg.Length{vg.Points(6), vg.Points(3)}
	dotted   = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
	dashDot  = []vg.Length{vg.Points(7), vg.Points(2.5), vg.Points(1.5), vg.Points(2.5)}
	black    = color.RGBA{0, 0, 0, 255}
	orange   = color.RGBA{230, 159, 0, 255}
	skyBlue  = color.RGBA{86, 180, 233, 255}
	green    = color.RGBA{0, 158, 115, 255}
	blue     = color.RGBA{0, 114, 178, 255}
	vermil   = color.RGBA{213, 94, 0, 255}
	purple   = color.RGBA{204, 121, 167, 255}
	circle   = draw.CircleGlyph{}
	square4  = draw.BoxGlyph{}
	triangle = draw.PyramidGlyph{}
	ring     = draw.RingGlyph{}
	cross    = draw.CrossGlyph{}
	plus     = draw.PlusGlyph{}
	frame    = draw.SquareGlyph{}
	delta    = draw.TriangleGlyph{}
)

var looks = map[string]look{
	"gd":                 {vermil, solid, circle},
	"gd η=½":             {vermil, solid, circle},
	"gd η=¼":             {orange, dashed, triangle},
	"gd η=¾":             {purple, dashDot, square4},
	"power":              {black, solid, cross},
	"polyak":             {skyBlue, solid, triangle},
	"polyak, best β":     {skyBlue, dotted, delta},
	"nesterov":           {blue, solid, square4},
	"nesterov, best β":   {blue, dotted, frame},
	"nesterov-general":   {purple, dashDot, plus},
	"block":              {orange, dashed, ring},
	"krylov":             {green, solid, delta},
	"krylov, 16 columns": {green, dashed, frame},
}

type curve struct {
	method string // determines the look, and the name in the legend unless name is set
	name   string
	x, y   []float64
	// The shaded band around the line and the dotted lines outside, unless nil.
	low, high, least, most []float64
}

// chart describes a plot with logarithmic axes.
type chart struct {
	title, x, y string
	curves      []curve
}

// newPlot returns an empty plot in the style of all figures.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	for style, size := range map[*font.Font]font.Length{
		&p.Title.TextStyle.Font:   14,
		&p.X.Label.TextStyle.Font: 13,
		&p.Y.Label.TextStyle.Font: 13,
		&p.X.Tick.Label.Font:      11,
		&p.Y.Tick.Label.Font:      11,
		&p.Legend.TextStyle.Font:  11.5,
	} {
		*style = font.From(sans, size)
	}
	p.Title.Padding = vg.Points(6)
	p.Legend.ThumbnailWidth = vg.Points(30)
	p.Legend.Padding = vg.Points(1)
	return p
}

// plot draws the chart. It takes the logarithms itself, because the library would centre the labels of logarithmic axes as if
// the axes were linear, and reserve space for that.
func (c chart) plot() (*plot.Plot, error) {
	p := newPlot(c.title, c.x, c.y)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	for _, cv := range c.curves {
		if err := cv.addTo(p); err != nil {
			return nil, fmt.Errorf("curve %s: %w", cv.method, err)
		}
	}
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Tick.Marker = powersOfTen{}
		margin := 0.02 * (axis.Max - axis.Min)
		axis.Min, axis.Max = axis.Min-margin, axis.Max+margin
	}
	return p, nil
}

func (cv curve) addTo(p *plot.Plot) error {
	l := looks[cv.method]
	if len(cv.low) > 0 {
		low := points(cv.x, cv.low)
		slices.Reverse(low)
		band, err := plotter.NewPolygon(append(points(cv.x, cv.high), low...))
		if err != nil {
			return err
		}
		band.LineStyle.Width = 0
		band.Color = color.NRGBA{l.color.R, l.color.G, l.color.B, 45}
		p.Add(band)
	}
	for _, edge := range [][]float64{cv.least, cv.most} {
		if len(edge) == 0 {
			continue
		}
		line, err := plotter.NewLine(points(cv.x, edge))
		if err != nil {
			return err
		}
		line.LineStyle = draw.LineStyle{Color: l.color, Width: vg.Points(0.7), Dashes: dotted}
		p.Add(line)
	}
	line, marks, err := plotter.NewLinePoints(points(cv.x, cv.y))
	if err != nil {
		return err
	}
	line.LineStyle = draw.LineStyle{Color: l.color, Width: vg.Points(1.8), Dashes: l.dash}
	marks.GlyphStyle = draw.GlyphStyle{Color: l.color, Radius: vg.Points(3), Shape: l.mark}
	p.Add(line, marks)
	p.Legend.Add(cmp.Or(cv.name, cv.method), line, marks)
	return nil
}

// points returns the points of a curve on logarithmic axes.
func points(x, y []float64) plotter.XYs {
	xys := make(plotter.XYs, len(x))
	for i := range x {
		xys[i] = plotter.XY{X: math.Log10(x[i]), Y: math.Log10(y[i])}
	}
	return xys
}

// powersOfTen sets the ticks of an axis of decimal logarithms.
type powersOfTen struct{}

func (powersOfTen) Ticks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(low)), int(math.Ceil(high))
	every := (last-first)/9 + 1
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for i := 1; i < 10; i++ {
			t := plot.Tick{Value: float64(e) + math.Log10(float64(i))}
			if i == 1 && e%every == 0 {
				t.Label = fmt.Sprintf("1e%d", e) // the font of the figures lacks some of the superscript digits
				if e >= -3 && e <= 4 {
					t.Label = strconv.FormatFloat(math.Pow(10, float64(e)), 'f', -1, 64)
				}
			}
			if t.Value >= low && t.Value <= high && (i == 1 || every == 1) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// save writes plots, side by side with the legend of the first plot to their right, to NAME.svg and NAME.png in dir.
func save(dir, name string, width, height vg.Length, plots ...*plot.Plot) error {
	legend := plots[0].Legend
	for _, p := range plots {
		p.Legend = plot.NewLegend()
	}
	svg, img := vgsvg.New(width, height), vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(144))
	paint(svg, plots, legend)
	paint(img, plots, legend)
	var text, png bytes.Buffer
	_, err := svg.WriteTo(&text)
	_, bad := vgimg.PngCanvas{Canvas: img}.WriteTo(&png)
	if err := errors.Join(err, bad); err != nil {
		return err
	}
	// Readers without the font of the figure have others of the same metrics.
	const family = "font-family:Liberation Sans"
	portable := bytes.ReplaceAll(text.Bytes(), []byte(family+";"), []byte(family+",Arial,Helvetica,sans-serif;"))
	base := filepath.Join(dir, name)
	return errors.Join(os.WriteFile(base+".svg", portable, 0o666), os.WriteFile(base+".png", png.Bytes(), 0o666))
}

func paint(c vg.CanvasSizer, plots []*plot.Plot, legend plot.Legend) {
	all := draw.New(c)
	size := all.Size()
	all.FillPolygon(color.White, []vg.Point{{}, {X: size.X}, {X: size.X, Y: size.Y}, {Y: size.Y}}) // SVG has no background
	strip := vg.Length(0)
	if size := legend.Rectangle(all).Size(); size.Y > 0 {
		strip = size.X + vg.Points(8)
		legend.Left, legend.Top = true, true
		legend.Draw(draw.Crop(all, all.Size().X-strip, 0, 0, -0.45*vg.Inch))
	}
	tiles := draw.Tiles{Rows: 1, Cols: len(plots), PadX: vg.Points(12), PadTop: vg.Points(4), PadRight: vg.Points(8), PadBottom: vg.Points(3), PadLeft: vg.Points(3)}
	for i, p := range plots {
		p.Draw(tiles.At(draw.Crop(all, 0, -strip, 0, 0), i, 0))
	}
}
