package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var kills = Attack{
	Name: "kills",
	About: "SIGKILL at random moments, one to five times, of ingest, svd and generate, then --resume: the bytes of a run without a break, " +
		"and at every moment nothing at the target or something complete",
	Short: 26, Long: 600,
	Run: func(t *Trial) {
		w, out := t.draw("kill")
		replace := w.resume && t.IntN(4) == 0 // --force over a complete target
		j := w.saved(out)
		if replace {
			copyTree(w.want, out)
			j = w.command(out, append([]string{"--force"}, w.saves...)...)
		}
		for range t.between(1, 5) {
			p := t.start(j)
			p.endsWithin(t, time.Duration(t.Float64()*1.1*float64(w.took)))
			if !p.kill() {
				check(p.crash())
				check(p.refusal())
			}
			check(t.ctx.Err())
			t.complete(w, out, replace)
		}
		if replace {
			t.must(j)
			w.same(out)
			return
		}
		t.finish(w, out)
	},
}

// endsWithin waits until the process has ended, d is over, or the run is stopped.
func (p *process) endsWithin(t *Trial, d time.Duration) {
	after := time.NewTimer(d)
	defer after.Stop()
	select {
	case <-after.C:
	case <-p.ended:
	case <-t.ctx.Done():
	}
}

// complete judges what a killed process has left: names that begin with that of the target, and a
// complete target or none; there says that a target existed before, so that one must exist.
func (t *Trial) complete(w *work, out string, there bool) {
	left := names(filepath.Dir(out))
	w.leaves("killed", out, left)
	_, err := os.Stat(out)
	switch {
	case err != nil && there:
		// Where two directories cannot be exchanged, the old one has another name for a moment.
		if !exists(out + ".partial.old") {
			check(wrongf("%s --force: killed, neither the old nor the new one is there: %v", w.name, left))
		}
	case err == nil && (w.args[0] == "ingest" || w.args[0] == "generate" && w.args[1] != "ratings"):
		t.must(gdsvd("check", "-q", out))
	case err == nil && w.args[0] == "svd":
		// A checkpoint lies in the same directory: it holds either a checkpoint or a complete result.
		files := names(out)
		missing := func(name string) bool { return !slices.Contains(files, name) }
		if !missing("result.json") && slices.ContainsFunc(append([]string{"events.jsonl"}, vectors...), missing) {
			check(wrongf("%s: killed, it leaves a part of a result: %v", w.name, files))
		}
	}
}

// leaves checks that the names of all files left begin with that of the target.
func (w *work) leaves(how, out string, left []string) {
	if slices.ContainsFunc(left, func(name string) bool { return !strings.HasPrefix(name, filepath.Base(out)) }) {
		check(wrongf("%s: %s, it leaves %v", w.name, how, left))
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
