//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// limited does as process, with a limit of open files.
func limited(t *testing.T, files int, args ...string) *exec.Cmd {
	t.Helper()
	cmd := process(t, args...)
	cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, files), cmd.Path}, args...)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	cmd.Path = shell
	return cmd
}

// TestIngestWithFewOpenFiles: an ingest with many temporary files works with few open files, with and
// without checkpoints; a limit that is too small is refused in one line.
func TestIngestWithFewOpenFiles(t *testing.T) {
	longtest.Only(t)
	file := ratings(t, spilling)
	work := t.TempDir()
	whole := filepath.Join(work, "whole.csr")
	succeeds(t, "ingest", "-q", file, "-o", whole)
	want := must.Get(os.ReadFile(filepath.Join(whole, "MANIFEST.json")))(t)
	for _, every := range []string{"0", "1ms", "1h"} {
		store := filepath.Join(work, "m.csr")
		out, err := limited(t, 24, "ingest", "--json", "-q", file, "-o", store, "--force", "--memory", tightMemory, "--checkpoint-every", every).CombinedOutput()
		if err != nil {
			t.Fatalf("--checkpoint-every %s: %v\n%s", every, err, out)
		}
		var report ingestResult
		if decode(t, string(out), &report); report.Runs < 5 {
			t.Errorf("%d runs: the test misses what it is for", report.Runs)
		}
		if got, err := os.ReadFile(filepath.Join(store, "MANIFEST.json")); err != nil || string(got) != string(want) {
			t.Errorf("--checkpoint-every %s: another store (%v)", every, err)
		}
	}
	cmd := limited(t, 12, "ingest", "-q", file, "-o", filepath.Join(work, "n.csr"), "--memory", tightMemory)
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || cmd.ProcessState.ExitCode() != ui.ExitError || strings.Count(text, "\n") != 1 || !strings.Contains(text, "ulimit -n") {
		t.Errorf("with 12 files: %v\n%s", err, out)
	}
	if left := names(t, work); strings.Contains(strings.Join(left, " "), "n.csr") {
		t.Errorf("with 12 files are left %v", left)
	}
}
