//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
)

// A driver that is killed goes on from its checkpoint, with the bits of a run without a break. What it had in the shared folder goes.
func TestKilledDriver(t *testing.T) {
	longtest.Only(t)
	store, dir := ingested(t, blocky), t.TempDir()
	shared := filepath.Join(dir, "shared")
	svd := func(out string) []string {
		return append([]string{"svd", "-q", store, "-k", "3", "-o", filepath.Join(dir, out), "--method", "gd", "--tol", "1e-4", "--shared", shared, "--checkpoint-every", "1ns"}, workerEngine(t)...)
	}
	must(t, svd("whole")...)
	whole := resultOf(t, filepath.Join(dir, "whole"))
	killed := killWhen(t, func() bool {
		passes, err := savedPasses(filepath.Join(dir, "out"))
		return err == nil && passes >= whole.Passes/4
	}, svd("out")...)
	if !killed {
		t.Skip("it was faster than the test")
	}
	if len(names(t, shared)) == 0 {
		t.Error("a killed run has left nothing: the test misses what it is for")
	}
	must(t, append(svd("out"), "--resume")...)
	sameVectors(t, filepath.Join(dir, "whole"), filepath.Join(dir, "out"))
	if left := names(t, shared); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// Recommendations by tasks are the file of one machine, byte for byte, in every format, whichever side the store has as its rows,
// though a worker is killed.
func TestRecommendByTasks(t *testing.T) {
	dir := t.TempDir()
	engine := workerEngine(t)
	self := strings.TrimSuffix(strings.TrimPrefix(engine[1], "command:"), " worker --workers 1 --memory 256MiB")
	// the first worker that gets a task is killed, and answers nothing
	script := write(t, dir, "worker.sh", "#!/bin/sh\nif mkdir "+filepath.Join(dir, "killed")+" 2>/dev/null; then read line; kill -9 $$; fi\nexec "+self+" worker --workers 1 --memory 256MiB\n")
	if err := os.Chmod(script, 0o777); err != nil {
		t.Fatal(err)
	}
	candidates := write(t, dir, "some.txt", "1\n3\n5\n7\n9\n11\n")
	_, _, readers := library(t) // one has no entries
	large, _ := factorised(t, ingested(t, blocky), "-k", "3")
	wide, _ := factorised(t, ingested(t, synth.Ratings{Users: 40, Items: 90, Ratings: 900, Seed: 5}), "-k", "3", "--view", "recsys")
	for _, c := range []struct {
		result, file string
		args         []string
	}{
		{large, "recs.parquet", []string{"--candidates", candidates, "--exclude-seen=false"}},
		{wide, "recs.jsonl", []string{"-n", "60"}},
		{readers, "recs.csv", nil},
	} {
		recommend := func(name string, more ...string) []byte {
			name = filepath.Join(t.TempDir(), name)
			text := must(t, slices.Concat([]string{"recommend", "-q", c.result, "-o", name, "--json"}, c.args, more)...)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			return append(b, strings.ReplaceAll(text, filepath.Dir(name), "")...)
		}
		one := recommend(c.file)
		for _, engine := range [][]string{{"--engine", "local"}, {"--engine", "command:" + script, "--processes", "2"}} {
			os.Remove(filepath.Join(dir, "killed"))
			shared := filepath.Join(dir, "shared")
			if many := recommend(c.file, append(engine, "--groups", "5", "--shared", shared)...); !bytes.Equal(one, many) {
				t.Errorf("%s by %v: %d bytes are not the %d of one machine", c.file, engine, len(many), len(one))
			}
			if left := names(t, shared); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "killed")); err != nil {
			t.Error("no worker was killed: the test misses what it is for")
		}
	}
	by := func(args ...string) []string {
		return append([]string{"recommend", readers, "-q", "-o", filepath.Join(dir, "bad.csv"), "--shared", filepath.Join(dir, "shared")}, append(args, engine...)...)
	}
	fails(t, ui.ExitUsage, `--engine .* is for --rows all`, by("--rows", "ann")...)
	fails(t, ui.ExitUsage, `--groups is for a run with --engine`, "recommend", readers, "-o", "x.csv", "--groups", "3")
	file := filepath.Join(readers, "V.npy")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(file, b, 0o666); err != nil {
		t.Fatal(err)
	}
	fails(t, ui.ExitCorrupt, `V.npy: bytes .* the file is damaged`, by()...)
	if _, err := os.Stat(filepath.Join(dir, "bad.csv")); err == nil {
		t.Error("a file is there")
	}
}
