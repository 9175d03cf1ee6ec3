package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

var flips = Attack{
	Name: "flips",
	About: "one file of a store, a result, a checkpoint, an unfinished ingest or store, or a compressed input is changed (a bit, a byte, zeros, a copied or a cut part, " +
		"something appended) or removed: check finds it, and no command takes it for the truth",
	Short: 60, Long: 12000,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		switch t.IntN(8) {
		case 0, 1, 2:
			return t.flipStore(ctx, e)
		case 3:
			return t.flipResult(ctx, e)
		case 4, 5:
			return t.flipCheckpoint(ctx, e)
		case 6:
			return t.flipUnfinished(ctx, e)
		}
		return t.flipInput(ctx, e)
	},
}

// judged is a list of what commands have come to: the worst counts, then a refusal.
func worst(errs ...error) error {
	var refused error
	for _, err := range errs {
		switch {
		case err == nil:
		case isRefused(err):
			refused = err
		default:
			return err
		}
	}
	return refused
}

// stores makes small stores of every coding, with ids of both kinds, in several
// shards, one with truth.json, and what commands say of them.
func (e *Env) stores(ctx context.Context) (string, []string, error) {
	all := []string{"dict4", "constant", "dict8", "float32", "float64", "truth"}
	dir, err := e.fixture("stores", func(t *Trial) error {
		values := map[string]func() float64{
			"dict4":    func() float64 { return float64(t.between(1, 10)) / 2 },
			"constant": func() float64 { return 1 },
			"dict8":    func() float64 { return float64(t.between(1, 200)) },
			"float32":  func() float64 { return float64(float32(t.NormFloat64())) },
			"float64":  t.NormFloat64,
		}
		for _, name := range all {
			store := t.path(name + ".csr")
			if name == "truth" {
				if _, err := t.must(ctx, gdsvd("generate", "spectrum", "-q", "--rows", "700", "--cols", "90", "--rank", "40", "--shard-size", "8KiB", "-o", store)); err != nil {
					return err
				}
			} else {
				row, col := word, word
				if name == "dict8" {
					row = func(i int) string { return strconv.Itoa(i * i) }
				}
				m := named{fromDense(name, t.place(500, 60, 0.2, values[name])), row, col}
				if err := m.writeIDs(t, t.path(name+".csv"), m.row, m.col); err != nil {
					return err
				}
				if _, err := t.must(ctx, gdsvd("ingest", "-q", t.path(name+".csv"), "-o", store, "--shard-size", "2KiB",
					"--format", "delimited", "--sep", ",", "--columns", "1,2,3", "--header", "no")); err != nil {
					return err
				}
			}
			if _, err := t.must(ctx, gdsvd("svd", "-q", store, "-k", "3", "--method", "krylov", "--block", "2", "-o", t.path(name+".svd"))); err != nil {
				return err
			}
			for _, side := range []string{"rows", "cols"} {
				p, err := t.must(ctx, gdsvd("info", "-q", store, "--ids", side))
				if err != nil {
					return err
				}
				if err := os.WriteFile(t.path(name+"."+side), p.stdout.Bytes(), 0o666); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return dir, all, err
}

func (t *Trial) flipStore(ctx context.Context, e *Env) Verdict {
	dir, all, err := e.stores(ctx)
	if err != nil {
		return verdict("flip of a store", err)
	}
	name := pick(t, all...)
	store := t.path("m.csr")
	if err := copyTree(filepath.Join(dir, name+".csr"), store); err != nil {
		return verdict("flip of a store", err)
	}
	files, err := names(store)
	if err != nil {
		return verdict("flip of a store", err)
	}
	file := pick(t, files...)
	kind := "flip of a store: " + file
	if filepath.Ext(file) == ".csr" {
		kind = "flip of a store: shard"
	}
	how, gone, err := t.damage(filepath.Join(store, file))
	if err != nil {
		return verdict(kind, err)
	}
	t.commands = append(t.commands, file+": "+how)
	codes := []int{3}
	if gone {
		codes = []int{1, 3}
	}
	_, checked := t.expect(ctx, gdsvd("check", "-q", store), codes...)
	if checked == nil && !(gone && file == "truth.json") { // a store is complete without it
		checked = wrongf("%s of a store with %s values, %s: check finds nothing", file, name, how)
	}
	var used error
	switch t.IntN(3) {
	case 0:
		if _, used = t.expect(ctx, gdsvd("svd", "-q", store, "-k", "3", "--method", "krylov", "--block", "2", "-o", t.path("out")), codes...); used == nil {
			used = vectorsSame(filepath.Join(dir, name+".svd"), t.path("out"), gdsvd("svd", file+" "+how))
		}
	case 1:
		side := pick(t, "rows", "cols")
		var p *process
		if p, used = t.expect(ctx, gdsvd("info", "-q", store, "--ids", side), codes...); used == nil {
			b, err := os.ReadFile(filepath.Join(dir, name+"."+side))
			if err != nil {
				return verdict(kind, err)
			}
			if !slices.Equal(b, p.stdout.Bytes()) {
				used = wrongf("%s, %s: info prints other ids", file, how)
			}
		}
	case 2:
		_, used = t.expect(ctx, gdsvd("info", "-q", store), codes...)
	}
	return verdict(kind, worst(checked, used))
}

// flipResult damages a result, which is then checked, looked at, and started from.
func (t *Trial) flipResult(ctx context.Context, e *Env) Verdict {
	dir, all, err := e.stores(ctx)
	if err != nil {
		return verdict("flip of a result", err)
	}
	name, out := pick(t, all...), t.path("old.svd")
	if err := copyTree(filepath.Join(dir, name+".svd"), out); err != nil {
		return verdict("flip of a result", err)
	}
	file := pick(t, "sigma.npy", "U.npy", "V.npy", "result.json", "events.jsonl")
	kind := "flip of a result: " + file
	how, gone, err := t.damage(filepath.Join(out, file))
	if err != nil {
		return verdict(kind, err)
	}
	t.commands = append(t.commands, file+": "+how)
	codes := []int{3}
	if gone {
		codes = []int{1, 3}
	}
	_, checked := t.expect(ctx, gdsvd("check", "-q", out), codes...)
	if checked == nil {
		checked = wrongf("%s of a result, %s: check finds nothing", file, how)
	}
	var used error
	if t.IntN(2) == 0 {
		_, used = t.expect(ctx, gdsvd("info", "-q", out), 1, 3)
		return verdict(kind, worst(checked, used))
	}
	_, used = t.expect(ctx, gdsvd("svd", "-q", filepath.Join(dir, name+".csr"), "-k", "4", "--init", out, "-o", t.path("out")), 1, 3)
	if used == nil {
		used = t.leading(filepath.Join(dir, name), t.path("out"))
	}
	return verdict(kind, worst(checked, used))
}

// leading judges the values of a converged result by those of an undamaged one.
func (t *Trial) leading(name, out string) error {
	var want, got result
	if err := readJSON(filepath.Join(name+".svd", "result.json"), &want); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(out, "result.json"), &got); err != nil {
		return wrongf("%v", err)
	}
	for i, s := range want.Sigma {
		if i >= len(got.Sigma) || !(abs(got.Sigma[i]-s) <= 2e-8*want.Sigma[0]) {
			return wrongf("--init from a damaged result: σ %v, without %v", got.Sigma, want.Sigma)
		}
	}
	return nil
}

func abs(x float64) float64 { return max(x, -x) }

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

// flipInput damages a compressed input.
func (t *Trial) flipInput(ctx context.Context, e *Env) Verdict {
	const kind = "flip of a gzip input"
	all, err := e.works(ctx, false)
	if err != nil {
		return verdict(kind, err)
	}
	w := all[1]
	want, _, err := e.reference(ctx, &w)
	if err != nil {
		return verdict(kind, err)
	}
	in, err := e.inputs(ctx)
	if err != nil {
		return verdict(kind, err)
	}
	parts, err := filepath.Glob(filepath.Join(in, "part*"))
	if err != nil {
		return verdict(kind, err)
	}
	args := []string{"ingest", "-q", "-o", t.path("out")}
	hit := 1 + 2*t.IntN(len(parts)/2) // these are compressed
	how := ""
	for i, part := range parts {
		if i == hit {
			copied := t.path(filepath.Base(part))
			if err := copyTree(part, copied); err != nil {
				return verdict(kind, err)
			}
			if how, _, err = t.damage(copied); err != nil {
				return verdict(kind, err)
			}
			part = copied
		}
		args = append(args, part)
	}
	t.commands = append(t.commands, parts[hit]+": "+how)
	if _, err = t.expect(ctx, gdsvd(args...), 1, 2); err == nil {
		// The header has bits that mean nothing, but the matrix is what it was.
		if err = sameStore(want, t.path("out")); err != nil {
			err = wrongf("gzip, %s: taken without a word: %v", how, err)
		}
	}
	return verdict(kind, err)
}

// sameStore compares stores but for what their manifests say of the inputs.
func sameStore(want, got string) error {
	var a, b struct{ Fingerprint string }
	if err := readJSON(filepath.Join(want, "MANIFEST.json"), &a); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(got, "MANIFEST.json"), &b); err != nil {
		return wrongf("%v", err)
	}
	if a != b {
		return wrongf("another matrix")
	}
	return nil
}

// sameEvents compares events.jsonl but for what measures the process. The first
// events may be missing if that was said.
func sameEvents(want, got, said string) error {
	a, err := readEvents(want)
	if err != nil {
		return err
	}
	b, err := readEvents(got)
	if err != nil {
		return wrongf("%v", err)
	}
	if slices.Equal(a, b) || strings.Contains(said, "will lack passes") && len(b) < len(a) && slices.Equal(a[len(a)-len(b):], b) {
		return nil
	}
	return wrongf("events.jsonl has other events than without a break, %d of %d", len(b), len(a))
}
