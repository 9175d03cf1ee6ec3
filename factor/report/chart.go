package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size of a chart and of what is beside its axes, in the units of its viewBox.
const (
	chartWidth  = 480.
	chartHeight = 290.
	leftMargin  = 76.
	rightMargin = 26.
	topMargin   = 14.
	footMargin  = 44.
)

// axis maps numbers from lo to hi to places from from to to. One that is logarithmic has lo > 0.
type axis struct {
	title    string
	lo, hi   float64
	log      bool
	from, to float64
}

// linear is an axis that has all numbers from lo to hi.
func linear(title string, lo, hi float64) axis {
	if !(hi > lo) {
		spare := max(math.Abs(lo)*0.5, 0.5)
		lo, hi = lo-spare, hi+spare
	}
	return axis{title: title, lo: lo, hi: hi}
}

// logarithmic is an axis that has all numbers from lo > 0 to hi.
func logarithmic(title string, lo, hi float64) axis {
	if !(hi > lo) {
		lo, hi = lo/2, hi*2
	}
	return axis{title: title, lo: lo, hi: hi, log: true}
}

// scaled is logarithmic if that shows numbers above 0 better, and linear from 0 elsewhere.
func scaled(title string, lo, hi float64) axis {
	if lo > 0 && hi/lo > 100 {
		return logarithmic(title, lo, hi)
	}
	return linear(title, 0, hi)
}

// at is the place of x; what is beyond an end of the axis is at that end.
func (a axis) at(x float64) float64 {
	x = min(max(x, a.lo), a.hi)
	share := x/(a.hi-a.lo) - a.lo/(a.hi-a.lo)
	if a.log {
		share = math.Log(x/a.lo) / math.Log(a.hi/a.lo)
	}
	return a.from + share*(a.to-a.from)
}

// ticks are about most numbers to be marked: 1, 2 or 5 times a power of ten apart (Heckbert 1990, "Nice numbers for
// graph labels"), or powers of ten.
func (a axis) ticks(most int) (all []float64) {
	if a.log {
		first, last := math.Floor(math.Log10(a.lo)), math.Ceil(math.Log10(a.hi))
		step := max(1, math.Ceil((last-first)/float64(most)))
		between := []float64{1}
		if last-first <= 2 {
			between = []float64{1, 2, 5}
		}
		for e := math.Ceil(first/step) * step; e <= last; e += step {
			for _, f := range between {
				if x := f * math.Pow(10, e); x >= a.lo*(1-1e-9) && x <= a.hi*(1+1e-9) {
					all = append(all, x)
				}
			}
		}
		return all
	}
	step := (a.hi - a.lo) / float64(most)
	unit := math.Pow(10, math.Floor(math.Log10(step)))
	for _, f := range []float64{1, 2, 5, 10} {
		if step = f * unit; step*float64(most) >= (a.hi-a.lo)*(1-1e-9) {
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return []float64{a.lo, a.hi}
	}
	first := math.Ceil(a.lo/step - 1e-9)
	for i := range 2*most + 2 {
		x := (first + float64(i)) * step
		if x > a.hi+step*1e-9 {
			break
		}
		all = append(all, x+0) // without the sign of −0
	}
	return all
}

// tickText is a number beside an axis.
func tickText(x float64) string {
	if x != 0 && (math.Abs(x) >= 1e4 || math.Abs(x) < 1e-3) {
		s := strconv.FormatFloat(x, 'e', -1, 64)
		mantissa, exponent, _ := strings.Cut(s, "e")
		if len(mantissa) > 5 {
			mantissa = strconv.FormatFloat(mustFloat(mantissa), 'f', 2, 64)
		}
		exponent = strings.TrimLeft(strings.TrimPrefix(exponent, "+"), "0")
		if rest, found := strings.CutPrefix(exponent, "-"); found {
			exponent = "−" + strings.TrimLeft(rest, "0")
		}
		return minus(mantissa) + "e" + exponent
	}
	return minus(strconv.FormatFloat(x, 'g', 5, 64))
}

func mustFloat(s string) float64 {
	x, _ := strconv.ParseFloat(s, 64) // of a text that FormatFloat has made
	return x
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

// place writes a coordinate.
func place(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10+0, 'f', -1, 64) }

// chart is a picture with two axes.
type chart struct {
	svg  page
	x, y axis
}

// newChart draws axes, with a grid.
func newChart(about string, x, y axis) *chart {
	c := &chart{x: x, y: y}
	c.x.from, c.x.to = leftMargin, chartWidth-rightMargin
	c.y.from, c.y.to = chartHeight-footMargin, topMargin
	c.svg.f(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, place(chartWidth), place(chartHeight), about)
	var grid strings.Builder
	for _, t := range c.x.ticks(6) {
		at := place(c.x.at(t))
		fmt.Fprintf(&grid, "M%s %sV%s", at, place(c.y.from), place(c.y.to))
		c.svg.f(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, at, place(c.y.from+17), tickText(t))
	}
	for _, t := range c.y.ticks(6) {
		at := c.y.at(t)
		fmt.Fprintf(&grid, "M%s %sH%s", place(c.x.from), place(at), place(c.x.to))
		c.svg.f(`<text x="%s" y="%s" text-anchor="end">%s</text>`, place(c.x.from-6), place(at+4.5), tickText(t))
	}
	c.svg.f(`<path class="g" d="%s"/>`, grid.String())
	c.svg.f(`<text class="name" x="%s" y="%s" text-anchor="middle">%s</text>`, place((c.x.from+c.x.to)/2), place(chartHeight-6), x.title)
	c.svg.f(`<text class="name" transform="translate(13 %s) rotate(-90)" text-anchor="middle">%s</text>`, place((c.y.from+c.y.to)/2), y.title)
	return c
}

// point is one of a curve.
type point struct{ x, y float64 }

// line draws a curve through points in a colour, 0 to 10.
func (c *chart) line(points []point, colour int, more markup) {
	if len(points) == 0 {
		return
	}
	if len(points) == 1 {
		c.dots(points, colour)
		return
	}
	var d strings.Builder
	for i, p := range points {
		fmt.Fprintf(&d, "%c%s %s", "ML"[min(i, 1)], place(c.x.at(p.x)), place(c.y.at(p.y)))
	}
	c.svg.f(`<path class="l" style="stroke:var(--c%x)" %s d="%s"/>`, colour, more, d.String())
}

// dots draws a mark at each point.
func (c *chart) dots(points []point, colour int) {
	var d strings.Builder
	for _, p := range points {
		fmt.Fprintf(&d, "M%s %sh0", place(c.x.at(p.x)), place(c.y.at(p.y)))
	}
	if len(points) > 0 {
		c.svg.f(`<path style="stroke:var(--c%x);stroke-width:5;stroke-linecap:round" d="%s"/>`, colour, d.String())
	}
}

// bar is a bar over the numbers from lo to hi.
type bar struct {
	lo, hi float64
	n      int64
}

// bars draws bars from the x axis up.
func (c *chart) bars(all []bar) {
	var d strings.Builder
	for _, b := range all {
		if b.n == 0 {
			continue
		}
		left, right := c.x.at(b.lo), c.x.at(b.hi)
		if right-left > 3 {
			right--
		}
		fmt.Fprintf(&d, "M%s %sV%sH%sV%sz", place(left), place(c.y.from), place(min(c.y.at(float64(b.n)), c.y.from-1)), place(max(right, left+0.8)), place(c.y.from))
	}
	c.svg.f(`<path style="fill:var(--c0)" d="%s"/>`, d.String())
}

// across draws a broken line over the whole width, and down one over the whole height, with a word.
func (c *chart) across(y float64, word string) {
	c.svg.f(`<path class="m" d="M%s %sH%s"/><text class="name" x="%s" y="%s" text-anchor="end">%s</text>`,
		place(c.x.from), place(c.y.at(y)), place(c.x.to), place(c.x.to-4), place(c.y.at(y)-5), word)
}

func (c *chart) down(x float64, word string) {
	at, anchor, aside := c.x.at(x), "start", 5.
	if at > (c.x.from+c.x.to)/2 {
		anchor, aside = "end", -5
	}
	c.svg.f(`<path class="m" d="M%s %sV%s"/><text class="name" x="%s" y="%s" text-anchor="%s">%s</text>`,
		place(at), place(c.y.from), place(c.y.to), place(at+aside), place(c.y.to+13), anchor, word)
}

// figure puts a chart on the page, with what there is to say about it.
func (p *page) figure(c *chart, caption markup) {
	p.f("<figure>%s</svg><figcaption>%s</figcaption></figure>\n", markup(c.svg.String()), caption)
}

// key is what a colour means.
func key(colour int, what string) markup {
	return markedUp(`<span class="keyed"><span class="key" style="background:var(--c%x)"></span>%s</span> `, colour, what)
}
