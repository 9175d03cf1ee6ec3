package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// cutVectors truncates the files of vectors in dir that this process has open, so that accesses to their pages fault
// as on a disk that fails. It returns the number of files.
func cutVectors(t *testing.T, dir string) (cut int) {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range fds {
		name := filepath.Join("/proc/self/fd", fd.Name())
		if of, err := os.Readlink(name); err == nil && strings.HasPrefix(of, dir) && strings.Contains(of, "vectors-") {
			must.Do(t, os.Truncate(name, 0))
			cut++
		}
	}
	return cut
}

// TestVectorsThatAreNotDelivered: vectors that cannot be read are one line with the path and exit 1: while a checkpoint
// is written, in the finishing pass, and when the vectors are written.
func TestVectorsThatAreNotDelivered(t *testing.T) {
	store := long(t, 40000, 33000)
	for _, m := range []string{"krylov --basis 12", "block"} {
		flags := append([]string{"-k", "3", "--max-passes", "3", "--partial-ok", "--method"}, strings.Fields(m)...)
		memory, _ := tightly(t, store, flags)
		for _, file := range []string{checkpointFile, "U.npy", "V.npy"} {
			work, cut := t.TempDir(), 0
			var mu sync.Mutex
			line := slices.Concat([]string{"svd", "-q", store, "--memory", memory, "-o", filepath.Join(work, "out")}, flags)
			o := withFaults(t, &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if cut == 0 && strings.HasPrefix(o.Name, work) && strings.Contains(o.Name, file) {
					cut = cutVectors(t, work)
				}
				return nil
			}}, line...)
			if cut == 0 || o.code != ui.ExitError || strings.Count(o.stderr, "\n") != 1 || !strings.Contains(o.stderr, filepath.Join(work, "out")) || !strings.Contains(o.stderr, "the disk did not deliver") {
				t.Errorf("%s, %d files cut at %s: exit %d\n%s", m, cut, file, o.code, o.stderr)
			}
		}
	}
}
