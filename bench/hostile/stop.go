package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var stop = Attack{
	Name: "stop",
	About: "SIGINT or SIGTERM at random moments of ingest, svd, generate and check: exit code 130 within 3 s, or a line that says what takes longer; " +
		"what is left is gone on with to the same bytes",
	Short: 14, Long: 400,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		w, want, out, took, err := t.draw(ctx, e)
		if err != nil {
			return verdict("stop "+w.name, err)
		}
		seconds, err := t.stop(ctx, e, &w, want, out, took)
		v := verdict("stop "+w.name, err)
		v.Seconds = seconds
		return v
	},
}

// stop interrupts a work once and goes on with it. It returns the seconds from
// the signal to the exit.
func (t *Trial) stop(ctx context.Context, e *Env, w *work, want, out string, took time.Duration) (float64, error) {
	j := w.command(out, w.saves...)
	j.args = slices.DeleteFunc(j.args, func(a string) bool { return a == "-q" }) // what is said is of interest
	p, err := t.start(j)
	if err != nil {
		return 0, err
	}
	after := time.NewTimer(time.Duration(t.Float64() * float64(took)))
	defer after.Stop()
	select {
	case <-after.C:
	case <-p.ended:
	case <-ctx.Done():
	}
	signalled := time.Now()
	_ = p.cmd.Process.Signal(pick(t, interrupts...)) // an error means that it has ended
	err = t.wait(ctx, p)
	seconds := time.Since(signalled).Seconds()
	switch {
	case p.code() < 0 && early(p):
		return 0, t.finish(ctx, w, want, out)
	case err != nil:
		return seconds, err
	case p.code() == 0:
		return 0, w.same(want, out)
	case p.code() != 130:
		return seconds, wrongf("%s: interrupted, exit %d: %s", p.job, p.code(), head(p.stderr.String()))
	case e.Late > 0 && seconds > e.Late.Seconds() && !strings.Contains(p.stderr.between(signalled, signalled.Add(e.Late)), "gdsvd: "):
		return seconds, wrongf("%s: it ends %.1f s after the signal and does not say why", p.job, seconds)
	}
	if err := w.estimates(out); err != nil {
		return seconds, err
	}
	return seconds, t.finish(ctx, w, want, out)
}

// estimates judges the result that an interrupted svd leaves: it says what it
// is. One without a checkpoint cannot be gone on with, and is removed.
func (w *work) estimates(out string) error {
	b, err := os.ReadFile(filepath.Join(out, "result.json"))
	if w.args[0] != "svd" || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if text := string(b); !strings.Contains(text, `"status": "cancelled"`) || !strings.Contains(text, `"certified": false`) {
		return wrongf("%s: interrupted, and its result does not say so", w.name)
	}
	if _, err := os.Stat(filepath.Join(out, "checkpoint")); err != nil {
		return os.RemoveAll(out)
	}
	return nil
}
