package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// flipCheckpoint damages what an svd goes on from.
func (t *Trial) flipCheckpoint(ctx context.Context, e *Env) Verdict {
	method := pick(t, "krylov", "block", "gd", "power", "nesterov", "polyak", "nesterov-general")
	file := pick(t, "checkpoint", "checkpoint", "checkpoint.jsonl")
	kind := "flip of " + file
	dir, all, err := e.stores(ctx)
	if err != nil {
		return verdict(kind, err)
	}
	name := all[0]
	run := func(out string, more ...string) job {
		return gdsvd(append([]string{"svd", "-q", filepath.Join(dir, name+".csr"), "-k", "3", "--method", method, "-o", out, "--checkpoint-every", "1ms", "--tol", "1e-6"}, more...)...)
	}
	made, err := e.fixture("checkpoint-"+method, func(t *Trial) error {
		if _, err := t.must(ctx, run(t.path("want"))); err != nil {
			return err
		}
		_, err := t.expect(ctx, run(t.path("out"), "--max-passes", "6"), 4)
		if err == nil || !isStopped(err) {
			return wrongf("%s: it ends within 6 passes", method)
		}
		if err := copyTree(t.path("out"), t.path("again")); err != nil {
			return err
		}
		if _, err := t.must(ctx, run(t.path("again"), "--resume")); err != nil {
			return err
		}
		return worst(vectorsSame(t.path("want"), t.path("again"), run("again", "--resume")), sameEvents(t.path("want"), t.path("again"), ""))
	})
	if err != nil {
		return verdict(kind, err)
	}
	out := t.path("out")
	if err := copyTree(filepath.Join(made, "out"), out); err != nil {
		return verdict(kind, err)
	}
	how, _, err := t.damage(filepath.Join(out, file))
	if err != nil {
		return verdict(kind, err)
	}
	t.commands = append(t.commands, file+": "+how)
	resume := run(out, "--resume")
	resume.args = slices.DeleteFunc(resume.args, func(a string) bool { return a == "-q" }) // warnings are of interest
	p, err := t.run(ctx, resume)
	if err == nil && p.code() != 0 {
		_, err = t.expect(ctx, run(out, "--resume"), 1, 3)
	}
	if err == nil {
		err = vectorsSame(filepath.Join(made, "want"), out, gdsvd("svd --resume with", file, how))
	}
	if err == nil {
		err = sameEvents(filepath.Join(made, "want"), out, p.stderr.String())
	}
	return verdict(kind, err)
}

// flipUnfinished damages what a killed ingest or generate has left.
func (t *Trial) flipUnfinished(ctx context.Context, e *Env) Verdict {
	all, err := e.works(ctx, false)
	if err != nil {
		return verdict("flip of something unfinished", err)
	}
	w := pick(t, all[2], all[3], all[4])
	kind := "flip in an unfinished " + w.name
	want, took, err := e.reference(ctx, &w)
	if err != nil {
		return verdict(kind, err)
	}
	left, err := e.fixture("unfinished-"+filepath.Base(filepath.Dir(want)), func(t *Trial) error {
		for later := time.Duration(0); later < 3; later++ {
			at := t.path(strconv.Itoa(int(later)))
			if err := t.leave(ctx, &w, at, later*took/5); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return verdict(kind, err)
	}
	if err := copyTree(filepath.Join(left, strconv.Itoa(t.IntN(3))), t.path("work")); err != nil {
		return verdict(kind, err)
	}
	var files []string
	err = filepath.Walk(t.path("work"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() && filepath.Ext(path) != ".lock" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return verdict(kind, err)
	}
	if len(files) == 0 {
		return verdict(kind, skipf("it was killed too soon or too late"))
	}
	file := pick(t, files...)
	how, _, err := t.damage(file)
	if err != nil {
		return verdict(kind, err)
	}
	t.commands = append(t.commands, file+": "+how)
	out := filepath.Join(t.path("work"), "out")
	_, err = t.expect(ctx, w.saved(out), 1, 3)
	if err == nil {
		if differ := w.same(want, out); differ != nil {
			// Of finished blocks only check reads what is in them.
			if _, err = t.expect(ctx, gdsvd("check", "-q", out), 3); err == nil {
				err = wrongf("%s, %s: resumed without a word, and check finds nothing: %v", filepath.Base(file), how, differ)
			}
		}
	}
	return verdict(kind, err)
}

// leave starts a work in a new directory and kills it some time after it has
// something to go on from.
func (t *Trial) leave(ctx context.Context, w *work, dir string, later time.Duration) error {
	for range 20 {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o777); err != nil {
			return err
		}
		out := filepath.Join(dir, "out")
		p, err := t.start(w.saved(out))
		if err != nil {
			return err
		}
		for saved := false; !saved; {
			select {
			case <-p.ended:
				saved = true
			case <-ctx.Done():
				p.kill()
				return ctx.Err()
			case <-time.After(time.Millisecond):
				saved = exists(filepath.Join(out+".spool", "journal")) || exists(filepath.Join(out+".partial", "UNFINISHED.json"))
			}
		}
		select {
		case <-p.ended:
		case <-time.After(later):
		}
		if p.kill() && (exists(filepath.Join(out+".spool", "journal")) || exists(filepath.Join(out+".partial", "UNFINISHED.json"))) {
			return nil
		}
		later /= 2
	}
	return wrongf("%s: it leaves nothing to go on from", w.name)
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
