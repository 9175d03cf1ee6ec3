package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/url"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
)

// triplets are those that passes were about, as the last one of each says.
func (p *page) triplets(s *live.State) {
	if s.Last == nil || s.Command == "complete" {
		return
	}
	of := map[int]factor.Event{}
	most := 0
	for _, q := range s.Passes.Events {
		if q.Searching() || q.Triplet < 0 || q.Triplet >= mostLines {
			continue
		}
		of[q.Triplet] = q
		most = max(most, q.Triplet+1)
	}
	if most == 0 {
		return
	}
	p.section("Triplets", "Estimates; the result will have certified values.")
	p.table("triplets-table", "triplets", false, "", "triplet", "σ", "residual", "pass", "state")
	for i := range most {
		q, seen := of[i]
		if !seen {
			continue
		}
		stands := "looked for"
		if i < s.Last.Locked {
			stands = "found"
		}
		p.f("<tr><td>%d</td><td>%s</td><td>%s</td><td>%d</td><td class=\"text\">%s</td></tr>\n", i+1, exact(q.Sigma, "%.6g"), exact(q.Residual, "%.1e"), q.Pass, stands)
	}
	p.endTable()
	p.end()
}

// WriteRuns writes a page with a list of runs.
func WriteRuns(w io.Writer, name string, runs []*live.State, o LiveOptions) error {
	p := new(page)
	p.liveHead("runs", name, o)
	if len(runs) == 0 {
		p.WriteString("<p id=\"none\" class=\"state bad\">There is no run, result or store here yet.</p>\n")
	}
	p.part("runs")
	p.table("runs-table", "runs", false, "", "run", "command", "status", "done", "left", "passes", "found", "residual", "time")
	for _, s := range runs {
		p.row(s)
	}
	p.endTable()
	p.endPart()
	p.closeLive()
	return p.to(w)
}

func (p *page) row(s *live.State) {
	colour := markup("wrong")
	if s.Status == live.Running || s.Status == live.Finished {
		colour = "good"
	}
	p.f("<tr><th scope=\"row\" class=\"text\"><a href=\"/?run=%s\"><bdi>%s</bdi></a></th><td class=\"text\">%s</td><td class=\"text %s\">%s</td>",
		url.QueryEscape(s.Name), short(s.Name), cut(s.Command, nameLength), colour, string(s.Status))
	cell := func(has bool, format string, x float64, text string) {
		if !has {
			p.WriteString("<td>–</td>")
			return
		}
		p.f("<td><data value=\"%s\">%s</data></td>", fmt.Sprintf(format, x), text)
	}
	share, left := s.Progress(), s.Remaining()
	cell(!math.IsNaN(share), "%.4f", share, fmt.Sprintf("%.0f %%", 100*share))
	cell(left > 0, "%.0f", left, lasting(left))
	var q factor.Event
	if s.Last != nil {
		q = *s.Last
	}
	cell(q.Pass > 0, "%.0f", float64(q.Pass), fmt.Sprint(q.Pass))
	cell(q.Pass > 0 && s.Rank > 0 && s.Command != "complete", "%.0f", float64(q.Locked), fmt.Sprint(q.Locked)+ofTotal(int64(s.Rank), count))
	cell(q.Worst > 0, "%g", float64(q.Worst), fmt.Sprintf("%.1e", float64(q.Worst)))
	seconds := s.Seconds
	if s.Result != nil {
		seconds = cmp.Or(seconds, s.Result.Seconds.Total)
	}
	cell(seconds > 0, "%.0f", seconds, lasting(seconds))
	p.WriteString("</tr>\n")
}
