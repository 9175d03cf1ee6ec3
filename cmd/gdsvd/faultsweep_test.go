package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// contents returns the files of a directory by name; nil: there is no directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	return vfstest.Contents(t, dir)
}

// sweptRun is a run of svd that is repeated with each operation on OUT failing in turn.
type sweptRun struct {
	old  []string // flags of the run that made OUT before; nil: OUT does not exist
	args []string
	code int
}

var sweptRuns = map[string]sweptRun{
	"new":     {nil, []string{"-k", "2"}, ui.ExitOK},
	"replace": {[]string{"-k", "1"}, []string{"-k", "2", "--vectors", "left", "--force"}, ui.ExitOK}, // V, which is computed for the signs only, is removed
	"stopped": {nil, []string{"-k", "2", "--method", "power", "--max-passes", "4"}, ui.ExitNotConverged},
	"resumed": {[]string{"-k", "2", "--method", "power", "--tol", "5e-2", "--max-passes", "3"}, []string{"-k", "2", "--method", "power", "--tol", "5e-2", "--resume"}, ui.ExitOK},
}

// repeats is how often sweep fails the same operation on the same file. A checkpoint is saved after each pass, and its
// later saves are like its first ones.
const repeats = 6

// sweep repeats a run. In the n-th repetition fault gives the error of the n-th operation on OUT
// and its neighbours; operations beyond repeats do not count. after is called with that operation. It ends
// if there is no n-th operation.
func (c sweptRun) sweep(t *testing.T, store string, fault func(f *vfstest.FaultFS, o vfstest.Op) error, after func(at vfstest.Op, dir string, old map[string]string, o ran)) {
	step := 1
	if !longtest.On() || raceDetector {
		step = 61
	}
	for n := 0; ; n += step {
		work := t.TempDir()
		dir := filepath.Join(work, "out")
		if c.old != nil {
			if o := gdsvd(t, append([]string{"svd", "-q", store, "-o", dir}, c.old...)...); o.code != ui.ExitOK && o.code != ui.ExitNotConverged {
				t.Fatalf("exit %d\n%s", o.code, o.stderr)
			}
		}
		old := contents(t, dir)
		var mu sync.Mutex
		count, at := 0, vfstest.Op{Index: -1}
		times := map[string]int{}
		f := new(vfstest.FaultFS)
		f.Inject = func(o vfstest.Op) error {
			if !strings.HasPrefix(o.Name, work) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			same := string(o.Kind) + " " + o.Name
			times[same]++
			if times[same] > repeats {
				return nil
			}
			count++
			if count-1 != n {
				return nil
			}
			at = o
			return fault(f, o)
		}
		o := withFaults(t, f, slices.Concat([]string{"svd", "-q", store, "-o", dir}, c.args)...)
		if at.Index < 0 {
			if o.code != c.code || n < 30 {
				t.Errorf("after %d operations: exit %d\n%s", n, o.code, o.stderr)
			}
			t.Logf("%d operations", count)
			return
		}
		after(at, dir, old, o)
		if t.Failed() {
			return
		}
	}
}

// whole checks that OUT is absent, or holds the complete old result or a complete one of
// this run, besides checkpoints. It reports whether the result is new.
func (c sweptRun) whole(t *testing.T, at vfstest.Op, dir string, old map[string]string) (fresh bool) {
	t.Helper()
	now := contents(t, dir)
	for name := range now {
		if name != factor.ResultFile && name != eventsFile && !slices.Contains(partFiles, name) && !strings.HasSuffix(name, ".ids") && !strings.HasPrefix(name, checkpointFile) {
			t.Errorf("%v: there is %s", at, name)
		}
	}
	if now[factor.ResultFile] == "" { // no result: at most a checkpoint
		if old[factor.ResultFile] != "" || slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(name string) bool { return !strings.HasPrefix(name, checkpointFile) }) {
			t.Errorf("%v: OUT holds %v", at, slices.Sorted(maps.Keys(now)))
		}
		return false
	}
	if o := gdsvd(t, "check", "-q", dir); o.code != ui.ExitOK && o.code != ui.ExitNotConverged {
		t.Errorf("%v: check: exit %d\n%s%s", at, o.code, o.stdout, o.stderr)
	}
	if now[factor.ResultFile] != old[factor.ResultFile] {
		return true
	}
	for name := range old {
		if now[name] != old[name] && !strings.HasPrefix(name, checkpointFile) {
			t.Errorf("%v: %s is not the old one", at, name)
		}
	}
	return false
}

// tidied checks that the next run succeeds and leaves no other files.
func (c sweptRun) tidied(t *testing.T, store string, at vfstest.Op, dir string, fresh bool) {
	t.Helper()
	args := slices.DeleteFunc(slices.Clone(c.args), func(a string) bool { return a == "--force" || a == "--resume" })
	again := "--resume"
	if _, err := os.Stat(filepath.Join(dir, checkpointFile)); err != nil && !fresh {
		if _, err := os.Stat(filepath.Join(dir, factor.ResultFile)); err == nil {
			again = "--force" // the old result without a checkpoint
		}
	}
	o := gdsvd(t, slices.Concat([]string{"svd", "-q", store, "-o", dir}, args, []string{again})...)
	if o.code != c.code {
		t.Errorf("%v: the next run with %s: exit %d\n%s", at, again, o.code, o.stderr)
		return
	}
	if left := names(t, filepath.Dir(dir)); !slices.Equal(left, []string{"out"}) {
		t.Errorf("%v: after the next run there are %v", at, left)
	}
	if !c.whole(t, at, dir, nil) {
		t.Errorf("%v: the next run leaves no result", at)
	}
}

// TestResultErrorSweep: if an operation on OUT fails, the run fails with one line that names the
// file, or continues if the operation is on a checkpoint. OUT is absent, the old result or
// the new one, and the next run removes other files.
func TestResultErrorSweep(t *testing.T) {
	store := ingested(t, wide)
	for name, c := range sweptRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.sweep(t, store, func(_ *vfstest.FaultFS, o vfstest.Op) error {
				name, _, _ := strings.Cut(o.Name, " -> ")
				return &fs.PathError{Op: string(o.Kind), Path: name, Err: syscall.EIO}
			}, func(at vfstest.Op, dir string, old map[string]string, o ran) {
				fresh := c.whole(t, at, dir, old)
				if o.code == c.code && !fresh {
					t.Errorf("%v: exit %d, but there is no new result", at, o.code)
				}
				if o.code != c.code {
					name, _, _ := strings.Cut(at.Name, " -> ")
					if o.code != ui.ExitError || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, name) {
						t.Errorf("%v: exit %d: %q", at, o.code, o.stderr)
					}
				}
				c.tidied(t, store, at, dir, fresh)
			})
		})
	}
}

// TestResultDeathSweep: if the process dies at an operation on OUT, OUT is complete or absent, and the
// next run removes other files.
func TestResultDeathSweep(t *testing.T) {
	store := ingested(t, wide)
	for name, c := range sweptRuns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.sweep(t, store, func(f *vfstest.FaultFS, _ vfstest.Op) error {
				f.Die()
				return vfstest.ErrDead
			}, func(at vfstest.Op, dir string, old map[string]string, o ran) {
				c.tidied(t, store, at, dir, c.whole(t, at, dir, old))
			})
		})
	}
}
