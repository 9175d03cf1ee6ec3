package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
)

var bits = Attack{
	Name: "bits",
	About: "the same command with other --workers, GOMAXPROCS, shard sizes and beside busy processes, and with other --memory where the method is given: " +
		"the same bytes of σ, U and V; ingest the same store",
	Short: 7, Long: 120,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		switch t.IntN(6) {
		case 0:
			method := pick(t, "auto", "krylov")
			return verdict("bits "+method+", vectors in files", t.bitsInFiles(ctx, e, method))
		case 1:
			if t.Long && t.IntN(2) == 0 { // seconds of work: the machine is measured before the choice
				return verdict("bits auto, large", t.bitsLarge(ctx, e))
			}
		}
		method := pick(t, methods...)
		return verdict("bits "+method, t.bitsInMemory(ctx, e, method))
	},
}

func (t *Trial) bitsInMemory(ctx context.Context, e *Env, method string) error {
	dir, err := e.fixture("bits", func(t *Trial) error {
		for _, args := range [][]string{
			{"generate", "ratings", "-q", "-o", t.path("r.dat"), "--users", "7000", "--items", "1500", "--ratings", "1000000", "--seed", "3"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("large.csr")},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("small.csr"), "--shard-size", "64KiB", "--workers", "1", "--memory", "64MiB"},
			{"ingest", "-q", t.path("r.dat"), "-o", t.path("cols.csr"), "--orient", "cols"},
		} {
			if _, err := t.must(ctx, gdsvd(args...)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	stores := []string{filepath.Join(dir, "large.csr"), filepath.Join(dir, "small.csr")}
	if t.IntN(3) == 0 {
		stores = []string{filepath.Join(dir, "cols.csr")}
	}
	flags := []string{"--method", method, "-k", strconv.Itoa(t.between(1, 12)), "--tol", pick(t, "1e-4", "1e-8"), "--max-passes", strconv.Itoa(t.between(3, 40)),
		"--seed", strconv.Itoa(t.IntN(100))}
	budgets := []string{"auto"}
	if method != "auto" { // a choice may depend on the budget
		bytes, err := t.budget(ctx, gdsvd(append([]string{"svd", stores[0], "-o", t.path("none")}, flags...)...))
		if err != nil {
			return err
		}
		budgets = append(budgets, kib(bytes), "1GiB")
	}
	return t.sameBits(ctx, stores, flags, budgets)
}

// bitsInFiles has long vectors and little memory.
func (t *Trial) bitsInFiles(ctx context.Context, e *Env, method string) error {
	dir, err := e.fixture("bits-files", func(t *Trial) error {
		_, err := t.must(ctx, gdsvd("generate", "spectrum", "-q", "--rows", "120000", "--cols", "100000", "--layers", "1", "--rank", "20", "-o", t.path("m.csr")))
		return err
	})
	if err != nil {
		return err
	}
	flags := []string{"--method", method, "-k", strconv.Itoa(t.between(1, 5)), "--max-passes", "20", "--tol", pick(t, "1e-4", "1e-8")}
	stores := []string{filepath.Join(dir, "m.csr")}
	bytes, err := t.budget(ctx, gdsvd(append([]string{"svd", stores[0], "-o", t.path("none"), "--workers", "7"}, flags...)...))
	if err != nil {
		return err
	}
	budgets := []string{kib(bytes)}
	if method != "auto" {
		budgets = append(budgets, "1GiB")
	}
	return t.sameBits(ctx, stores, flags, budgets)
}

func (t *Trial) bitsLarge(ctx context.Context, e *Env) error {
	in, err := e.inputs(ctx)
	if err != nil {
		return err
	}
	dir, err := e.fixture("bits-large", func(t *Trial) error {
		_, err := t.must(ctx, gdsvd("generate", "kron", "-q", "--base", filepath.Join(in, "m.csr"), "--rows", "12", "--cols", "12", "--nnz", "130", "-o", t.path("m.csr")))
		return err
	})
	if err != nil {
		return err
	}
	return t.sameBits(ctx, []string{filepath.Join(dir, "m.csr")}, []string{"-k", "20"}, []string{"1GiB"})
}

// sameBits runs the same factorisation four times, the first with all as it is.
func (t *Trial) sameBits(ctx context.Context, stores, flags, budgets []string) error {
	first := ""
	for run := range 4 {
		out := t.path("out" + strconv.Itoa(run))
		j := gdsvd(append([]string{"svd", "-q", pick(t, stores...), "-o", out, "--memory", budgets[0]}, flags...)...)
		busy := 0
		if run > 0 {
			j.args = append(j.args, "--workers", strconv.Itoa(t.between(0, 7)), "--memory", pick(t, budgets...))
			if t.IntN(2) == 0 {
				j.env = []string{"GOMAXPROCS=" + strconv.Itoa(t.between(1, 4))}
			}
			if t.IntN(4) == 0 {
				busy = 4
			}
		}
		stop, err := load(busy)
		if err != nil {
			return err
		}
		_, err = t.expect(ctx, j, 1, 4)
		stop()
		switch {
		case isRefused(err) && least.MatchString(err.Error()):
			continue // more workers need more memory
		case err != nil && !isStopped(err):
			return err
		case first == "":
			first = out
		default:
			if err := vectorsSame(first, out, j); err != nil {
				return err
			}
		}
		if err := os.RemoveAll(filepath.Join(out, "checkpoint")); err != nil { // as large as all vectors
			return err
		}
	}
	return nil
}

// kib is a size as a flag has it.
func kib(bytes int64) string { return strconv.FormatInt(bytes>>10, 10) + "KiB" }

// vectorsSame compares two results, the second of which the command has made.
func vectorsSame(want, got string, j job) error {
	for _, name := range vectors {
		if err := sameFile(filepath.Join(want, name), filepath.Join(got, name)); err != nil {
			return wrongf("%s: %v", j, err)
		}
	}
	return nil
}
