package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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

// worst is the error that counts of several commands: one that is wrong before one
// that is a refusal.
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
	if gone || file == "MANIFEST.json" { // one with another name of the format is not of a store
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
