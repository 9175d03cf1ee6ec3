package csrtest_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/csrtest"
	"github.com/gdsvd/gdsvd/internal/vfs"
)

func TestBuild(t *testing.T) {
	want := [][]csrtest.Entry{{{Col: 1, Val: 2}, {Col: 3, Val: -1}}, nil, {{Col: 0, Val: 2}}}
	if diff := cmp.Diff(want, csrtest.Rows(t, csrtest.Build(t, 4, want, csr.CreateOptions{}))); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	dense := mat.NewDense(3, 4, []float64{0, 2, 0, -1, 0, 0, 0, 0, 2, 0, 0, 0})
	if diff := cmp.Diff(want, csrtest.Rows(t, csrtest.FromDense(t, dense, csr.CreateOptions{}))); diff != "" {
		t.Errorf("from dense (-want +got):\n%s", diff)
	}
}

// TestFaultFile: each operation fails when told, and only then; half of a
// failing write is written; failing closes close.
func TestFaultFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	fsys := &csrtest.FaultFS{Inject: csrtest.FailKind(csrtest.OpWrite, 1, csrtest.ErrInjected)}
	f, err := fsys.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write([]byte("abcd")); n != 4 || err != nil {
		t.Errorf("first write: %d, %v", n, err)
	}
	if n, err := f.Write([]byte("efgh")); n != 2 || !errors.Is(err, csrtest.ErrInjected) {
		t.Errorf("second write: %d, %v", n, err)
	}
	if n, err := f.Write([]byte("i")); n != 1 || err != nil {
		t.Errorf("third write: %d, %v", n, err)
	}
	fsys.Inject = csrtest.FailAt(fsys.Count())
	if err := f.Close(); !errors.Is(err, csrtest.ErrInjected) {
		t.Errorf("close: %v", err)
	}
	if _, err := f.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write after a failed close: %v", err)
	}
	if b, _ := os.ReadFile(name); string(b) != "abcdefi" {
		t.Errorf("the file holds %q", b)
	}
}

// TestDie: locks are free, files closed, nothing works any more.
func TestDie(t *testing.T) {
	dir := t.TempDir()
	fsys := new(csrtest.FaultFS)
	f, fileErr := fsys.Create(filepath.Join(dir, "x"))
	l, lockErr := fsys.Lock(filepath.Join(dir, "x.lock"))
	if err := errors.Join(fileErr, lockErr); err != nil {
		t.Fatal(err)
	}
	fsys.Die()
	_, writeErr := f.Write([]byte("x"))
	_, createErr := fsys.Create(filepath.Join(dir, "y"))
	for _, err := range []error{writeErr, createErr, f.Close(), l.Close(), fsys.RemoveAll(dir)} {
		if !errors.Is(err, csrtest.ErrDead) {
			t.Errorf("after death: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "y")); err == nil {
		t.Error("a dead process creates files")
	}
	l, err := vfs.OS.Lock(filepath.Join(dir, "x.lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
