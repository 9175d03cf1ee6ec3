package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

var bits = Attack{
	Name: "bits",
	About: "the same command with other --workers, GOMAXPROCS, shard sizes and beside busy processes, and with other --memory where the method is given: " +
		"the same bytes of σ, U and V; ingest the same store",
	Short: 6, Long: 120,
	Run: func(ctx context.Context, e *Env, t *Trial) Verdict {
		method := pick(t, methods...)
		return verdict("bits "+method, t.bits(ctx, e, method))
	},
}

func (t *Trial) bits(ctx context.Context, e *Env, method string) error {
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
	stores := []string{"large.csr", "small.csr"}
	if t.IntN(3) == 0 {
		stores = []string{"cols.csr"}
	}
	args := []string{"-q", "--method", method, "-k", strconv.Itoa(t.between(1, 12)), "--tol", pick(t, "1e-4", "1e-8"), "--max-passes", strconv.Itoa(t.between(3, 40)),
		"--seed", strconv.Itoa(t.IntN(100))}
	tight := []string{"auto"}
	if method != "auto" { // a choice may depend on the budget
		mib, err := t.budget(ctx, gdsvd(append([]string{"svd", filepath.Join(dir, stores[0]), "-o", t.path("none")}, args...)...))
		if err != nil {
			return err
		}
		tight = append(tight, fmt.Sprintf("%dKiB", mib>>10), "1GiB")
	}
	first := ""
	for run := range 4 {
		j := gdsvd(append([]string{"svd", filepath.Join(dir, pick(t, stores...)), "-o", t.path("out" + strconv.Itoa(run))}, args...)...)
		busy := 0
		if run > 0 {
			j.args = append(j.args, "--workers", strconv.Itoa(t.between(0, 7)), "--memory", pick(t, tight...))
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
		if isRefused(err) && least.MatchString(err.Error()) {
			continue // more workers need more memory
		}
		if err != nil && !isStopped(err) {
			return err
		}
		out := t.path("out" + strconv.Itoa(run))
		if first == "" {
			first = out
			continue
		}
		if err := vectorsSame(first, out, j); err != nil {
			return err
		}
	}
	return nil
}

// vectorsSame compares two results, the second of which the command has made.
func vectorsSame(want, got string, j job) error {
	for _, name := range vectors {
		if err := sameFile(filepath.Join(want, name), filepath.Join(got, name)); err != nil {
			return wrongf("%s: %v", j, err)
		}
	}
	return nil
}
