//go:build unix

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestKilledDriver: a killed driver resumes with the same bits and removes its files in the shared folder.
func TestKilledDriver(t *testing.T) {
	longtest.Only(t)
	store, dir := ingested(t, blocky), t.TempDir()
	shared := filepath.Join(dir, "shared")
	svd := func(out string) []string {
		return append([]string{"svd", "-q", store, "-k", "3", "-o", filepath.Join(dir, out), "--method", "gd", "--tol", "1e-4", "--shared", shared, "--checkpoint-every", "1ns"}, workerEngine(t)...)
	}
	succeeds(t, svd("whole")...)
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
	succeeds(t, append(svd("out"), "--resume")...)
	sameVectors(t, filepath.Join(dir, "whole"), filepath.Join(dir, "out"))
	if left := names(t, shared); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// killedOnce returns a function that makes the flags of an engine whose first worker with a task kills itself.
func killedOnce(t *testing.T, dir string) func() []string {
	self, mark := strings.TrimPrefix(workerEngine(t)[1], "command:"), filepath.Join(dir, "killed")
	script := write(t, dir, "worker.sh", "#!/bin/sh\nif mkdir "+mark+" 2>/dev/null; then read line; kill -9 $$; fi\nexec "+self+"\n")
	must.Do(t, os.Chmod(script, 0o777))
	t.Cleanup(func() {
		if _, err := os.Stat(mark); err != nil {
			t.Error("no worker was killed: the test misses what it is for")
		}
	})
	return func() []string {
		os.Remove(mark)
		return []string{"--engine", "command:" + script, "--processes", "2"}
	}
}

// TestRecommendByTasks: recommendations by tasks have the bytes of a run without tasks, in each format and for both stored
// orientations, although a worker is killed.
func TestRecommendByTasks(t *testing.T) {
	dir := t.TempDir()
	engine, killing := workerEngine(t), killedOnce(t, dir)
	candidates := write(t, dir, "some.txt", "1\n3\n5\n7\n9\n11\n")
	_, _, readers := library(t) // the only entry of zoe is 0
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
			text := succeeds(t, slices.Concat([]string{"recommend", "-q", c.result, "-o", name, "--json"}, c.args, more)...)
			b := must.Get(os.ReadFile(name))(t)
			return append(b, strings.ReplaceAll(text, filepath.Dir(name), "")...)
		}
		one := recommend(c.file)
		for _, engine := range [][]string{{"--engine", "local"}, killing()} {
			shared := filepath.Join(dir, "shared")
			if many := recommend(c.file, append(engine, "--groups", "5", "--shared", shared)...); !bytes.Equal(one, many) {
				t.Errorf("%s by %v: %d bytes are not the %d of one machine", c.file, engine, len(many), len(one))
			}
			if left := names(t, shared); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		}
	}
	by := func(args ...string) []string {
		return append([]string{"recommend", readers, "-q", "-o", filepath.Join(dir, "bad.csv"), "--shared", filepath.Join(dir, "shared")}, append(args, engine...)...)
	}
	fails(t, ui.ExitUsage, `--engine .* is for --rows all`, by("--rows", "ann")...)
	fails(t, ui.ExitUsage, `--groups is for a run with --engine`, "recommend", readers, "-o", "x.csv", "--groups", "3")
	file := filepath.Join(readers, "V.npy")
	b := must.Get(os.ReadFile(file))(t)
	b[len(b)-1] ^= 1
	must.Do(t, os.WriteFile(file, b, 0o666))
	fails(t, ui.ExitCorrupt, `V.npy: bytes .* the file is damaged`, by()...)
	if _, err := os.Stat(filepath.Join(dir, "bad.csv")); err == nil {
		t.Error("a file is there")
	}
}

// TestIngestByTasks: an ingest by tasks makes the bytes of one without tasks, although a worker is killed; messages about
// bad lines and damaged inputs are the same.
func TestIngestByTasks(t *testing.T) {
	dir := t.TempDir()
	engine, killing, shared := workerEngine(t), killedOnce(t, dir), filepath.Join(dir, "shared")
	t.Chdir(dir)
	b := must.Get(os.ReadFile(ratings(t, tall)))(t)
	lines, args := slices.Collect(strings.Lines(string(b))), []string{"ingest", "-q"}
	for part := range slices.Chunk(lines, len(lines)/6) {
		name := fmt.Sprintf("part%d", len(args))
		write(t, dir, name, strings.Join(part, ""))
		args = append(args, name)
	}
	write(t, dir, "bad", "1::2::3::4\n1::x\n")
	for _, more := range [][]string{{"--duplicates", "last"}, {"--duplicates", "last", "--max-bad-lines", "1", "bad"}, {"--duplicates", "last", "bad"}, nil} {
		os.RemoveAll("one")
		one := gdsvd(t, slices.Concat(args, more, []string{"-o", "one"})...)
		for _, by := range [][]string{{"--engine", "local"}, engine, killing()} {
			os.RemoveAll("many")
			many := gdsvd(t, slices.Concat(args, more, by, []string{"-o", "many", "--groups", "4", "--shared", shared})...)
			if many.code != one.code || many.stderr != one.stderr {
				t.Errorf("%v by %v: exit %d, %s is not %s", more, by, many.code, many.stderr, one.stderr)
			}
			if one.code == ui.ExitOK && !maps.Equal(vfstest.Contents(t, "one"), vfstest.Contents(t, "many")) {
				t.Errorf("%v by %v: another store", more, by)
			}
		}
	}
	for _, name := range names(t, dir) {
		if strings.Contains(name, "spool") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestCheckByTasks: check reports the same with tasks, residuals up to rounding, although a worker is killed.
func TestCheckByTasks(t *testing.T) {
	dir, store := t.TempDir(), ingested(t, blocky)
	killing, shared := killedOnce(t, dir), filepath.Join(dir, "shared")
	by := func(engine []string, args ...string) []string {
		return slices.Concat([]string{"check", "-q", "--json", "--shared", shared, "--groups", "3"}, args, engine)
	}
	one := succeeds(t, "check", "--json", store)
	for _, engine := range [][]string{{"--engine", "local"}, killing()} {
		if many := succeeds(t, by(engine, store)...); many != one {
			t.Errorf("%s is not %s", many, one)
		}
	}
	for _, view := range [][]string{nil, {"--view", "log1p | center=columns"}} {
		result, _ := factorised(t, store, append(view, "-k", "3")...)
		var alone, tasks resultReport
		decode(t, succeeds(t, "check", "--json", result, "--store", store), &alone)
		decode(t, succeeds(t, by(killing(), result, "--store", store)...), &tasks)
		a, b := alone.Measured, tasks.Measured
		if !tasks.OK || len(b.Residual) != 3 || a.Passes != b.Passes || a.View != b.View {
			t.Fatalf("%+v is not %+v", b, a)
		}
		for i, x := range a.Residual {
			if math.Abs(float64(x-b.Residual[i])) > 1e-13 {
				t.Errorf("residual %d is %g, not %g", i, b.Residual[i], x)
			}
		}
		fails(t, ui.ExitError, `3 of 3 triplets miss --tol 1e-30`, by([]string{"--engine", "local"}, result, "--store", store, "--tol", "1e-30")...)
		fails(t, ui.ExitUsage, `--engine local is for a store, or a result that is measured`, by([]string{"--engine", "local"}, result)...)
	}
	shards, err := filepath.Glob(filepath.Join(store, "shard-*"))
	if err != nil || len(shards) == 0 {
		t.Fatal(err)
	}
	b := must.Get(os.ReadFile(shards[len(shards)-1]))(t)
	b[len(b)/2] ^= 1
	must.Do(t, os.WriteFile(shards[len(shards)-1], b, 0o666))
	alone, tasks := gdsvd(t, "check", "--json", store), gdsvd(t, by(killing(), store)...)
	if tasks.code != ui.ExitCorrupt || tasks.stdout != alone.stdout || !strings.Contains(tasks.stdout, filepath.Base(shards[len(shards)-1])) {
		t.Errorf("exit %d, %s is not %s", tasks.code, tasks.stdout, alone.stdout)
	}
}

// TestEngineToken: the command in the message of a run that can be resumed has no token of Spark Connect.
func TestEngineToken(t *testing.T) {
	store, dir := ingested(t, blocky), t.TempDir()
	// A program in the place of Python starts a worker.
	self := must.Get(os.Executable())(t)
	python := write(t, dir, "python", "#!/bin/sh\nexec "+self+" worker --workers 1 --memory 256MiB\n")
	must.Do(t, os.Chmod(python, 0o777))
	t.Setenv(runMain, "1")
	t.Setenv("GDSVD_PYTHON", python)
	o := gdsvd(t, "svd", "-q", store, "-k", "3", "-o", filepath.Join(dir, "out"), "--method", "gd", "--max-passes", "3", "--checkpoint-every", "1ns",
		"--shared", filepath.Join(dir, "shared"), "--engine", "spark://sc://host:443/;user_id=me;token=hunter2;x=y")
	if o.code != ui.ExitNotConverged || !strings.Contains(o.stderr, "--resume goes on from there") || strings.Contains(o.stderr, "hunter2") {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
}
