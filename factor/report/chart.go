package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size of a chart and of its margins, in units of its viewBox.
const (
	chartWidth  = 480.
	chartHeight = 290.
	leftMargin  = 86.
	rightMargin = 26.
	topMargin   = 14.
	footMargin  = 44.

	mostTicks = 6
)

// axis maps numbers in [lo, hi] to places between from and to. A logarithmic axis has lo > 0.
type axis struct {
	title    string
	lo, hi   float64
	log      bool
	whole    bool // the numbers are counts
	from, to float64
}

// linear returns an axis for the numbers from lo to hi.
func linear(title string, lo, hi float64) axis {
	if !(hi-lo > 1e-12*max(math.Abs(lo), math.Abs(hi))) { // equal, or different by rounding only
		spare := max(math.Abs(lo)*0.5, 0.5)
		lo, hi = lo-spare, hi+spare
	}
	return axis{title: title, lo: lo, hi: hi}
}

// counting returns a linear axis with marks at whole numbers.
func counting(title string, lo, hi float64) axis {
	a := linear(title, lo, hi)
	a.whole = true
	return a
}

// logarithmic returns an axis for the numbers from lo > 0 to hi.
func logarithmic(title string, lo, hi float64) axis {
	if !(hi > lo) {
		lo, hi = lo/2, hi*2
	}
	return axis{title: title, lo: lo, hi: hi, log: true}
}

// scaled returns a logarithmic axis if this shows numbers above 0 better, otherwise a linear axis from 0.
func scaled(title string, lo, hi float64) axis {
	if lo > 0 && hi/lo > 100 {
		return logarithmic(title, lo, hi)
	}
	if !(hi > 0) {
		hi = 1
	}
	return linear(title, 0, hi)
}

// at returns the place of x. A number beyond an end of the axis is placed at that end.
func (a axis) at(x float64) float64 {
	x = min(max(x, a.lo), a.hi)
	share := x/(a.hi-a.lo) - a.lo/(a.hi-a.lo)
	if a.log {
		share = (math.Log(x) - math.Log(a.lo)) / (math.Log(a.hi) - math.Log(a.lo)) // a quotient of the numbers may overflow
	}
	return a.from + share*(a.to-a.from)
}

// ticks returns about mostTicks numbers to be marked: 1, 2 or 5 times a power of ten apart (Heckbert 1990, "Nice numbers for
// graph labels"), or powers of ten.
func (a axis) ticks() (all []float64) {
	if a.log {
		first, last := math.Floor(math.Log10(a.lo)), math.Ceil(math.Log10(a.hi))
		step := max(1, math.Ceil((last-first)/mostTicks))
		between := []float64{1}
		if a.hi <= 200*a.lo {
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
	step := a.step()
	if !(step > 0) || math.IsInf(step, 0) {
		return []float64{a.lo, a.hi}
	}
	first := math.Ceil(a.lo/step - 1e-9)
	for i := range 2*mostTicks + 2 {
		x := (first + float64(i)) * step
		if x > a.hi+step*1e-9 {
			break
		}
		all = append(all, x+0) // without the sign of −0
	}
	return all
}

// step returns the distance between ticks of a linear axis.
func (a axis) step() (step float64) {
	unit := math.Pow(10, math.Floor(math.Log10((a.hi-a.lo)/mostTicks)))
	for _, f := range []float64{1, 2, 5, 10} {
		step = f * unit
		if step*mostTicks >= (a.hi-a.lo)*(1-1e-9) {
			break
		}
	}
	if a.whole {
		step = max(step, 1)
	}
	return step
}

// text returns the text of a tick, with as many digits as distinguish it from the next one.
func (a axis) text(x float64) string {
	if thousands := a.thousands(x); thousands != "" {
		return thousands
	}
	if a.log || x == 0 {
		return tickText(x)
	}
	power := func(x float64) int { return int(math.Floor(math.Log10(math.Abs(x)) + 1e-9)) }
	after := min(max(power(x)-power(a.step()), 0), 15) // digits behind the first one
	if after < 3 && !plain(x) || math.Abs(x) >= 1e7 || math.Abs(x) < 1e-3 {
		return powerOfTen(x, after)
	}
	return minus(strconv.FormatFloat(x, 'f', max(after-power(x), 0), 64))
}

// thousands returns a large tick in thousands, millions or billions, such as "250k". It returns "" for other ticks, and for ticks
// that need many digits.
func (a axis) thousands(x float64) string {
	for _, unit := range []struct {
		one  float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(x) < max(unit.one, 1e4) || math.Abs(x) >= 1e13 {
			continue
		}
		text := strconv.FormatFloat(x/unit.one, 'g', 5, 64)
		if back, err := strconv.ParseFloat(text, 64); err != nil || strings.Contains(text, "e") || !a.log && math.Abs(back*unit.one-x) > 1e-6*a.step() {
			return ""
		}
		return minus(text) + unit.name
	}
	return ""
}

// tickText returns a number with a few digits.
func tickText(x float64) string {
	if x != 0 && !plain(x) {
		return powerOfTen(x, 2)
	}
	return minus(strconv.FormatFloat(x, 'g', 5, 64))
}

// plain reports whether a number is written without a power of ten.
func plain(x float64) bool { return math.Abs(x) < 1e4 && math.Abs(x) >= 1e-3 }

// powerOfTen writes a number with a power of ten, and at most after digits behind the point.
func powerOfTen(x float64, after int) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', after, 64), "e")
	if strings.Contains(mantissa, ".") {
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "−"
	}
	return minus(mantissa) + "e" + sign + strings.TrimLeft(exponent[1:], "0")
}

func minus(s string) string { return strings.Replace(s, "-", "−", 1) }

func place(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10+0, 'f', -1, 64) }

type chart struct {
	svg  page
	x, y axis
}

func newChart(about string, x, y axis) *chart {
	c := &chart{x: x, y: y}
	c.x.from, c.x.to = leftMargin, chartWidth-rightMargin
	c.y.from, c.y.to = chartHeight-footMargin, topMargin
	c.svg.f(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, place(chartWidth), place(chartHeight), about)
	var grid strings.Builder
	for _, t := range c.x.ticks() {
		at := place(c.x.at(t))
		fmt.Fprintf(&grid, "M%s %sV%s", at, place(c.y.from), place(c.y.to))
		c.svg.f(`<text x="%s" y="%s" text-anchor="middle">%s</text>`, at, place(c.y.from+17), c.x.text(t))
	}
	for _, t := range c.y.ticks() {
		at := c.y.at(t)
		fmt.Fprintf(&grid, "M%s %sH%s", place(c.x.from), place(at), place(c.x.to))
		c.svg.f(`<text x="%s" y="%s" text-anchor="end">%s</text>`, place(c.x.from-6), place(at+4.5), c.y.text(t))
	}
	c.svg.f(`<path class="g" d="%s"/>`, grid.String())
	c.svg.f(`<text class="name" x="%s" y="%s" text-anchor="middle">%s</text>`, place((c.x.from+c.x.to)/2), place(chartHeight-6), x.title)
	c.svg.f(`<text class="name" transform="translate(17 %s) rotate(-90)" text-anchor="middle">%s</text>`, place((c.y.from+c.y.to)/2), y.title)
	return c
}

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

func (c *chart) dots(points []point, colour int) {
	var d strings.Builder
	for _, p := range points {
		fmt.Fprintf(&d, "M%s %sh0", place(c.x.at(p.x)), place(c.y.at(p.y)))
	}
	if len(points) > 0 {
		c.svg.f(`<path style="stroke:var(--c%x);stroke-width:5;stroke-linecap:round" d="%s"/>`, colour, d.String())
	}
}

// hover adds the numbers of each point of a curve of few points, shown when the pointer is over it.
func (c *chart) hover(points []point) {
	const few, reach = 100, 6.
	if len(points) > few {
		return
	}
	for _, p := range points {
		c.svg.f(`<circle cx="%s" cy="%s" r="%s" fill-opacity="0"><title>%s: %s</title></circle>`, place(c.x.at(p.x)), place(c.y.at(p.y)), place(reach), tickText(p.x), tickText(p.y))
	}
}

type bar struct {
	lo, hi float64
	n      int64
}

func (c *chart) bars(all []bar) {
	c.svg.WriteString(`<g style="fill:var(--c0)">`)
	for _, b := range all {
		if b.n == 0 {
			continue
		}
		left, right := c.x.at(b.lo), c.x.at(b.hi)
		if right-left > 3 {
			right--
		}
		of := tickText((b.lo + b.hi) / 2)
		if !c.x.whole || b.hi-b.lo > 1.5 {
			of = tickText(b.lo) + " – " + tickText(b.hi)
		}
		c.svg.f(`<path d="M%s %sV%sH%sV%sz"><title>%s: %s</title></path>`,
			place(left), place(c.y.from), place(min(c.y.at(float64(b.n)), c.y.from-1)), place(max(right, left+0.8)), place(c.y.from), of, count(b.n))
	}
	c.svg.WriteString("</g>")
}

// across draws a broken line over the whole width with a word, down one over the whole height; down writes the word at the top or,
// if low is true, at the bottom.
func (c *chart) across(y float64, word string) {
	c.svg.f(`<path class="m" d="M%s %sH%s"/><text class="name over" x="%s" y="%s">%s</text>`,
		place(c.x.from), place(c.y.at(y)), place(c.x.to), place(c.x.from+5), place(c.y.at(y)-5), word)
}

func (c *chart) down(x float64, word string, low bool) {
	at, anchor, aside := c.x.at(x), "start", 5.
	if at > (c.x.from+c.x.to)/2 {
		anchor, aside = "end", -5
	}
	y := c.y.to + 13
	if low {
		y = c.y.from - 6
	}
	c.svg.f(`<path class="m" d="M%s %sV%s"/><text class="name" x="%s" y="%s" text-anchor="%s">%s</text>`,
		place(at), place(c.y.from), place(c.y.to), place(at+aside), place(y), anchor, word)
}

// figure puts a chart with a caption on the page.
func (p *page) figure(c *chart, caption markup) {
	p.f("<figure>%s</svg><figcaption>%s</figcaption></figure>\n", markup(c.svg.String()), caption)
}

// dashes distinguish curves of the same colour.
var dashes = [...]string{"", "7 3", "2 3", "8 2 2 2"}

func dash(n int) markup {
	if n %= len(dashes); n > 0 {
		return markedUp(`stroke-dasharray="%s"`, dashes[n])
	}
	return ""
}

// stroke returns the key of a curve with a dash.
func stroke(colour int, dash, what markup) markup {
	return markedUp(`<span class="keyed"><svg class="stroke" viewBox="0 0 24 8" aria-hidden="true"><path class="l" style="stroke:var(--c%x)" %s d="M0 4H24"/></svg>%s</span> `, colour, dash, what)
}

func key(colour int, what markup) markup {
	return markedUp(`<span class="keyed"><span class="key" style="background:var(--c%x)"></span>%s</span> `, colour, what)
}
