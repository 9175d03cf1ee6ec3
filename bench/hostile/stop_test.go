package hostile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

var stop = Attack{
	Name: "stop",
	About: "SIGINT or SIGTERM at random moments of ingest, svd, generate and check: exit code 130 within 3 s, or a line that says what takes longer; " +
		"what is left is gone on with to the same bytes",
	Short: 14, Long: 400,
	Run: func(t *Trial) {
		w, out := t.draw("stop")
		j := w.command(out, w.saves...)
		j.args = slices.DeleteFunc(j.args, func(a string) bool { return a == "-q" }) // messages are judged
		p := t.start(j)
		p.endsWithin(t, time.Duration(t.Float64()*float64(w.took)))
		signalled := time.Now()
		_ = p.cmd.Process.Signal(pick(t, os.Interrupt, os.Signal(syscall.SIGTERM))) // an error means that the process has ended
		err := t.wait(p)
		seconds, late := time.Since(signalled).Seconds(), t.env.Late
		// The signal itself ends a process only before the process has registered for signals.
		if s := p.signalled(); p.code() < 0 && (s == syscall.SIGINT || s == syscall.SIGTERM) {
			t.finish(w, out)
			return
		}
		if err == nil && p.code() == 0 {
			w.same(out)
			return
		}
		t.Seconds = seconds
		check(err)
		switch {
		case p.code() != 130:
			check(wrongf("%s: interrupted, exit %d: %s", p.job, p.code(), head(p.stderr.String())))
		case late > 0 && seconds > late.Seconds() && !strings.Contains(p.stderr.between(signalled, signalled.Add(late)), "gdsvd: "):
			check(wrongf("%s: it ends %.1f s after the signal and does not say why", p.job, seconds))
		}
		w.estimates(out)
		t.finish(w, out)
	},
}

// estimates checks that the result of an interrupted svd says that it is one. A result without a
// checkpoint cannot be resumed, and is removed.
func (w *work) estimates(out string) {
	name := filepath.Join(out, "result.json")
	if w.args[0] != "svd" || !exists(name) {
		return
	}
	if text := string(need(os.ReadFile(name))); !strings.Contains(text, `"status": "cancelled"`) || !strings.Contains(text, `"certified": false`) {
		check(wrongf("%s: interrupted, and its result does not say so", w.name))
	}
	if !exists(filepath.Join(out, "checkpoint")) {
		check(os.RemoveAll(out))
	}
}
