package vfs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func writeFile(t testing.TB, name string, content []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(name, content, 0o666))
}

// names lists the names in a directory, separated by spaces.
func names(t testing.TB, dir string) string {
	t.Helper()
	entries := must.Get(os.ReadDir(dir))(t)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

func TestCreateAndOpen(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	f := must.Get(vfs.OS().Create(name))(t)
	b := make([]byte, 3)
	_, writeErr := f.Write([]byte("abcdef"))
	_, writeAtErr := f.WriteAt([]byte("X"), 2)
	_, readAtErr := f.ReadAt(b, 1)
	if err := errors.Join(writeErr, writeAtErr, readAtErr, f.Sync(), f.Close()); err != nil || string(b) != "bXd" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := vfs.OS().Create(name); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating it again: %v", err)
	}
	f = must.Get(vfs.OS().Open(name))(t)
	defer f.Close()
	if _, err := f.Write(b); err == nil {
		t.Error("a file opened for reading can be written")
	}
	if f, err := vfs.OS().Open(name + "y"); f != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening nothing gives %v, %v", f, err)
	}
}

func TestMap(t *testing.T) {
	dir := t.TempDir()
	page := os.Getpagesize()
	for _, size := range []int{0, 1, page, 2*page + 17} {
		name := filepath.Join(dir, "x")
		want := bytes.Repeat([]byte("gdsvd"), size)[:size]
		writeFile(t, name, want)
		m := must.Get(vfs.OS().Map(name))(t)
		n := int64(size)
		if got, err := m.Bytes(0, n, true); err != nil || m.Size() != n || !bytes.Equal(got, want) {
			t.Errorf("size %d: mapped bytes differ", size)
		}
		for _, a := range []vfs.Advice{vfs.Sequential, vfs.Random, vfs.Populate, vfs.DontNeed} {
			for _, r := range [][2]int64{{0, n}, {0, 0}, {n / 2, n - n/2}, {n, 0}, {n / 3, n / 3}} {
				if err := m.Advise(a, r[0], r[1]); err != nil {
					t.Errorf("size %d: advise %d about %v: %v", size, a, r, err)
				}
			}
			for _, r := range [][2]int64{{-1, 1}, {0, n + 1}, {n + 1, 0}, {1, -1}} {
				if m.Advise(a, r[0], r[1]) == nil {
					t.Errorf("size %d: advise %d about %v", size, a, r)
				}
			}
		}
		if got, err := m.Bytes(n/2, n-n/2, false); err != nil || !bytes.Equal(got, want[n/2:]) {
			t.Errorf("size %d: advice changes bytes", size)
		}
		for _, off := range []int64{0, n - 1} {
			if cached, err := m.Cached(off, 1); n > 0 && !cached && err == nil {
				t.Errorf("size %d: byte %d has just been read, and is not in the cache", size, off)
			}
		}
		for _, off := range []int64{-1, n} {
			if _, err := m.Cached(off, 1); err == nil {
				t.Errorf("size %d: byte %d may be in the cache", size, off)
			}
		}
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
	}
	if _, err := vfs.OS().Map(dir); err == nil {
		t.Error("a directory can be mapped")
	}
	if _, err := vfs.OS().Map(filepath.Join(dir, "y")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("mapping nothing: %v", err)
	}
}

// TestGuardTruncated reads an unmapped page under Guard, which returns an error instead of ending the process.
func TestGuardTruncated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be truncated on Windows")
	}
	name := filepath.Join(t.TempDir(), "x")
	writeFile(t, name, make([]byte, 4*os.Getpagesize()))
	m, err := vfs.OS().Map(name)
	must.Do(t, err)
	defer m.Close()
	must.Do(t, os.Truncate(name, 10))
	sum := 0
	err = fault.Guard(func() error {
		all, err := m.Bytes(0, m.Size(), true)
		for _, b := range all {
			sum += int(b)
		}
		return err
	})
	var fault *fault.Error
	if !errors.As(err, &fault) || fault.Addr == 0 {
		t.Errorf("got %v (sum %d)", err, sum)
	}
}

func TestExchange(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	for _, d := range []string{a, b} {
		must.Do(t, os.Mkdir(d, 0o777))
		writeFile(t, filepath.Join(d, "from-"+filepath.Base(d)), nil)
	}
	must.Do(t, vfs.OS().Exchange(a, b))
	if names(t, a) != "from-b" || names(t, b) != "from-a" || names(t, dir) != "a b" {
		t.Errorf("a: %s, b: %s, both in: %s", names(t, a), names(t, b), names(t, dir))
	}
	if vfs.OS().Exchange(a, filepath.Join(dir, "c")) == nil || names(t, dir) != "a b" {
		t.Error("exchange with nothing")
	}
}

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.lock")
	l := must.Get(vfs.OS().Lock(name))(t)
	if _, err := vfs.OS().Lock(name); !errors.Is(err, vfs.ErrLocked) || runtime.GOOS != "windows" && !strings.Contains(err.Error(), fmt.Sprintf(" (%d, vfs.test", os.Getpid())) {
		t.Errorf("second holder: %v", err)
	}
	must.Do(t, os.WriteFile(name, []byte("1, x\x1b[2J"), 0o666))
	if _, err := vfs.OS().Lock(name); !errors.Is(err, vfs.ErrLocked) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("a holder that writes what moves a cursor: %q", err)
	}
	must.Do(t, l.Close())
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file stays: %v", err)
	}
	if _, err := vfs.OS().Lock(filepath.Join(name, "no", "folder")); err == nil || errors.Is(err, vfs.ErrLocked) {
		t.Errorf("in no folder: %v", err)
	}
}

// TestLockExcludes lets several goroutines, each of which removes the lock file, compete for a
// lock: no two may hold it at a time.
func TestLockExcludes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.lock")
	var wg sync.WaitGroup
	var inside sync.Mutex
	for range 4 {
		wg.Go(func() {
			for got := 0; got < 50; {
				l, err := vfs.OS().Lock(name)
				if errors.Is(err, vfs.ErrLocked) {
					runtime.Gosched()
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !inside.TryLock() {
					t.Error("two holders at a time")
					return
				}
				runtime.Gosched()
				inside.Unlock()
				if err := l.Close(); err != nil {
					t.Error(err)
					return
				}
				got++
			}
		})
	}
	wg.Wait()
}

var _ vfs.FS = (*vfstest.FaultFS)(nil)

func TestFreeSpace(t *testing.T) {
	free, err := vfs.OS().FreeSpace(t.TempDir())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil || free <= 0 {
		t.Errorf("%d bytes, %v", free, err)
	}
	if _, err := vfs.OS().FreeSpace(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
}
