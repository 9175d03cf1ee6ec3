package ingest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/scratch"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// lazyFS is a file system whose Sync does nothing: syncing takes most of the time of a small ingest.
type lazyFS struct{ vfs.FS }

type lazyFile struct{ vfs.File }

func (lazyFile) Sync() error          { return nil }
func (f lazyFS) SyncDir(string) error { return nil }
func (f lazyFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return lazyFile{file}, nil
}

// keeps reports whether err says that the ingest can be resumed. If so, it checks that the
// journal is in the scratch directory of out.
func keeps(t *testing.T, err error, out string) bool {
	t.Helper()
	var ue *csr.UnfinishedError
	if !errors.As(err, &ue) {
		return false
	}
	if ue.Dir != out+SpoolSuffix {
		t.Errorf("kept in %s", ue.Dir)
	}
	if _, err := os.Stat(filepath.Join(ue.Dir, scratch.Journal)); err != nil {
		t.Error(err)
	}
	return true
}

// faulty ingests in to out through fsys, with a plan that uses temporary files.
func faulty(t *testing.T, in, out string, fsys *vfstest.FaultFS, dup Duplicates) error {
	t.Helper()
	if fsys.FS == nil {
		fsys.FS = lazyFS{vfs.OS()}
	}
	o := Options{FS: fsys, Duplicates: dup, Force: true}
	p := tiny()
	p.Run, p.First = 64, 64
	_, err := ingest(t.Context(), []string{in}, out, o.withDefaults(), p)
	return err
}

func faultInput(t *testing.T) string {
	return write(t, "in", strings.Join(ratings(rand.New(rand.NewPCG(1, 1)), 300, true), "\n"))
}

// TestEveryFaultSurfaces fails each file operation in turn: Ingest returns the error, and the target is either
// unchanged or the complete new store.
func TestEveryFaultSurfaces(t *testing.T) {
	t.Parallel()
	in := faultInput(t)
	for _, dup := range []Duplicates{DuplicatesError, Sum} {
		count := func() int {
			fsys := &vfstest.FaultFS{}
			must.Do(t, faulty(t, in, target(t), fsys, dup))
			return fsys.Count()
		}()
		var unnoticed []vfstest.Op
		for n := 0; n < count; n += longtest.Pick(1, 4) {
			out := target(t)
			var op vfstest.Op
			fsys := &vfstest.FaultFS{Inject: func(o vfstest.Op) error {
				if o.Index == n {
					op = o
				}
				return vfstest.FailAt(n)(o)
			}}
			err := faulty(t, in, out, fsys, dup)
			switch {
			case err == nil:
				unnoticed = append(unnoticed, op)
			case !errors.Is(err, vfstest.ErrInjected) && !errors.Is(err, fs.ErrExist):
				t.Errorf("operation %d: %v", n, err)
			}
			s, openErr := csr.Open(out, csr.OpenOptions{})
			published := openErr == nil
			if published {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if err == nil && !published {
				t.Errorf("operation %d: neither error nor store: %v", n, openErr)
			}
			if strings.Contains(errText(err), "remove") || strings.Contains(errText(err), "lock") {
				continue // the removal itself failed, so its file is left
			}
			if keeps(t, err, out) {
				continue
			}
			leftovers(t, out, published)
		}
		if len(unnoticed) > 0 {
			t.Errorf("unnoticed: %v", unnoticed)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// oneByOne returns inject with a lock, so that it can keep state although operations are concurrent.
func oneByOne(inject func(vfstest.Op) error) func(vfstest.Op) error {
	var mu sync.Mutex
	return func(op vfstest.Op) error {
		mu.Lock()
		defer mu.Unlock()
		return inject(op)
	}
}

// A mortal is a file system all of whose operations fail from one on, as if the process had ended there.
type mortal struct {
	*vfstest.FaultFS
	died bool
}

// dyingWhen returns a mortal that dies at the first operation for which last is true.
func dyingWhen(last func(vfstest.Op) bool) *mortal {
	m := &mortal{FaultFS: &vfstest.FaultFS{FS: lazyFS{vfs.OS()}}}
	m.Inject = oneByOne(func(op vfstest.Op) error {
		m.died = m.died || last(op)
		if m.died {
			return vfstest.ErrDead
		}
		return nil
	})
	return m
}

func dyingAt(n int) *mortal {
	return dyingWhen(func(op vfstest.Op) bool { return op.Index == n })
}

// TestFullDisk: whenever the disk fills up, Ingest returns ENOSPC and leaves nothing but a scratch directory to resume.
func TestFullDisk(t *testing.T) {
	in := faultInput(t)
	refused := 0
	for limit := int64(0); ; limit += 499 {
		out := target(t)
		err := faulty(t, in, out, &vfstest.FaultFS{Inject: oneByOne(vfstest.DiskFull(limit))}, DuplicatesError)
		if !keeps(t, err, out) {
			leftovers(t, out, err == nil)
		}
		if err == nil {
			break
		}
		refused++
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "\n") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if refused < 10 {
		t.Errorf("only %d limits refused: the input does not spill", refused)
	}
}

// TestDeathLeavesOldOrNewStore kills an ingest at many operations: the store is the old or the new one, and
// the next ingest to the same target succeeds and leaves no other files.
func TestDeathLeavesOldOrNewStore(t *testing.T) {
	t.Parallel()
	in, before := faultInput(t), write(t, "old", "1,1,1\n")
	for n := 0; ; n += longtest.Pick(3, 8) {
		out, _ := ingested(t, []string{before}, Options{})
		old := fingerprint(t, out)
		fsys := dyingAt(n)
		err := faulty(t, in, out, fsys.FaultFS, DuplicatesError)
		if !fsys.died {
			must.Do(t, err)
			break
		}
		fsys.Die()
		after := fingerprint(t, out)
		if err := faulty(t, in, out, &vfstest.FaultFS{}, DuplicatesError); err != nil {
			t.Fatalf("after a death at operation %d: %v", n, err)
		}
		if whole := fingerprint(t, out); after != old && after != whole {
			t.Errorf("death at operation %d left a third store", n)
		}
		leftovers(t, out, true)
	}
}

func fingerprint(t *testing.T, path string) string {
	t.Helper()
	r, err := csr.Check(t.Context(), path, csr.CheckOptions{})
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%s: %v, %+v", path, err, r)
	}
	s := csrtest.Open(t, path, csr.OpenOptions{})
	return s.Fingerprint()
}

// TestFailingReadIsNotTruncation: an I/O error of the input is reported as such and not as a *format.ParseError.
func TestFailingReadIsNotTruncation(t *testing.T) {
	in := faultInput(t)
	fsys := &vfstest.FaultFS{Inject: func(op vfstest.Op) error {
		if op.Kind == vfstest.OpRead && op.Name == in {
			return &os.PathError{Op: "read", Path: in, Err: syscall.EIO}
		}
		return nil
	}}
	err := faulty(t, in, target(t), fsys, DuplicatesError)
	if !errors.Is(err, syscall.EIO) || errors.As(err, new(*format.ParseError)) {
		t.Errorf("got %v", err)
	}
}
