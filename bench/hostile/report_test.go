package hostile

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gdsvd/gdsvd/bench/internal/harness"
)

// report is the content of NAME.json.
type report struct {
	Commit  string  `json:"commit"`
	Machine string  `json:"machine"`
	Date    string  `json:"date"`
	Seed    uint64  `json:"seed"`
	Long    bool    `json:"long"`
	Rows    []*row  `json:"rows"`
	Seconds float64 `json:"seconds"`

	begun time.Time
	mu    sync.Mutex
}

// row counts the outcomes of the trials of one kind.
type row struct {
	Attack  string    `json:"attack"`
	Kind    string    `json:"kind"`
	Trials  int       `json:"trials"`
	Refused int       `json:"refused"`
	Right   int       `json:"right"`
	Wrong   int       `json:"wrong"`
	Hung    int       `json:"hung"`
	Crashed int       `json:"crashed"`
	Skipped int       `json:"skipped"`
	Why     string    `json:"why,omitempty"`     // reason of the first skipped trial
	Slowest float64   `json:"slowest,omitempty"` // largest Seconds of a trial
	Failed  []failure `json:"failed,omitempty"`  // at most shown of them
}

// failure is a trial that was wrong, hung or crashed.
type failure struct {
	Trial   int     `json:"trial"`
	Outcome Outcome `json:"outcome"`
	What    string  `json:"what"`
	Again   string  `json:"again"` // the command that repeats it
}

// shown is the number of failures that are kept per row.
const shown = 5

func newReport(o *options) *report {
	return &report{Commit: harness.Commit(), Machine: harness.Machine(), Date: time.Now().UTC().Format(time.DateOnly), Seed: o.seed, Long: o.long, begun: time.Now()}
}

// series runs the trials of an attack, several at a time.
func (r *report) series(ctx context.Context, e *Env, a Attack, trials int, o *options) error {
	begun := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(o.parallel)
	for number := range trials {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			t, err := e.try(ctx, a, o.seed, number, o.long)
			if err == nil {
				r.add(a, o, t)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	slices.SortStableFunc(r.Rows, func(a, b *row) int {
		return cmp.Or(slices.Index(attackNames(), a.Attack)-slices.Index(attackNames(), b.Attack), cmp.Compare(a.Kind, b.Kind))
	})
	bad := 0
	for _, w := range r.Rows {
		if w.Attack == a.Name {
			bad += w.Wrong + w.Hung + w.Crashed
			slices.SortFunc(w.Failed, func(a, b failure) int { return cmp.Compare(a.Trial, b.Trial) })
		}
	}
	log.Printf("%s: %d trials, %d bad, %.0f s", a.Name, trials, bad, time.Since(begun).Seconds())
	r.Seconds = time.Since(r.begun).Seconds()
	return nil
}

// add counts a trial.
func (r *report) add(a Attack, o *options, v *Trial) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.Rows, func(w *row) bool { return w.Attack == a.Name && w.Kind == v.Kind })
	if i < 0 {
		i = len(r.Rows)
		r.Rows = append(r.Rows, &row{Attack: a.Name, Kind: v.Kind})
	}
	w := r.Rows[i]
	n := max(1, v.Trials)
	w.Trials += n
	w.Slowest = max(w.Slowest, v.Seconds)
	*map[Outcome]*int{Right: &w.Right, Refused: &w.Refused, Wrong: &w.Wrong, Hung: &w.Hung, Crashed: &w.Crashed, Skipped: &w.Skipped}[v.Outcome] += n
	if v.Outcome == Skipped && w.Why == "" {
		w.Why = v.What
	}
	if !v.Outcome.bad() {
		return
	}
	again := fmt.Sprintf("go test -v -run TestHostile ./bench/hostile -only %s -seed %d -trial %d", a.Name, o.seed, v.Number)
	if o.long {
		again += " -long"
	}
	log.Printf("%s: %s: %s\n\t%s", v.Kind, v.Outcome, v.What, again)
	if len(w.Failed) < shown {
		w.Failed = append(w.Failed, failure{v.Number, v.Outcome, v.What, again})
	}
}

func (r *report) markdown() string {
	var b strings.Builder
	form := "short form"
	if r.Long {
		form = "long form"
	}
	fmt.Fprintf(&b, "# Hostile use\n\nCommit %s, %s, %s; %s, seed %d, %.0f minutes. The comment of package hostile says how to run it.\n\n", r.Commit, r.Date, r.Machine, form, r.Seed, r.Seconds/60)
	for _, a := range attacks {
		if slices.ContainsFunc(r.Rows, func(w *row) bool { return w.Attack == a.Name }) {
			fmt.Fprintf(&b, "- **%s**: %s.\n", a.Name, a.About)
		}
	}
	b.WriteString("\n| attack | trials | refused properly | right | wrong | hung | crashed | |\n|---|---|---|---|---|---|---|---|\n")
	var all row
	for _, w := range r.Rows {
		note := ""
		if w.Slowest > 0 {
			note = fmt.Sprintf("slowest %.2f s", w.Slowest)
		}
		if w.Skipped > 0 {
			note = strings.TrimPrefix(fmt.Sprintf("%s; %d skipped: %s", note, w.Skipped, w.Why), "; ")
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %s |\n", w.Kind, w.Trials, w.Refused, w.Right, w.Wrong, w.Hung, w.Crashed, note)
		all.Trials, all.Refused, all.Right = all.Trials+w.Trials, all.Refused+w.Refused, all.Right+w.Right
		all.Wrong, all.Hung, all.Crashed = all.Wrong+w.Wrong, all.Hung+w.Hung, all.Crashed+w.Crashed
	}
	fmt.Fprintf(&b, "| **all** | %d | %d | %d | %d | %d | %d | |\n", all.Trials, all.Refused, all.Right, all.Wrong, all.Hung, all.Crashed)
	for _, w := range r.Rows {
		for _, f := range w.Failed {
			fmt.Fprintf(&b, "\n%s: %s: %s\n\n    %s\n", w.Kind, f.Outcome, f.What, f.Again)
		}
	}
	return b.String()
}
