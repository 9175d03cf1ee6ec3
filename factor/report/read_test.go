package report

import (
	"math"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// TestThousands: numbers at axes are written with k, M and G if that takes few digits, else plain or in powers of ten.
func TestThousands(t *testing.T) {
	for want, c := range map[string]struct {
		a axis
		x float64
	}{
		"250k": {linear("", 0, 250e3), 250e3}, "1.5M": {linear("", 0, 3e6), 1.5e6}, "100k": {logarithmic("", 1, 1e6), 1e5}, "20G": {linear("", 0, 4e10), 2e10},
		"5000": {linear("", 0, 9000), 5000}, "−50k": {linear("", -5e4, 5e4), -5e4}, "1e−8": {logarithmic("", 1e-9, 1), 1e-8},
	} {
		if got := c.a.text(c.x); got != want {
			t.Errorf("%g is %q, want %q", c.x, got, want)
		}
	}
}

// TestPageIsRead: a page begins with a line of contents; a long certificate is folded; an elbow after the first value is
// not shown; points and bars have titles; estimates far below the certified residuals are drawn at the foot.
func TestPageIsRead(t *testing.T) {
	long, short := triplets(50), triplets(5)
	for _, c := range []struct {
		r      *factor.Result
		folded bool
	}{{long, true}, {short, false}} {
		p := new(page)
		p.WriteString(contents)
		p.spectrum(c.r)
		p.certificate(c.r)
		text := p.whole()
		if got := strings.Contains(text, "<details><summary>All"); got != c.folded {
			t.Errorf("%d values: folded %t", c.r.K, got)
		}
		if !strings.Contains(text, `<a href="#section-1">Spectrum</a> <a href="#section-2">Certificate</a>`) || !strings.Contains(text, `<section id="section-2">`) {
			t.Errorf("no line of contents in %.300s", text)
		}
		if n := strings.Count(text, "<title>"); n < c.r.K {
			t.Errorf("%d titles of %d values", n, c.r.K)
		}
	}
	steep := triplets(9)
	for i := range steep.Sigma {
		steep.Sigma[i] = 1
	}
	steep.Sigma[0] = 100
	p := new(page)
	p.spectrum(steep)
	if strings.Contains(strings.ToLower(p.String()), "elbow") {
		t.Error("an elbow after the first value")
	}
	r := &factor.Result{Certified: true, Settings: factor.Settings{Tol: 1e-8}, Residual: []factor.Number{2e-10, 1e-12}}
	if got := estimated(r); math.Abs(got/1e-13-1) > 1e-9 {
		t.Errorf("the foot is at %g", got)
	}
}

// TestLengthsShareScales: the lengths of rows and columns are drawn on the same scales.
func TestLengthsShareScales(t *testing.T) {
	for _, c := range []*counts{
		{rows: map[int64]int64{1: 3, 2: 50, 9: 1}, cols: map[int64]int64{5: 900, 30: 7}},
		{rows: map[int64]int64{1: 3, 2: 50, 9: 1}, cols: map[int64]int64{5: 900, 3000: 7}},
	} {
		p := new(page)
		p.lengths(c)
		var ticks []string
		for _, figure := range strings.Split(p.String(), "<figure>")[1:] {
			var of []string
			for _, part := range strings.Split(figure, "<text ")[1:] {
				if _, text, ok := strings.Cut(part, ">"); ok && !strings.HasPrefix(part, `class="name"`) {
					of = append(of, text[:strings.Index(text, "<")])
				}
			}
			ticks = append(ticks, strings.Join(of, " "))
		}
		if len(ticks) != 2 || ticks[0] != ticks[1] || ticks[0] == "" {
			t.Errorf("numbers at the axes: %q", ticks)
		}
	}
}

// TestRunIsRead: the page of a run shows used and planned memory and labels the curves; the list of runs colours the
// status and shows how long ended runs took.
func TestRunIsRead(t *testing.T) {
	s := &live.State{Status: live.Running, RSS: 30 << 20, PeakRSS: 40 << 20}
	s.Tol, s.Budget, s.Parts = 1e-8, 8<<30, []stream.Part{{Name: "vectors", Bytes: 60 << 20}}
	for i := range 27 { // nine curves in eight colours
		s.Passes.Events = append(s.Passes.Events, factor.Event{Phase: solver.PhaseIterate, Pass: i + 1, Triplet: i / 3, Residual: 0.1})
	}
	var b strings.Builder
	must.Do(t, WriteRun(t.Context(), &b, s, LiveOptions{}))
	page := b.String()
	for _, want := range []string{"30.0 MiB of 60.0 MiB", "the budget is 8.00 GiB", `var(--c0)"  d="M0 4H24"/></svg>1</span>`, `var(--c1)"  d="M0 4H24"/></svg>2</span>`,
		`var(--c0)" stroke-dasharray="7 3" d="M0 4H24"/></svg>9</span>`, `var(--c0)" stroke-opacity="0.75" stroke-dasharray="7 3" d="M`, `class="name over"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	b.Reset()
	ended := &live.State{Status: live.Finished, Result: &factor.Result{Seconds: factor.Seconds{Total: 83}}}
	must.Do(t, WriteRuns(&b, "runs", []*live.State{ended, {Status: live.Died}}, LiveOptions{}))
	for _, want := range []string{`<td class="text good">finished`, `<td class="text wrong">died`, ">1m23s<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in the list", want)
		}
	}
}

// triplets returns a result of k triplets without computing them.
func triplets(k int) *factor.Result {
	r := &factor.Result{K: k, Certified: true, Rank: k, Energy: 0.9, Status: "converged", Converged: k}
	for i := range k {
		r.Sigma = append(r.Sigma, factor.Number(k-i))
		r.Residual = append(r.Residual, factor.Number(i+1)*1e-12)
		if i%10 == 0 {
			r.Clusters = append(r.Clusters, [2]int{i, min(i+7, k)})
		}
	}
	return r
}

// manyTriplets returns the page of a result of k triplets.
func manyTriplets(k int) string {
	var p page
	r := triplets(k)
	p.open("x", "y")
	p.spectrum(r)
	p.convergence(r, []factor.Event{{Phase: solver.PhaseIterate, Pass: 1, Residual: 1}})
	p.certificate(r)
	p.close()
	return p.String()
}
