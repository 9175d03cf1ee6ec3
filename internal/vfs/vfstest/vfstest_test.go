package vfstest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestFaultFile checks that exactly the injected operations fail, that a failing write writes half
// of its bytes, and that a failing Close closes the file.
func TestFaultFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	fsys := &vfstest.FaultFS{Inject: vfstest.FailKind(vfstest.OpWrite, 1, vfstest.ErrInjected)}
	f := must.Get(fsys.Create(name))(t)
	if n, err := f.Write([]byte("abcd")); n != 4 || err != nil {
		t.Errorf("first write: %d, %v", n, err)
	}
	if n, err := f.Write([]byte("efgh")); n != 2 || !errors.Is(err, vfstest.ErrInjected) {
		t.Errorf("second write: %d, %v", n, err)
	}
	if n, err := f.Write([]byte("i")); n != 1 || err != nil {
		t.Errorf("third write: %d, %v", n, err)
	}
	fsys.Inject = vfstest.FailAt(fsys.Count())
	if err := f.Close(); !errors.Is(err, vfstest.ErrInjected) {
		t.Errorf("close: %v", err)
	}
	if _, err := f.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after a failed close: %v", err)
	}
	if b, _ := os.ReadFile(name); string(b) != "abcdefi" {
		t.Errorf("the file holds %q", b)
	}
}

// TestDie checks that Die frees locks and closes files, and that every later operation fails.
func TestDie(t *testing.T) {
	dir := t.TempDir()
	fsys := new(vfstest.FaultFS)
	f, fileErr := fsys.Create(filepath.Join(dir, "x"))
	l, lockErr := fsys.Lock(filepath.Join(dir, "x.lock"))
	must.Do(t, errors.Join(fileErr, lockErr))
	fsys.Die()
	_, writeErr := f.Write([]byte("x"))
	_, createErr := fsys.Create(filepath.Join(dir, "y"))
	for _, err := range []error{writeErr, createErr, f.Close(), l.Close(), fsys.RemoveAll(dir)} {
		if !errors.Is(err, vfstest.ErrDead) {
			t.Errorf("after death: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "y")); err == nil {
		t.Error("a dead process creates files")
	}
	l = must.Get(vfs.OS().Lock(filepath.Join(dir, "x.lock")))(t)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
