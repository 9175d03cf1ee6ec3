package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/gdsvd/gdsvd/factor"
)

// elbow returns the number of values before the gap of a descending sequence, 0 if it shows none: the q that maximises the profile
// likelihood of the first q values and the others being two normal samples of a common variance (Zhu, Ghodsi 2006, "Automatic
// dimensionality selection from the scree plot via the use of profile likelihood", Computational Statistics & Data Analysis 51).
// Maximising it is minimising the sum of squares about the two means, up to a monotone function.
func elbow(values []float64) int {
	n := len(values)
	if n < 3 {
		return 0
	}
	scale := max(math.Abs(values[0]), math.Abs(values[n-1]))
	if scale == 0 || values[0]-values[n-1] <= 1e-12*scale {
		return 0
	}
	// Running means and sums of squares about them (Welford 1962), from the front and from the back.
	front, back := make([]float64, n+1), make([]float64, n+1)
	sums := func(of func(i int) float64, to []float64) {
		mean, squares := 0., 0.
		for i := range n {
			x := of(i) / scale
			d := x - mean
			mean += d / float64(i+1)
			squares += d * (x - mean)
			to[i+1] = squares
		}
	}
	sums(func(i int) float64 { return values[i] }, front)
	sums(func(i int) float64 { return values[n-1-i] }, back)
	best, q := math.Inf(1), 0
	for i := 1; i < n; i++ {
		if s := front[i] + back[n-i]; s < best {
			best, q = s, i
		}
	}
	return q
}

func pairs(r *factor.Result) bool { return r.Settings.Which != "" }

func valueName(r *factor.Result) string { return either(pairs(r), "λ", "σ") }

// scaleOf returns the name of the quantity that residuals are relative to.
func scaleOf(r *factor.Result) string { return either(pairs(r), "the norm", "σ₁") }

// captured returns the shares of ‖A‖²_F that the first 1, 2, … triplets capture, nil if they are not known.
func captured(r *factor.Result) []float64 {
	total := float64(r.Energy)
	if !(total > 0) || !r.Certified || r.Completion != nil {
		return nil
	}
	values := r.Values()
	largest := floats.Norm(values, math.Inf(1))
	shares, sum := make([]float64, len(values)), 0.
	for i, v := range values {
		sum += v / largest * (v / largest)
		shares[i] = sum
	}
	if sum == 0 {
		return nil
	}
	floats.Scale(total/sum, shares)
	shares[len(shares)-1] = total
	return shares
}

// known reports whether a value of a result is known: an interrupted run may not have reached it.
func known(r *factor.Result, i int) bool {
	return r.Certified || i < len(r.Residual) && r.Residual[i] < 1
}

func descending(a, b float64) int { return cmp.Compare(b, a) }

// ofAll returns the number of known values, and of all values if some are not known.
func ofAll(r *factor.Result) string {
	n := 0
	for i := range r.K {
		if known(r, i) {
			n++
		}
	}
	if n < r.K {
		return count(int64(n)) + " of " + count(int64(r.K))
	}
	return count(int64(n))
}

const mostPoints = 600

// curve returns the points of y over 1, 2, …, thinned. Points that are not finite are left out.
func curve(y []float64, has func(i int) bool) (all []point) {
	step := (len(y) + mostPoints - 1) / mostPoints
	for i, v := range y {
		if (i%max(step, 1) == 0 || i == len(y)-1) && has(i) && v-v == 0 {
			all = append(all, point{float64(i + 1), v})
		}
	}
	return all
}

// single writes the spectrum of one value as text.
func (p *page) single(r *factor.Result, value float64) {
	text := markedUp("%s = %s", valueName(r), exact(factor.Number(value), "%.10g"))
	if !known(r, 0) {
		text = "The one value that was asked for has not been reached"
	} else if captured(r) != nil {
		text += markedUp(", which captures %s %% of ‖%s‖²", exact(r.Energy*100, "%.4g"), either(r.View != nil, "B", "A"))
		if r.View != nil {
			text += ", B being the view"
		}
	}
	p.f("<p>%s.</p>\n", text)
	p.end()
}

func (p *page) spectrum(r *factor.Result) {
	values, name := r.Values(), valueName(r)
	if len(values) == 0 {
		return
	}
	note := ""
	if !r.Certified {
		note = "These values are estimates of a run that was not finished; those that it had not reached are left out."
	}
	p.section("Spectrum", note)
	if len(values) == 1 {
		p.single(r, values[0])
		return
	}
	p.WriteString("<div class=\"pair\">\n")
	bend := 0 // elbow in both charts; 0: none
	points := curve(values, func(i int) bool { return known(r, i) })
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range points {
		lo, hi = min(lo, v.y), max(hi, v.y)
	}
	if len(points) > 0 {
		y := scaled(name, lo, hi)
		if lo < 0 {
			y = linear(name, lo, hi)
		}
		c := newChart("Values by number", counting("component", 1, float64(len(values))), y)
		level := slices.IsSortedFunc(points, func(a, b point) int { return descending(a.y, b.y) })
		if level {
			c.line(points, 0, "")
		}
		c.hover(points)
		if len(points) <= 100 || !level { // values of either sign, by magnitude, are no curve
			c.dots(points, 0)
		}
		caption := markedUp("%s %s", ofAll(r), either(pairs(r), "eigenvalues", "singular values"))
		ranked := make([]float64, 0, len(values))
		for i, v := range values {
			if known(r, i) {
				ranked = append(ranked, math.Abs(v))
			}
		}
		sorted := slices.IsSortedFunc(ranked, descending)
		slices.SortFunc(ranked, descending)
		if q := elbow(ranked); q > 1 && r.Certified { // after the first value there is nearly always a gap
			if sorted {
				c.down(float64(q)+0.5, "elbow after "+count(int64(q)), false)
				bend = q
			}
			caption += markedUp(". Elbow after <b>%s</b> of those found, by size: where the profile likelihood of two groups of a common variance is largest (Zhu and Ghodsi 2006, Comput. Stat. Data Anal. 51:918–930)", count(int64(q)))
		}
		p.figure(c, caption)
	}
	if shares := captured(r); shares != nil {
		c := newChart("Share of the energy that the first components capture", counting("component", 1, float64(len(values))), linear("captured, %", 0, 100))
		percent := floats.ScaleTo(make([]float64, len(shares)), 100, shares)
		c.line(curve(percent, func(int) bool { return true }), 2, "")
		if bend > 0 {
			c.down(float64(bend)+0.5, fmt.Sprintf("%.3g %%", percent[bend-1]), percent[bend-1] > 50)
		}
		what := either(r.View != nil, "‖B‖², B being the view", "‖A‖²")
		caption := markedUp("Σ%s² over %s: all %s capture %s %%", name, what, count(int64(len(values))), exact(r.Energy*100, "%.4g"))
		if r.View != nil && len(r.View.VarianceRatio) > 0 {
			caption += markedUp(" of the variance of %s observations", count(r.View.Observations))
		}
		if t := r.Target; t != nil {
			c.across(100*t.Share, fmt.Sprintf("%.4g %% asked for", 100*t.Share))
		}
		p.figure(c, caption)
	}
	p.WriteString("</div>\n")
	p.end()
}
