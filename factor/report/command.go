package report

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/solver"
)

// again is the command that makes a result again, word by word.
func again(r *factor.Result) []string {
	s := r.Settings
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	words := []string{"gdsvd"}
	add := func(more ...string) { words = append(words, more...) }
	switch {
	case r.Completion != nil:
		c := r.Completion
		add("complete", r.Store.Path, "-k", strconv.Itoa(r.K))
		if !c.Chosen {
			add("--lambda", number(float64(c.Lambda)))
		} else if float64(c.Holdout) != complete.DefaultHoldout {
			add("--holdout", number(float64(c.Holdout)))
		}
		if c.Biases {
			add("--biases")
			if float64(c.Damping) != complete.DefaultDamping {
				add("--damping", number(float64(c.Damping)))
			}
		}
		if s.Tol != complete.DefaultTol {
			add("--tol", number(s.Tol))
		}
	case pairs(r):
		add("eigs", r.Store.Path, "-k", strconv.Itoa(r.K))
		if s.Which != "LM" {
			add("--which", s.Which)
		}
		if s.Vectors == factor.None.String() {
			add("--vectors", s.Vectors)
		}
	default:
		add("svd", r.Store.Path)
		if s.Energy > 0 {
			add("-k", number(s.Energy), "--max-k", strconv.Itoa(s.MaxRank))
		} else {
			add("-k", strconv.Itoa(r.K))
		}
		if s.Operator != solver.Gram.String() {
			add("--operator", s.Operator)
		}
		if s.Stop != solver.StopResidual.String() {
			add("--stop", s.Stop)
		}
		if s.Vectors != factor.Both.String() {
			add("--vectors", s.Vectors)
		}
	}
	if r.Completion == nil {
		words = append(words, ofRun(r, number)...)
	}
	if r.Seed != 0 {
		add("--seed", strconv.FormatUint(r.Seed, 10))
	}
	return append(words, "-o", "OUT")
}

func ofRun(r *factor.Result, number func(float64) string) (words []string) {
	s := r.Settings
	add := func(more ...string) { words = append(words, more...) }
	if r.View != nil {
		add("--view", r.View.Pipeline)
	}
	if r.Choice != nil {
		add(r.Choice.Flags...)
	} else {
		add("--method", s.Method)
		for _, name := range slices.Sorted(maps.Keys(s.OfMethod)) {
			add("--"+name, number(s.OfMethod[name]))
		}
	}
	if s.Shift != 0 {
		add("--shift", number(s.Shift))
	}
	if s.Deflation != solver.Projected.String() {
		add("--deflation", s.Deflation)
	}
	if s.Tol != solver.DefaultTol {
		add("--tol", number(s.Tol))
	}
	if s.MaxPasses > 0 {
		add("--max-passes", strconv.Itoa(s.MaxPasses))
	}
	if s.Init != "" {
		add("--init", s.Init)
	}
	if s.TimeLimit > 0 {
		add("--time-limit", number(s.TimeLimit)+"s")
	}
	return words
}

func (p *page) command(title string, words []string, note markup) {
	p.section(title, "")
	p.f("<pre>%s</pre>\n", cut(escape.Command(words...), 4*textLength))
	if note != "" {
		p.f("<p class=\"dim\">%s</p>\n", note)
	}
	p.end()
}

// noteOn says what a command does not have.
func noteOn(r *factor.Result) markup {
	note := markedUp("Of the store with the fingerprint %s, it makes the same bits with any number of threads and any budget of memory.", cut(r.Store.Fingerprint, 80))
	if r.Completion != nil {
		return markedUp("-k is the rank that was found: the one that was asked for may have been larger. The store has the fingerprint %s.", cut(r.Store.Fingerprint, 80))
	}
	if r.Settings.TimeLimit > 0 || r.Status == solver.Cancelled.String() {
		note = markedUp("The run ended early, by time or by an interruption: the same command need not end at the same place. The store has the fingerprint %s.", cut(r.Store.Fingerprint, 80))
	}
	if r.View != nil && strings.Contains(r.View.Pipeline, ",sha256:") {
		note += " Lists of ids in the view are named by their checksums: give the files."
	}
	return note
}
