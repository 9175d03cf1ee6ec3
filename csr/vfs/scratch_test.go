package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// TestScratch checks that written bytes are still there after Evict, and that the file is gone in
// the end.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	const size = 1<<20 + 17
	s := must.Get(vfs.OS().Scratch(name, size))(t)
	b := s.Bytes()
	if len(b) != size {
		t.Fatalf("%d bytes", len(b))
	}
	for i := range b {
		if b[i] != 0 {
			t.Fatalf("byte %d is %d at first", i, b[i])
		}
		b[i] = byte(i ^ i>>8)
	}
	for _, r := range [][2]int64{{0, size}, {5000, 10000}, {size - 1, 1}, {0, 0}, {size, 0}} {
		if err := s.Evict(r[0], r[1]); err != nil {
			t.Errorf("drop %v: %v", r, err)
		}
	}
	for i := range b {
		if b[i] != byte(i^i>>8) {
			t.Fatalf("byte %d was lost", i)
		}
	}
	for _, r := range [][2]int64{{-1, 1}, {0, size + 1}, {size + 1, 0}, {1, -1}} {
		if err := s.Evict(r[0], r[1]); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("drop %v: %v", r, err)
		}
	}
	if err := s.Failed(); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" && names(t, dir) != "" {
		t.Errorf("the file has a name: %s", names(t, dir))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left := names(t, dir); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func TestScratchErrors(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	writeFile(t, name, []byte("precious"))
	if _, err := vfs.OS().Scratch(name, 1); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "precious" {
		t.Errorf("%q, %v", data, err)
	}
	full := &vfstest.FaultFS{Inject: vfstest.DiskFull(100)}
	if _, err := full.Scratch(filepath.Join(dir, "y"), 101); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if _, err := vfs.OS().Scratch(filepath.Join(dir, "z"), 1<<60); err == nil {
		t.Error("an exabyte was given")
	}
	if left := names(t, dir); left != "x" {
		t.Errorf("left behind: %s", left)
	}
}
