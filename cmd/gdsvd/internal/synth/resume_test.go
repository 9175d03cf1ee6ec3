package synth

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// checkResume interrupts the writing of a store at every call of progress, and
// at random file operations, and resumes it: the files are those wanted.
func checkResume(t *testing.T, want map[string]string, write func(ctx context.Context, path string, fsys vfs.FS, resume bool, progress func()) error) {
	t.Helper()
	finish := func(what, path string) {
		t.Helper()
		if err := write(t.Context(), path, vfs.OS(), true, func() {}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := vfstest.Contents(t, path)
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: %s differs", what, name)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d files, want %d", what, len(got), len(want))
		}
	}
	kept := 0
	for cut, done := 0, false; !done; cut++ {
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "x.csr")
		calls := 0
		err := write(ctx, path, vfs.OS(), false, func() {
			if calls++; calls > cut {
				cancel()
			}
		})
		done = ctx.Err() == nil || calls > 200
		cancel()
		if err == nil { // too late
			continue
		}
		var unfinished *csr.UnfinishedError
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		if errors.As(err, &unfinished) {
			kept++
		} else {
			left(t, path)
		}
		finish("cancelled", path)
	}
	if kept == 0 {
		t.Error("nothing was kept: the test misses what it is for")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		path := filepath.Join(t.TempDir(), "x.csr")
		for { // until an attempt is not killed
			at := r.IntN(60)
			dying := new(vfstest.FaultFS)
			dying.Inject = func(op vfstest.Op) error {
				if op.Index < at {
					return nil
				}
				dying.Die()
				return vfstest.ErrDead
			}
			if err := write(t.Context(), path, dying, true, func() {}); err == nil {
				break
			}
			if r.IntN(4) == 0 {
				break
			}
		}
		if _, err := vfs.OS().Lstat(path); err != nil {
			finish("killed", path)
		}
	}
}
