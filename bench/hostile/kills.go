package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var kills = Attack{
	Name: "kills",
	About: "SIGKILL at random moments, one to five times, of ingest, svd and generate, then --resume: the bytes of a run without a break, " +
		"and at every moment nothing at the target or something complete",
	Short: 26, Long: 600,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		w, want, out, took, err := t.draw(ctx, e)
		if err == nil {
			err = t.kills(ctx, &w, want, out, took)
		}
		return verdict("kill "+w.name, err)
	},
}

func (t *Trial) kills(ctx context.Context, w *work, want, out string, took time.Duration) error {
	replace := w.resume && t.IntN(4) == 0 // over something that is complete
	if replace {
		if err := copyTree(want, out); err != nil {
			return err
		}
	}
	for range t.between(1, 5) {
		j := w.saved(out)
		if replace {
			j = w.command(out, append([]string{"--force"}, w.saves...)...)
		}
		p, err := t.start(j)
		if err != nil {
			return err
		}
		after := time.NewTimer(time.Duration(t.Float64() * 1.1 * float64(took)))
		select {
		case <-after.C:
		case <-p.ended:
		case <-ctx.Done():
		}
		after.Stop()
		if !p.kill() {
			if err := p.crash(); err != nil {
				return err
			}
			if err := p.refusal(); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.complete(ctx, w, out, replace); err != nil {
			return err
		}
	}
	if replace {
		if _, err := t.must(ctx, w.command(out, append([]string{"--force"}, w.saves...)...)); err != nil {
			return err
		}
		return w.same(want, out)
	}
	return t.finish(ctx, w, want, out)
}

// complete judges what a killed process has left: names that begin with that of
// the target, and a target that is whole, if there is one, as there must be if
// there was one before.
func (t *Trial) complete(ctx context.Context, w *work, out string, there bool) error {
	left, err := names(filepath.Dir(out))
	if err != nil {
		return err
	}
	for _, name := range left {
		if !strings.HasPrefix(name, filepath.Base(out)) {
			return wrongf("%s: killed, it leaves %v", w.name, left)
		}
	}
	_, err = os.Stat(out)
	switch {
	case err != nil && there:
		// Where two directories cannot be exchanged the old one is aside for a moment.
		if _, err := os.Stat(out + ".partial.old"); err != nil {
			return wrongf("%s --force: killed, neither the old nor the new one is there: %v", w.name, left)
		}
	case err == nil && (w.args[0] == "ingest" || w.args[0] == "generate" && w.args[1] != "ratings"):
		_, err := t.must(ctx, gdsvd("check", "-q", out))
		return err
	case err == nil && w.args[0] == "svd":
		// A checkpoint lies in the same place: either that or a whole result.
		files, err := names(out)
		if err != nil {
			return err
		}
		if has(files, "result.json") && !(has(files, "sigma.npy") && has(files, "U.npy") && has(files, "V.npy") && has(files, "events.jsonl")) {
			return wrongf("%s: killed, it leaves a part of a result: %v", w.name, files)
		}
	}
	return nil
}

func has(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
