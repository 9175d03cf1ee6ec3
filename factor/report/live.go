package report

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"time"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// LiveOptions of WriteRun and WriteRuns. The zero value is usable.
type LiveOptions struct {
	Script string // address of the script that keeps the page up to date; "": none
	Listed bool   // the page of a run links to the list of all runs
}

// refreshEvery is the time, in seconds, after which a page without scripts loads itself again.
const refreshEvery = 5

func (p *page) liveHead(title, name string, o LiveOptions) {
	more := markedUp("<noscript><meta http-equiv=\"refresh\" content=\"%d\"/></noscript>\n", refreshEvery)
	if o.Script != "" {
		more += markedUp("<script src=\"%s\" defer=\"defer\"></script>\n", o.Script)
	}
	p.head(title, name, more)
	p.WriteString("<p id=\"connection\" role=\"status\"></p>\n")
}

// part writes a part of a page that a script keeps up to date by its identifier.
func (p *page) part(id string, write func()) {
	p.f("<div id=\"%s\" data-live=\"\">\n", id)
	write()
	p.WriteString("</div>\n")
}

// WriteRun writes the page of a run in its current state: the page of its result if it has one, without the parts that read vectors.
func WriteRun(ctx context.Context, w io.Writer, s *live.State, o LiveOptions) error {
	p := new(page)
	kind := "run"
	if s.Command != "" {
		kind = "run of " + cut(s.Command, nameLength)
	}
	p.liveHead(kind, s.Name, o)
	if o.Listed {
		p.WriteString("<nav><a id=\"list\" href=\"/\">all runs</a></nav>\n")
	}
	if s.Result != nil && s.Status != live.Running {
		if err := p.resultParts(ctx, s.Result); err != nil {
			return err
		}
	} else {
		p.runParts(s)
	}
	p.closeLive()
	return p.to(w)
}

// resultParts writes the parts of a report that read neither vectors nor the store.
func (p *page) resultParts(ctx context.Context, r *factor.Result) error {
	events, err := readEvents(ctx, r)
	if err != nil {
		return err
	}
	p.part("status", func() { p.standing(r) })
	p.part("result", func() {
		p.facts(matrixFacts(r))
		p.spectrum(r)
		p.convergence(r, events)
		p.certificate(r)
		p.costs(r)
		p.command("Command", again(r), noteOn(r))
	})
	return nil
}

func (p *page) standing(r *factor.Result) {
	sentence, good := state(r)
	p.f("<p class=\"%s\">%s.</p>\n", stateClass(good), sentence)
}

func stateClass(good bool) string { return either(good, "state", "state bad") }

func (p *page) runParts(s *live.State) {
	p.part("status", func() {
		p.f("<p class=\"%s\" id=\"sentence\" aria-live=\"polite\"><b id=\"state\">%s</b>%s</p>\n",
			stateClass(s.Status == live.Running || s.Status == live.Finished), string(s.Status), standing(s))
	})
	p.part("now", func() {
		if share := s.Progress(); !math.IsNaN(share) && s.Status == live.Running {
			p.f("<progress id=\"progress\" max=\"1\" value=\"%.4f\" aria-label=\"share of the %s that is done\">%.0f %%</progress>\n", share, wholeOf(s), 100*share)
		}
		p.facts(liveFacts(s))
	})
	p.part("curves", func() {
		r := &factor.Result{Settings: factor.Settings{Tol: s.Tol, Which: s.Which}}
		if s.Command == "complete" {
			r.Completion = &factor.Completion{}
		}
		p.convergence(r, drawn(s.Passes.Events))
	})
	p.part("memory", func() { p.memory(s) })
	p.part("triplets", func() { p.triplets(s) })
	p.part("about", func() {
		p.section("Run", "")
		p.facts(aboutFacts(s))
		p.end()
	})
}

// wholeOf returns the name of the whole that Progress is the share of.
func wholeOf(s *live.State) string { return either(s.Share > 0, "run", "stage") }

// standing returns the text behind the status of a run.
func standing(s *live.State) (text markup) {
	switch {
	case s.Message != "":
		text = markedUp(": <bdi>%s</bdi>", cut(s.Message, textLength))
	case s.Status == live.Unfinished:
		text = ": a checkpoint is what there is of it."
	case s.Status == live.Running && s.Stage.Name != "":
		text = markedUp(": %s", cut(s.Stage.Name, nameLength))
		if x := s.Progress(); !math.IsNaN(x) {
			text += markedUp(", %.0f %% of the %s", 100*x, wholeOf(s))
		}
		if left := s.Remaining(); left > 0 {
			text += markedUp(", about %s left", lasting(left))
		}
	}
	if s.Checkpoint && s.Status != live.Running {
		text += " The same command with <code>--resume</code> goes on from its checkpoint."
	}
	return text
}

func lasting(seconds float64) string {
	const most = 1e9
	if !(seconds < most) {
		return "very long"
	}
	return time.Duration(max(seconds, 0) * float64(time.Second)).Round(time.Second).String()
}

// put adds a fact if has is true, with an identifier for its value.
func (f *facts) put(has bool, id, name string, value markup) {
	f.add(has, name, markedUp("<span class=\"number\" id=\"%s\">%s</span>", id, value))
}

func liveFacts(s *live.State) (all facts) {
	all.put(s.Stage.Name != "", "stage", "stage", escaped(cut(s.Stage.Name, nameLength)))
	if s.Unit == "bytes" {
		all.put(s.Done > 0, "done", "done", escaped(memory.FormatSize(s.Done)+ofTotal(s.Total, memory.FormatSize)))
	} else {
		all.put(s.Done > 0 && s.Unit != "", "done", "done", escaped(count(s.Done)+ofTotal(s.Total, count)+" "+cut(s.Unit, nameLength)))
	}
	all.put(s.Entries > 0, "entries", "entries", escaped(count(s.Entries)))
	all.put(true, "elapsed", "time", escaped(lasting(s.Seconds)))
	all.put(s.Remaining() > 0, "left", "still takes about", escaped(lasting(s.Remaining())))
	if p := s.Last; p != nil {
		pass := markedUp("%d", p.Pass)
		if s.Command == "complete" {
			all.put(true, "pass", "round", pass)
			all.put(true, "phase", "phase", escaped(cut(p.Phase, nameLength)))
			all.put(true, "lambda", "λ", exact(p.Lambda, "%.4g"))
			all.put(true, "rmse", "root mean square error", exact(p.RMSE, "%.4f"))
			all.put(finite(p.HeldOut) && p.HeldOut > 0, "held-out", "on entries held out", exact(p.HeldOut, "%.4f"))
		} else {
			all.put(true, "pass", "passes", pass)
			all.put(true, "found", "found", markedUp("%d%s", p.Locked, ofTotal(int64(s.Rank), count)))
			all.put(true, "residual", "worst residual of those looked for", exact(p.Worst, "%.2e"))
		}
	}
	running := s.Status == live.Running
	all.put(s.BytesRead > 0, "read", "read", escaped(memory.FormatSize(s.BytesRead)))
	all.put(s.BytesPerSecond > 0 && running, "rate", "read a second", escaped(memory.FormatSize(int64(s.BytesPerSecond))+"/s"))
	all.put(s.RSS > 0 && running, "rss", "memory", escaped(memory.FormatSize(s.RSS)+ofTotal(cmp.Or(s.Planned(), s.Budget), memory.FormatSize)))
	if t := s.Tasks; t != nil {
		all.put(true, "tasks", "tasks", markedUp("%d, %d of them again, on %d workers", t.Given, t.Retries, t.Workers))
		all.put(true, "task-read", "read by tasks", escaped(memory.FormatSize(t.Read)))
	}
	all.put(s.Workers > 0, "workers", "workers", markedUp("%d", s.Workers))
	return all
}

// ofTotal returns " of" and a total, "" if the total is not known.
func ofTotal(total int64, written func(int64) string) string {
	if total <= 0 {
		return ""
	}
	return " of " + written(total)
}

func aboutFacts(s *live.State) (all facts) {
	add := func(name, value string) {
		all.add(value != "", name, markedUp("<bdi>%s</bdi>", cut(value, textLength)))
	}
	add("command", s.Command)
	add("makes", s.Out)
	add("store", s.Store)
	all.add(s.Rows > 0, "rows × columns", markedUp("%s × %s", count(s.Rows), count(s.Cols)))
	all.add(s.Rows > 0, "entries of the store", density(s.Rows, s.Cols, s.NNZ))
	add("method", s.Method)
	all.add(s.Tol > 0, "tolerance", markedUp("%.3g", s.Tol))
	all.add(!s.Began.IsZero(), "began", markedUp("<bdi>%s</bdi>", s.Began.Format("2006-01-02 15:04:05 -07:00")))
	add("host", s.Host)
	all.add(s.PID > 0, "process", markedUp("<bdi>%d</bdi>", s.PID))
	return all
}

func (p *page) memory(s *live.State) {
	var all []amount
	for _, m := range []struct {
		name  string
		bytes int64
		apart bool
	}{{"planned", s.Planned(), true}, {"used", s.RSS, false}, {"used at most so far", s.PeakRSS, false}} {
		if m.bytes > 0 && (m.name != "used" || s.Status == live.Running) {
			all = append(all, amount{m.name, float64(m.bytes), memory.FormatSize(m.bytes), m.apart})
		}
	}
	if len(all) == 0 {
		return
	}
	p.section("Memory", "")
	p.WriteString("<div class=\"pair\">\n")
	caption := markup("Memory of the process and what the run plans to use")
	if s.Budget > 0 {
		caption += markedUp("; the budget is %s", memory.FormatSize(s.Budget))
	}
	p.amounts("Memory used of what is planned", all, caption)
	p.WriteString("</div>\n")
	p.end()
}

const liveEvents = 500

// drawn returns events at even distances, and the last one.
func drawn(events []factor.Event) []factor.Event {
	step := (len(events) + liveEvents - 1) / liveEvents
	var some []factor.Event
	for i, e := range events {
		if i%step == 0 || i == len(events)-1 {
			some = append(some, e)
		}
	}
	return some
}

// triplets writes the triplets that passes were about, each as the last pass about it has it.
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
		stands := either(i < s.Last.Locked, "found", "looked for")
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
	p.part("runs", func() {
		p.table("runs-table", "runs", false, "", "run", "command", "status", "done", "left", "passes", "found", "residual", "time")
		for _, s := range runs {
			p.row(s)
		}
		p.endTable()
	})
	p.closeLive()
	return p.to(w)
}

func (p *page) row(s *live.State) {
	colour := either(s.Status == live.Running || s.Status == live.Finished, "good", "wrong")
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
