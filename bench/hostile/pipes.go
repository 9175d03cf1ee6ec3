package main

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

var pipes = Attack{
	Name:  "pipes",
	About: "a file of a store, a result or a checkpoint, or a configuration file, is a FIFO, /dev/zero, a directory or a loop of links: refused in one line, not read without end",
	Short: 24, Long: 400,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		kind, err := t.pipes(ctx, e)
		return verdict("pipe in place of "+kind, err)
	},
}

// odd puts something that is not a regular file in the place of a file.
func (t *Trial) odd(name string) (what string, err error) {
	if err := os.RemoveAll(name); err != nil {
		return "", err
	}
	switch t.IntN(5) {
	case 0:
		return "a directory", os.Mkdir(name, 0o777)
	case 1:
		return "/dev/zero", os.Symlink("/dev/zero", name)
	case 2:
		return "a loop of links", os.Symlink(filepath.Base(name), name)
	}
	return "a FIFO", fifo(name)
}

func (t *Trial) pipes(ctx context.Context, e *Env) (kind string, err error) {
	dir, all, err := e.stores(ctx)
	if err != nil {
		return "a file", err
	}
	name := pick(t, all...)
	store, out := t.path("m.csr"), t.path("old.svd")
	if err := copyTree(filepath.Join(dir, name+".csr"), store); err != nil {
		return "a file", err
	}
	if err := copyTree(filepath.Join(dir, name+".svd"), out); err != nil {
		return "a file", err
	}
	var j job
	hit := ""
	codes := []int{1, 2, 3}
	svd := []string{"svd", "-q", store, "-k", "2", "-o", t.path("out")}
	switch kind = pick(t, "store", "store", "result", "result", "checkpoint", "configuration", "input"); kind {
	case "store":
		files, err := names(store)
		if err != nil {
			return kind, err
		}
		hit = filepath.Join(store, pick(t, files...))
		j = pick(t, gdsvd("check", "-q", store), gdsvd("info", "-q", store), gdsvd("info", "-q", store, "--ids", "rows"), gdsvd(svd...), gdsvd("check", "-q", "--quick", store))
	case "result":
		hit = filepath.Join(out, pick(t, "result.json", "U.npy", "V.npy", "sigma.npy", "events.jsonl"))
		j = pick(t, gdsvd("info", "-q", out), gdsvd("check", "-q", out), gdsvd(append(svd, "--init", out)...), gdsvd("svd", "-q", store, "-k", "2", "-o", out, "--resume"),
			gdsvd("svd", "-q", store, "-k", "2", "-o", out, "--force"))
	case "checkpoint":
		stopped := []string{"svd", "-q", store, "-k", "2", "-o", t.path("out"), "--checkpoint-every", "1ms"}
		if _, err := t.expect(ctx, gdsvd(append(stopped, "--max-passes", "3")...), 4); !isStopped(err) {
			return kind, err
		}
		hit = filepath.Join(t.path("out"), pick(t, "checkpoint", "checkpoint.jsonl"))
		j = gdsvd(append(stopped, "--resume")...)
	case "configuration":
		hit = t.path("flags.json")
		j = gdsvd(append(svd, "--config", hit)...)
	case "input":
		hit = t.path("input.csv")
		j = gdsvd("ingest", "-q", hit, "-o", t.path("new.csr"))
		// A FIFO with a writer is a good way to hand over a text.
		if err := os.Mkdir(hit, 0o777); err != nil {
			return kind, err
		}
		_, err = t.expect(ctx, j, codes...)
		return kind, err
	}
	what, err := t.odd(hit)
	if err != nil {
		return kind, err
	}
	t.commands = append(t.commands, filepath.Base(hit)+": "+what)
	t.limit = min(t.limit, 20*time.Second)
	j.shell = "ulimit -v 8388608" // KiB: one that reads /dev/zero to its end dies of that
	_, err = t.expect(ctx, j, codes...)
	return kind, err
}
