//go:build unix

package main

import (
	"path/filepath"
	"testing"

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
