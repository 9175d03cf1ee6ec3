package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// Limits of tables: of a table with more than mostLines lines, the first ones and the last lastLines are shown.
const (
	mostLines = 320
	lastLines = 20
	mostShown = 60 // a longer table is shown in part, and scrolls
	mostOpen  = 12 // a longer certificate is folded
)

// state returns a sentence about the quality of a result, and whether the result reached its goal.
func state(r *factor.Result) (sentence markup, good bool) {
	things := either(pairs(r), "eigenpairs", "triplets")
	switch {
	case r.Completion != nil:
		sentence = markedUp("<b>%s</b>: a completion of rank %d; its singular values are exact for the Z that was found, and how near that is to the best one the gap says", r.Status, r.K)
		return sentence, r.Status == "converged"
	case !r.Certified:
		return markedUp("<b>%s</b>: the run was not finished. Values and residuals of %s %s are <b>estimates</b>, not certified", r.Status, ofAll(r), things), false
	}
	sentence = markedUp("<b>%s</b>: %d of %d %s have residuals within %.3g, measured on %s", r.Status, r.Converged, r.K, things, r.Settings.Tol, matrixOf(r))
	if r.Rank < r.K {
		sentence += markedUp("; the numerical rank is %d, %s %d values are zero", r.Rank, either(pairs(r), "and", "the last"), r.K-r.Rank)
	}
	return sentence, r.Status == "converged" && r.Converged == r.K
}

func (p *page) certificate(r *factor.Result) {
	values, shares := r.Values(), captured(r)
	if len(values) == 0 {
		return
	}
	if r.Completion != nil {
		p.completion(r)
	} else {
		p.section(either(r.Certified, "Certificate", "Estimates"), "")
	}
	var all facts
	all.add(r.Certified && r.Completion == nil, "completeness", escaped(r.Missing()))
	for i, o := range []struct {
		name string
		x    factor.Number
	}{{"max |UᵀU − I|", r.Orthogonality.U}, {"max |VᵀV − I|", r.Orthogonality.V}} {
		all.add(finite(o.x) && (o.x > 0 || r.Certified) && !(pairs(r) && i == 0), o.name, exact(o.x, "%.2g"))
	}
	all.add(len(r.Clusters) > 0, "clusters", markedUp("%s: values in one are closer than their residuals; read their vectors as one subspace", count(int64(len(r.Clusters)))))
	p.facts(all)
	cluster := make(map[int]int, len(r.Clusters)) // end of each cluster by its first index
	for _, c := range r.Clusters {
		if 0 <= c[0] && c[0] < c[1] && c[1] <= len(values) {
			cluster[c[0]] = c[1]
		}
	}
	head := []markup{"i", markup(valueName(r))}
	if len(r.Residual) > 0 {
		head = append(head, "residual")
	}
	if len(r.Floor) > 0 {
		head = append(head, "floor")
	}
	if shares != nil {
		head = append(head, "captured, %")
	}
	if len(cluster) > 0 {
		head = append(head, "cluster")
	}
	folded := len(values) > mostOpen
	if folded {
		p.f("<details><summary>All %s values and residuals</summary>\n", count(int64(len(values))))
	}
	p.table("values-table", "Values and residuals", len(values) > mostShown, legend(r), head...)
	begin, end := 0, 0             // cluster of the current line
	sides := [2]markup{"", " odd"} // consecutive clusters look different
	for i, v := range values {
		if left := len(values) - mostLines; left > 0 && i >= mostLines-lastLines && i < len(values)-lastLines {
			if i == mostLines-lastLines {
				p.f("<tr><td>%d…</td><td class=\"text\" colspan=\"%d\">%s more are in %s</td></tr>\n", i+1, len(head)-1, count(int64(left)), either(pairs(r), factor.LambdaFile, factor.SigmaFile))
			}
			if c := cluster[i]; c > 0 {
				begin, end = i, c
			}
			continue
		}
		if !known(r, i) {
			p.f("<tr><td>%d</td><td class=\"text\" colspan=\"%d\">not reached</td></tr>\n", i+1, len(head)-1)
			continue
		}
		p.f("<tr><td>%d</td><td>%s</td>", i+1, exact(factor.Number(v), "%.10g"))
		for _, column := range [][]factor.Number{r.Residual, r.Floor} {
			if i < len(column) {
				p.f("<td>%s</td>", exact(column[i], "%.1e"))
			} else if len(column) > 0 {
				p.WriteString("<td></td>")
			}
		}
		if shares != nil {
			p.f("<td>%.4f</td>", 100*shares[i])
		}
		if c := cluster[i]; c > 0 {
			sides[0], sides[1] = sides[1], sides[0]
			p.f("<td class=\"joined%s\">%d to %d</td>", sides[0], i+1, c)
			begin, end = i, c
		} else if i < end {
			p.f("<td class=\"joined dim%s\">%d to %d</td>", sides[0], begin+1, end)
		} else if len(cluster) > 0 {
			p.WriteString("<td></td>")
		}
		p.WriteString("</tr>\n")
	}
	p.endTable()
	if folded {
		p.WriteString("</details>\n")
	}
	p.end()
}

func legend(r *factor.Result) (text markup) {
	if len(r.Residual) == 0 {
		return "Values by number"
	}
	text = markedUp("Values and their residuals relative to %s", scaleOf(r))
	if len(r.Floor) > 0 {
		text += "; the floor is the rounding error of the measurement"
	}
	return text
}

func (p *page) completion(r *factor.Result) {
	c := r.Completion
	p.section("Fit", "Missing entries are predicted, not taken as zeros: Z = U·Σ·Vᵀ minimises half the squared error on the stored entries, plus λ times the sum of the singular values of Z.")
	chosen := markup("given")
	if c.Chosen {
		chosen = markedUp("chosen by the error on %.3g %% of the entries, held out: %.5g", 100*float64(c.Holdout), float64(c.HeldOut))
	}
	all := facts{
		{"λ", markedUp("%s, %s", exact(c.Lambda, "%.6g"), chosen)},
		{"root mean square error", exact(c.RMSE, "%.6g") + " on all entries"},
		{"objective F", markedUp("%s; no Z has less than %s: a gap of %.2g", exact(c.Objective, "%.8g"), exact(-(-c.Bound).Ceil(8), "%.8g"), float64(c.Gap))},
		{"rounds", markedUp("%d", c.Rounds)},
	}
	all.add(c.Biases, "biases", markedUp("of rows and columns, beside the mean %s", exact(c.Mean, "%.6g")))
	p.facts(all)
}

func finite(x factor.Number) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

type amount struct {
	name  string
	x     float64
	text  string
	apart bool // it is not a part of the amounts before
}

func (p *page) amounts(about string, all []amount, caption markup) {
	const line, names, numbers = 25., 216., 90.
	most := 0.
	for _, a := range all {
		most = max(most, a.x)
	}
	if !(most > 0) {
		return
	}
	var c chart
	c.svg.f(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`, place(chartWidth), place(line*float64(len(all))+4), about)
	for i, a := range all {
		y, colour := line*float64(i)+2, either(a.apart, 1, 0)
		width := math.Max(a.x/most*(chartWidth-names-numbers), 0.5)
		c.svg.f(`<text class="name" x="%s" y="%s" text-anchor="end">%s</text>`, place(names-8), place(y+16), cut(a.name, 26))
		c.svg.f(`<rect x="%s" y="%s" width="%s" height="17" style="fill:var(--c%x)"/>`, place(names), place(y+3), place(width), colour)
		c.svg.f(`<text x="%s" y="%s">%s</text>`, place(names+width+6), place(y+16), a.text)
	}
	p.figure(&c, caption)
}

func (p *page) costs(r *factor.Result) {
	p.section("Cost", "")
	all := facts{{"method", escaped(r.Method)}}
	if c := r.Choice; c != nil {
		all.add(true, "why", escaped(c.Reason))
	}
	all.add(r.Completion == nil, "passes", markedUp("%s over the matrix, %s products", count(int64(r.Passes)), count(r.Products)))
	all.add(r.BytesRead > 0, "read", escaped(memory.FormatSize(r.BytesRead)))
	all.add(r.VectorFiles > 0, "vectors in files", markedUp("%s at most; %s read, %s written", memory.FormatSize(r.VectorFiles), memory.FormatSize(r.VectorsRead), memory.FormatSize(r.VectorsWrote)))
	all.add(true, "seed", escaped(strconv.FormatUint(r.Seed, 10)))
	p.facts(all)
	p.WriteString("<div class=\"pair\">\n")
	var times []amount
	unit, per := "s", 1.
	if r.Seconds.Total < 1 {
		unit, per = "ms", 1000
	}
	for _, t := range []struct {
		name string
		x    float64
	}{
		{"total", r.Seconds.Total}, {"multiplying", r.Seconds.Multiply}, {"between passes", r.Seconds.Orthogonalise},
		{"waiting for data", r.Seconds.Wait}, {"finishing", r.Seconds.Finish}, {"checkpoints", r.Seconds.Checkpoint},
	} {
		if t.x > 0 {
			times = append(times, amount{t.name, t.x, fmt.Sprintf("%.3g "+unit, t.x*per), t.name == "total"})
		}
	}
	p.amounts("Seconds by phase", times, "Time by phase; the multiplying of the finishing pass counts in both")
	var parts []amount
	sum := int64(0)
	for _, m := range r.Memory {
		sum += m.Bytes
		parts = append(parts, amount{m.Name, float64(m.Bytes), memory.FormatSize(m.Bytes), false})
	}
	if len(parts) > 0 {
		parts = append(parts, amount{"planned, all of these", float64(sum), memory.FormatSize(sum), true})
	}
	if r.PeakRSS > 0 {
		parts = append(parts, amount{"peak, measured", float64(r.PeakRSS), memory.FormatSize(r.PeakRSS), true})
	}
	caption := markup("Planned memory by purpose, and the peak of the process")
	if r.Settings.Memory > 0 {
		caption += markedUp("; the budget was %s", memory.FormatSize(r.Settings.Memory))
	}
	p.amounts("Memory planned and measured", parts, caption)
	p.WriteString("</div>\n")
	p.end()
}
