package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/bench/synth"
	"github.com/gdsvd/gdsvd/csr/vfs"
)

// memoryGroup makes a control group with a limit, in version 1 or 2, or skips
// the test where that is not possible.
func memoryGroup(t *testing.T, bytes int64) (dir string) {
	t.Helper()
	var reasons []error
	for _, v := range []struct{ top, limit, marks string }{
		{"/sys/fs/cgroup", "memory.max", "cgroup.controllers"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"},
	} {
		if _, err := os.Stat(filepath.Join(v.top, v.marks)); err != nil {
			continue
		}
		dir := filepath.Join(v.top, fmt.Sprintf("gdsvd-test-%d", os.Getpid()))
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			t.Cleanup(func() { leave(t, dir) })
			err = os.WriteFile(filepath.Join(dir, v.limit), []byte(strconv.FormatInt(bytes, 10)), 0o644)
		}
		if err == nil {
			return dir
		}
		reasons = append(reasons, err)
	}
	t.Skipf("no control group with a memory limit can be made here: %v", errors.Join(reasons...))
	return ""
}

// leave removes a group, whose last process may still be on its way out.
func leave(t *testing.T, dir string) {
	var err error
	for range 100 {
		if err = os.Remove(dir); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error(err)
}

// within makes a process one that begins inside of a group.
func within(group string, cmd *exec.Cmd) *exec.Cmd {
	args := slices.Concat([]string{"-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, group, cmd.Path}, cmd.Args[1:])
	inside := exec.Command("sh", args...)
	inside.Env = cmd.Env
	return inside
}

// Under a limit that the kernel enforces a run is killed, goes on from its
// checkpoint within the same limit, and ends with the bits of one that had all
// the memory there is and no break.
func TestResumeWithinAKernelLimit(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector takes more memory than the limit leaves")
	}
	const limit = 40 << 20 // the decoded store alone takes 14 MB
	group := memoryGroup(t, limit)
	store := filepath.Join(t.TempDir(), "m.csr")
	must(t, "ingest", "-q", ratings(t, synth.Ratings{Users: 7000, Items: 1500, Ratings: 1100000, Seed: 3}), "-o", store)
	flags := []string{"-q", store, "-k", "6", "--tol", "1e-12", "--method", "nesterov"}
	want := filepath.Join(t.TempDir(), "want")
	must(t, slices.Concat([]string{"svd", "-o", want}, flags)...)

	dir := filepath.Join(t.TempDir(), "out")
	args := slices.Concat([]string{"svd", "-o", dir, "--resume", "--checkpoint-every", "10ms", "--memory", "36MiB"}, flags)
	first := within(group, process(t, args...))
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
	if out, err := within(group, process(t, args...)).CombinedOutput(); err != nil {
		t.Fatalf("within %d bytes: %v\n%s", limit, err, out)
	}
	for _, f := range partFiles {
		same(t, f, filepath.Join(want, f), filepath.Join(dir, f))
	}
}
