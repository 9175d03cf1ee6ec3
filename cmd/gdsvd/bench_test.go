package main

import (
	"path/filepath"
	"testing"
)

func TestBenchPaperUsage(t *testing.T) {
	dir := t.TempDir()
	fails(t, exitUsage, `no DIR to write to`, "bench", "paper")
	fails(t, exitUsage, `choose small or full`, "bench", "paper", "-o", dir, "--scale", "huge")
	fails(t, exitUsage, `nowhere`, "bench", "paper", "-o", dir, "--ml10m", filepath.Join(dir, "nowhere"))
	fails(t, exitUsage, `did you mean paper`, "bench", "papers")
	if got := names(t, dir); len(got) != 0 {
		t.Errorf("wrong usage has left %v", got)
	}
}
