package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
)

var descriptors = Attack{
	Name: "descriptors",
	About: "ingest of many files, svd of a store of many shards, generate and check with 10 to 64 file descriptors: done, or one line and exit 1, " +
		"and with more of them --resume ends with the same bytes",
	Short: 16, Long: 500,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		w, want, out, _, err := t.draw(ctx, e)
		if err == nil && runtime.GOOS == "windows" {
			err = skipf("there is no limit of descriptors on windows")
		}
		if err == nil {
			err = t.descriptors(ctx, &w, want, out)
		}
		return verdict("descriptors "+w.name, err)
	},
}

func (t *Trial) descriptors(ctx context.Context, w *work, want, out string) error {
	few := t.between(10, 32) // with fewer the Go runtime itself may not begin
	if t.IntN(4) == 0 {
		few = t.between(10, 64)
	}
	j := w.command(out, w.saves...)
	j.shell = fmt.Sprintf("ulimit -n %d", few)
	_, err := t.expect(ctx, j, 1)
	if err == nil {
		if err := w.same(want, out); err != nil {
			return err
		}
		if w.args[0] == "svd" {
			return nil
		}
		if w.args[0] == "generate" && w.args[1] == "ratings" {
			return nil // a file, not a store
		}
		check := gdsvd("check", "-q", out)
		check.shell = j.shell
		_, err = t.expect(ctx, check, 1)
		return tooFew(err)
	}
	if !isRefused(err) {
		return err
	}
	if e := tooFew(err); !isRefused(e) {
		return e
	}
	// It may leave what it could not remove for want of descriptors: the next run
	// has to clear that away.
	if e := t.finish(ctx, w, want, out); e != nil {
		return e
	}
	return err
}

// tooFew judges that a refusal names what there is too little of.
func tooFew(err error) error {
	if isRefused(err) && !strings.Contains(err.Error(), "too many open files") && !strings.Contains(err.Error(), "open at a time") {
		return wrongf("few descriptors: %s", head(err.Error()))
	}
	return err
}
