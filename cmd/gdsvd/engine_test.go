package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/synth"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
)

// blocky is stored in several blocks.
var blocky = synth.Ratings{Users: 2100, Items: 300, Ratings: 280_000, Seed: 3}

// sameVectors checks that the values and vectors of two results have the same bytes.
func sameVectors(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{factor.SigmaFile, leftFile, rightFile} {
		x := must.Get(os.ReadFile(filepath.Join(a, name)))(t)
		y := must.Get(os.ReadFile(filepath.Join(b, name)))(t)
		if !bytes.Equal(x, y) {
			t.Errorf("%s differs", name)
		}
	}
}

// workerEngine returns flags of an engine with two worker processes of the test binary.
func workerEngine(t *testing.T) []string {
	t.Helper()
	self := must.Get(os.Executable())(t)
	t.Setenv(runMain, "1")
	return []string{"--engine", "command:" + self + " worker --workers 1 --memory 256MiB", "--processes", "2"}
}

// TestEngines: results of all engines have the same bits, those of a run without one up to rounding; they name the engine.
func TestEngines(t *testing.T) {
	store := ingested(t, blocky)
	on := func(flags ...string) (string, factor.Result) {
		return factorised(t, store, append([]string{"-k", "3", "--groups", "3", "--shared", filepath.Join(t.TempDir(), "shared")}, flags...)...)
	}
	single, _ := factorised(t, store, "-k", "3")
	local, r := on("--engine", "local", "--memory", "256MiB")
	if e := r.Engine; e == nil || e.Name != "local" || e.Groups != 3 || e.Tasks < 3*r.Passes || e.Retries != 0 || !r.Certified {
		t.Errorf("engine %+v of a result with %d passes", e, r.Passes)
	}
	var d mat.Dense
	one := loadNPY(t, filepath.Join(single, factor.SigmaFile))
	d.Sub(one, loadNPY(t, filepath.Join(local, factor.SigmaFile)))
	if e := mat.Norm(&d, 2); e > 1e-12*one.At(0, 0) {
		t.Errorf("values are off by %g", e)
	}
	command, r := on(workerEngine(t)...)
	sameVectors(t, local, command)
	if r.Engine.Name != "command" {
		t.Errorf("%+v", r.Engine)
	}
	server := buckets(t)
	bucket, _ := on(append(workerEngine(t), "--shared", "s3://bucket/run")...)
	sameVectors(t, local, bucket)
	if left := server.Paths(); len(left) > 0 || len(server.Requests()) == 0 {
		t.Errorf("after %d requests a bucket has %v", len(server.Requests()), left)
	}
	metrics := filepath.Join(t.TempDir(), "run.prom")
	on(append(workerEngine(t), "--metrics-file", metrics)...)
	text := must.Get(os.ReadFile(metrics))(t)
	for _, want := range []string{`gdsvd_tasks\{.*\} [1-9]`, `gdsvd_task_retries\{.*\} 0`, `gdsvd_task_workers\{.*\} 2`, `gdsvd_task_read_bytes\{.*\} [1-9]`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	view, _ := on("--engine", "local", "--view", "log1p | center=columns")
	seen, r := on(append(workerEngine(t), "--view", "log1p | center=columns")...)
	sameVectors(t, view, seen)
	if r.View == nil || !r.Certified {
		t.Errorf("a view: %+v", r.View)
	}
}

// TestPassCost: a larger --pass-cost leads to fewer passes; 0 measures it before the choice, and it is recorded.
func TestPassCost(t *testing.T) {
	store := ingested(t, blocky)
	args := append([]string{"-k", "3", "--groups", "3", "--shared", t.TempDir()}, workerEngine(t)...)
	passes := map[string]int{}
	for _, c := range []string{"1us", "10s", "0"} {
		var e factor.Explanation
		decode(t, succeeds(t, append([]string{"svd", store, "--explain", "--json", "--pass-cost", c}, args...)...), &e)
		passes[c] = e.Plan.Passes
		if e.Engine == nil || !(e.Engine.PassSeconds > 0) || e.Plan.Beside < e.Engine.PassSeconds*float64(e.Plan.Passes) || e.Plan.Total < e.Plan.Beside {
			t.Errorf("%s: %+v of %+v", c, e.Engine, e.Plan)
		}
	}
	if passes["10s"] >= passes["1us"] {
		t.Errorf("passes: %v", passes)
	}
	_, r := factorised(t, store, append(args, "--pass-cost", "0")...)
	if r.Engine.PassSeconds < 0.001 {
		t.Errorf("%+v", r.Engine)
	}
}

// TestEngineUsage: flags that exclude each other are refused in one line.
func TestEngineUsage(t *testing.T) {
	store, dir := ingested(t, tall), t.TempDir()
	svd := func(args ...string) []string {
		return append([]string{"svd", store, "-k", "2", "-o", filepath.Join(dir, "out")}, args...)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{svd("--shared", dir), `--shared is for a run with --engine`},
		{svd("--groups", "3"), `--groups is for a run with --engine`},
		{svd("--engine", "local"), `--engine local needs a folder or bucket that all workers see: give it with --shared`},
		{svd("--engine", "flink://x", "--shared", dir), `--engine flink://x: choose local, `},
		{svd("--engine", "local:x", "--shared", dir), `--engine local:x: choose local, `},
		{svd("--engine", "dask://", "--shared", dir), `--engine dask://: choose local, `},
		{[]string{"plan", store, "-k", "2", "--engine", "flink://x", "--workers", "2"}, `--engine flink://x: choose local, `},
		{svd("--engine", "local", "--shared", dir, "--groups", "-1"), `--groups -1: want a number of groups`},
		{[]string{"plan", store, "-k", "2", "--engine", "local", "--workers", "2", "--groups", "-1"}, `--groups -1: want a number of groups`},
		{svd("--engine", "local", "--shared", dir, "--processes", "2"), `--processes 2: want one or more, with --engine command`},
		{svd("--engine", "local", "--shared", dir, "--pass-cost", "-1s"), `--pass-cost -1s: want a time`},
		{svd("--engine", "local", "--shared", dir, "--init", "x"), `--engine local takes no --init`},
		{svd("--engine", "command:", "--shared", dir), `--engine command:: name the program`},
		{svd("--engine", "command:/no/such/program", "--shared", dir), `--engine command:/no/such/program: .*no such file`},
		{[]string{"ingest", "-", "-o", "x", "--engine", "local", "--shared", dir}, `tasks cannot read standard input; ingest it without tasks`},
		{[]string{"ingest", "x", "-o", "x", "--engine", "local", "--shared", dir, "--dry-run"}, `--engine local reads nothing of a --dry-run`},
		{[]string{"check", store, "--quick", "--engine", "local", "--shared", dir}, `--engine local is for all blocks, which --quick does not read`},
		{[]string{"ingest", "x", "-o", "x", "--groups", "3"}, `--groups is for a run with --engine`},
		{[]string{"svd", "-", "-k", "2", "-o", "x", "--engine", "local", "--shared", dir}, `--engine local of -: workers cannot read standard input`},
	} {
		fails(t, ui.ExitUsage, c.want, c.args...)
	}
	fails(t, ui.ExitError, `takes no list of columns`, svd("--engine", "local", "--shared", dir, "--keep-cols", listOf(t, "1\n2\n"))...)
}

// listOf writes text to a file and returns its name.
func listOf(t *testing.T, text string) string {
	t.Helper()
	return write(t, t.TempDir(), "list", text)
}
