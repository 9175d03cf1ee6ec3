package report

import (
	"fmt"
	"math"
	"strconv"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/memory"
)

type amount struct {
	name  string
	x     float64
	text  string
	apart bool // it is no part of the ones before
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
		y, colour := line*float64(i)+2, 0
		if a.apart {
			colour = 1
		}
		width := math.Max(a.x/most*(chartWidth-names-numbers), 0.5)
		c.svg.f(`<text class="name" x="%s" y="%s" text-anchor="end">%s</text>`, place(names-8), place(y+16), cut(a.name, 26))
		c.svg.f(`<rect x="%s" y="%s" width="%s" height="17" style="fill:var(--c%x)"/>`, place(names), place(y+3), place(width), colour)
		c.svg.f(`<text x="%s" y="%s">%s</text>`, place(names+width+6), place(y+16), a.text)
	}
	p.figure(&c, caption)
}

func (p *page) costs(r *factor.Result) {
	p.section("Cost", "")
	facts := []fact{{"method", escaped(r.Method)}}
	if c := r.Choice; c != nil {
		facts = append(facts, fact{"why", escaped(c.Reason)})
	}
	if r.Completion == nil {
		facts = append(facts, fact{"passes", markedUp("%s over the matrix, %s products", count(int64(r.Passes)), count(r.Products))})
	}
	if r.BytesRead > 0 {
		facts = append(facts, fact{"read", escaped(memory.FormatSize(r.BytesRead))})
	}
	if r.VectorFiles > 0 {
		facts = append(facts, fact{"vectors in files", markedUp("%s at most; %s read, %s written", memory.FormatSize(r.VectorFiles), memory.FormatSize(r.VectorsRead), memory.FormatSize(r.VectorsWrote))})
	}
	p.facts(append(facts, fact{"seed", escaped(strconv.FormatUint(r.Seed, 10))}))
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
	p.amounts("Seconds by phase", times, "Time by phase; finishing has a pass of its own, whose multiplying counts in both")
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
	caption := markup("Memory planned, by purpose, and the most that the process had")
	if r.Settings.Memory > 0 {
		caption += markedUp("; the budget was %s", memory.FormatSize(r.Settings.Memory))
	}
	p.amounts("Memory planned and measured", parts, caption)
	p.WriteString("</div>\n")
	p.end()
}
