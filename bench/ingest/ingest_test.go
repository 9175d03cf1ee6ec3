package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cgroup/cgrouptest"
	"github.com/gdsvd/gdsvd/internal/longtest"
)

// The whole of it on a small scale: a text that does not fit into the limit is
// ingested, killed on the way and resumed; the store is that of an ingest
// without a break.
func TestSmallIngest(t *testing.T) {
	if !longtest.On() {
		t.Skip("builds the program and makes 100 MB of text")
	}
	cgrouptest.New(t, "gdsvd-ingest-test", 64<<20)
	dir := t.TempDir()
	name := filepath.Join(dir, "results", "small")
	err := run(t.Context(), []string{
		"-size", "100MB", "-part", "300000", "-memory", "48MiB", "-limit", "64MiB", "-kill", "0.01", "-again", "-dir", filepath.Join(dir, "work"), "-o", name,
	})
	if err != nil {
		t.Fatal(err)
	}
	var r report
	b, err := os.ReadFile(name + ".json")
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !r.Same || r.Resumed.Runs < 3 || r.Resumed.Resumes != 1 || r.Killed == nil || r.Group.Killed > 0 || r.Group.Peak > r.Limit+1<<20 {
		t.Errorf("%s", b)
	}
	if _, err := os.Stat(filepath.Join(dir, "work")); err == nil {
		t.Error("the work is not removed")
	}
}
