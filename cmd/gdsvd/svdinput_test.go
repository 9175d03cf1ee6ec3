package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSVDOfStandardInput: svd of standard input writes the bits and ids of ingest and svd, and leaves only OUT.
func TestSVDOfStandardInput(t *testing.T) {
	file := ratings(t, wide)
	text := must.Get(os.ReadFile(file))(t)
	dir := t.TempDir()
	store, want, got := filepath.Join(t.TempDir(), "m.csr"), filepath.Join(t.TempDir(), "want"), filepath.Join(dir, "got")
	succeeds(t, "ingest", "-q", file, "-o", store)
	succeeds(t, "svd", "-q", store, "-k", "5", "-o", want)
	if o := gdsvdIn(t, t.Context(), string(text), "svd", "-q", "-", "-k", "5", "-o", got); o.code != ui.ExitOK || o.stderr != "" {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if b, err := os.ReadFile(filepath.Join(got, factor.ResultFile)); !bytes.Contains(b, []byte(`"path": "-"`)) {
		t.Errorf("%s, %v: standard input is not named", b, err)
	}
	same := 0
	for _, e := range names(t, want) {
		if e == factor.ResultFile || e == "events.jsonl" {
			continue
		}
		a := must.Get(os.ReadFile(filepath.Join(want, e)))(t)
		if b, err := os.ReadFile(filepath.Join(got, e)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", e, err)
		}
		same++
	}
	if left := names(t, dir); same < 5 || len(left) != 1 {
		t.Errorf("%d files compared; left are %v", same, left)
	}
}

// TestIngestOfStandardInput: the ingest of svd from standard input has the threads of --workers, and without --memory no
// more memory than gdsvd ingest has.
func TestIngestOfStandardInput(t *testing.T) {
	metrics, said := filepath.Join(t.TempDir(), "m.prom"), ""
	in := io.MultiReader(readFunc(func([]byte) (int, error) {
		said = string(must.Get(os.ReadFile(metrics))(t))
		return 0, io.EOF
	}), strings.NewReader("1,1,5\n2,2,3\n"))
	var stderr bytes.Buffer
	a := newApp(in, io.Discard, &stderr)
	if code := a.run(t.Context(), []string{"svd", "-", "-q", "-k", "1", "--workers", "3", "--metrics-file", metrics, "-o", filepath.Join(t.TempDir(), "out")}); code != ui.ExitOK {
		t.Fatalf("exit %d\n%s", code, &stderr)
	}
	budget, workers := 0., 0
	for line := range strings.Lines(said) {
		fmt.Sscanf(line, `gdsvd_memory_budget_bytes{run="store"} %g`, &budget)
		fmt.Sscanf(line, `gdsvd_workers{run="store"} %d`, &workers)
	}
	if workers != 3 || !(budget > 0 && budget <= min(ingest.DefaultMemory, 0.7*float64(memory.Total()))) {
		t.Errorf("%d workers and %g bytes in\n%s", workers, budget, said)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }

// TestSVDOfStandardInputRefuses: inputs and flags that cannot be used are errors, and no files are left.
func TestSVDOfStandardInputRefuses(t *testing.T) {
	dir := t.TempDir()
	out, there := filepath.Join(dir, "out"), filepath.Join(dir, "there")
	must.Do(t, os.Mkdir(there, 0o777))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx   context.Context
		stdin string
		args  []string
		code  int
		want  string
	}{
		{t.Context(), "1,1,5\n", []string{"-o", out, "--explain"}, ui.ExitUsage, "--explain of -: "},
		{t.Context(), "1,1,5\n", []string{"-o", out, "--resume"}, ui.ExitUsage, "--resume of -: "},
		{t.Context(), "1,1,5\n", []string{"-o", there}, ui.ExitError, "there: file already exists (--force replaces it)"},
		{t.Context(), "1,1,5\n2,x\n", []string{"-o", out}, ui.ExitError, "standard input:2: "},
		{t.Context(), "", []string{"-o", out}, ui.ExitError, "standard input: "},
		{t.Context(), "1,1,5\n2,2,3\n", []string{"-o", out}, ui.ExitUsage, "a 2 × 2 matrix has only 2 singular values"},
		{ctx, "1,1,5\n2,2,3\n", []string{"-o", out}, ui.ExitInterrupted, "interrupted"},
	} {
		o := gdsvdIn(t, c.ctx, c.stdin, append([]string{"svd", "-q", "-", "-k", "3"}, c.args...)...)
		if o.code != c.code || !strings.Contains(o.stderr, c.want) {
			t.Errorf("%v: exit %d\n%s", c.args, o.code, o.stderr)
		}
		if left := names(t, dir); len(left) != 1 {
			t.Errorf("%v: left are %v", c.args, left)
		}
	}
}
