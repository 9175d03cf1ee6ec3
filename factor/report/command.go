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

// again returns the words of the command that makes a result again.
func again(r *factor.Result) words {
	s, c := r.Settings, r.Completion
	w := words{"gdsvd"}
	switch k := strconv.Itoa(r.K); {
	case c != nil:
		w = append(w, "complete", r.Store.Path, "-k", k)
		w.flag(!c.Chosen, "--lambda", number(float64(c.Lambda)))
		w.flag(c.Chosen && float64(c.Holdout) != complete.DefaultHoldout, "--holdout", number(float64(c.Holdout)))
		w.flag(c.Biases, "--biases")
		w.flag(c.Biases && float64(c.Damping) != complete.DefaultDamping, "--damping", number(float64(c.Damping)))
		w.flag(s.Tol != complete.DefaultTol, "--tol", number(s.Tol))
	case pairs(r):
		w = append(w, "eigs", r.Store.Path, "-k", k)
		w.flag(s.Which != "LM", "--which", s.Which)
		w.flag(s.Vectors == factor.None.String(), "--vectors", s.Vectors)
		w.ofRun(r)
	default:
		w = append(w, "svd", r.Store.Path)
		w.flag(s.Energy > 0, "-k", number(s.Energy), "--max-k", strconv.Itoa(s.MaxRank))
		w.flag(s.Energy <= 0, "-k", k)
		w.flag(s.Operator != solver.Gram.String(), "--operator", s.Operator)
		w.flag(s.Stop != solver.StopResidual.String(), "--stop", s.Stop)
		w.flag(s.Vectors != factor.Both.String(), "--vectors", s.Vectors)
		w.ofRun(r)
	}
	w.flag(r.Seed != 0, "--seed", strconv.FormatUint(r.Seed, 10))
	return append(w, "-o", "OUT")
}

// words are the words of a command line.
type words []string

// flag adds a flag if given is true; flags with their default value are left out.
func (w *words) flag(given bool, words ...string) {
	if given {
		*w = append(*w, words...)
	}
}

func (w *words) ofRun(r *factor.Result) {
	s := r.Settings
	if r.View != nil {
		*w = append(*w, "--view", r.View.Pipeline)
	}
	if r.Choice != nil {
		*w = append(*w, r.Choice.Flags...)
	} else {
		*w = append(*w, "--method", s.Method)
		for _, name := range slices.Sorted(maps.Keys(s.OfMethod)) {
			*w = append(*w, "--"+name, number(s.OfMethod[name]))
		}
	}
	w.flag(s.Shift != 0, "--shift", number(s.Shift))
	w.flag(s.Deflation != solver.Projected.String(), "--deflation", s.Deflation)
	w.flag(s.Tol != solver.DefaultTol, "--tol", number(s.Tol))
	w.flag(s.MaxPasses > 0, "--max-passes", strconv.Itoa(s.MaxPasses))
	w.flag(s.Init != "", "--init", s.Init)
	w.flag(s.TimeLimit > 0, "--time-limit", strconv.FormatFloat(s.TimeLimit, 'f', -1, 64)+"s") // a time has no exponent
}

func number(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (p *page) command(title string, words []string, note markup) {
	p.section(title, "")
	p.f("<pre>%s</pre>\n", cut(escape.Command(words...), 4*textLength))
	p.f("<p class=\"dim\">%s</p>\n", note)
	p.end()
}

// noteOn returns a note on what the command does not state.
func noteOn(r *factor.Result) markup {
	note := markedUp("Of the store with the fingerprint %s, it makes the same bits with any number of threads and any budget of memory.", cut(r.Store.Fingerprint, 80))
	if e := r.Engine; e != nil {
		note = markedUp("Of the store with the fingerprint %s, it makes the same bits with --engine, --shared and --groups %d, which it leaves out: the last digits depend on the number of groups.", cut(r.Store.Fingerprint, 80), e.Groups)
	}
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
