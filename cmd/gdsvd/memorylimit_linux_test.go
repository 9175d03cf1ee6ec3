package main

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/bench/memgroup"
	"github.com/gdsvd/gdsvd/bench/synth"
	"github.com/gdsvd/gdsvd/csr/vfs"
)

// Under a limit that the kernel enforces a run is killed, goes on from its
// checkpoint within the same limit, and ends with the bits of one that had all
// the memory there is and no break.
func TestResumeWithinAKernelLimit(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	const limit = 40 << 20 // little more than the program and the vectors take
	group, err := memgroup.New("gdsvd-test", limit)
	if errors.Is(err, memgroup.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := group.Remove(); err != nil {
			t.Error(err)
		}
	})
	store := filepath.Join(t.TempDir(), "m.csr")
	must(t, "ingest", "-q", ratings(t, synth.Ratings{Users: 7000, Items: 1500, Ratings: 1100000, Seed: 3}), "-o", store)
	flags := []string{"-q", store, "-k", "6", "--tol", "1e-12", "--method", "nesterov"}
	want := filepath.Join(t.TempDir(), "want")
	must(t, slices.Concat([]string{"svd", "-o", want}, flags)...)

	dir := filepath.Join(t.TempDir(), "out")
	args := slices.Concat([]string{"svd", "-o", dir, "--resume", "--checkpoint-every", "10ms", "--memory", "36MiB"}, flags)
	first := group.Command(process(t, args...))
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	passes := 0
	for start := time.Now(); passes == 0 && time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		if saved, err := openCheckpoint(vfs.OS, dir); err == nil {
			passes = saved.Passes()
			if err := saved.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if passes == 0 {
		t.Fatal("no checkpoint was written")
	}
	_ = first.Process.Kill()
	_ = first.Wait()
	if out, err := group.Command(process(t, args...)).CombinedOutput(); err != nil {
		t.Fatalf("within %d bytes: %v\n%s", limit, err, out)
	}
	for _, f := range partFiles {
		same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
	}
}
