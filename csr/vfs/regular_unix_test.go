//go:build unix

package vfs_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// promptly fails the test if fn does not return within a minute.
func promptly(t *testing.T, what string, fn func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		defer cancel()
		fn()
	}()
	<-ctx.Done()
	if ctx.Err() == context.DeadlineExceeded {
		t.Fatalf("%s hangs", what)
	}
}

// TestOnlyRegularFiles checks that every function that opens files refuses other kinds of files,
// with a line that names the kind, and without blocking.
func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	fifo, sock := filepath.Join(dir, "fifo"), filepath.Join(dir, "sock")
	must.Do(t, unix.Mkfifo(fifo, 0o666))
	l := must.Get(net.Listen("unix", sock))(t)
	defer l.Close()
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink(fifo, link))
	open := map[string]func(string) error{
		"open": func(name string) error {
			_, err := vfs.OS().Open(name)
			return err
		},
		"map": func(name string) error {
			_, err := vfs.OS().Map(name)
			return err
		},
		"read": func(name string) error {
			_, err := vfs.ReadFile(vfs.OS(), name, 1<<20)
			return err
		},
	}
	for name, kind := range map[string]string{
		dir: "a directory", fifo: "a pipe", link: "a pipe", sock: "a socket", "/dev/zero": "a device", "/dev/null": "a device",
	} {
		for how, open := range open {
			promptly(t, how+" "+name, func() {
				err := open(name)
				want := "open " + name + ": it is " + kind + ", a regular file is wanted"
				if !errors.Is(err, vfs.ErrNotRegular) || err.Error() != want {
					t.Errorf("%s: %v, want %s", how, err, want)
				}
			})
		}
	}
	promptly(t, "lock", func() {
		if _, err := vfs.OS().Lock(fifo); !errors.Is(err, vfs.ErrNotRegular) {
			t.Errorf("lock on a pipe: %v", err)
		}
		if _, err := os.Lstat(fifo); err != nil {
			t.Errorf("the pipe is gone: %v", err)
		}
	})
}

// TestReadDirectPipe checks that a direct read does not block on a pipe that has taken the name of a mapped file.
func TestReadDirectPipe(t *testing.T) {
	b, err := vfs.NewBuffer()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no direct reads here")
	}
	must.Do(t, err)
	defer b.Close()
	name := filepath.Join(t.TempDir(), "x")
	writeFile(t, name, make([]byte, 1<<16))
	m := must.Get(vfs.OS().Map(name))(t)
	defer m.Close()
	must.Do(t, errors.Join(os.Remove(name), unix.Mkfifo(name, 0o666)))
	promptly(t, "a direct read", func() {
		if err := m.ReadDirect(b, vfs.DirectAlign, 0); err == nil {
			t.Error("a pipe is read")
		}
	})
}

// TestOpenSymlink checks that a link to a regular file is read like the file.
func TestOpenSymlink(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "x"), []byte("abc"))
	must.Do(t, os.Symlink("x", filepath.Join(dir, "link")))
	b, err := vfs.ReadFile(vfs.OS(), filepath.Join(dir, "link"), 3)
	if err != nil || string(b) != "abc" {
		t.Errorf("%q, %v", b, err)
	}
}

// growing is a file system whose files are longer than Stat reports.
type growing struct{ vfs.FS }

func (g growing) Open(name string) (vfs.File, error) {
	f, err := g.FS.Open(name)
	return &growingFile{f}, err
}

type growingFile struct{ vfs.File }

func (f *growingFile) Read(b []byte) (int, error) { return len(b), nil }

// TestReadFileLimit checks that a file over the limit is refused by its size, before it is read,
// and also if it grows while it is read.
func TestReadFileLimit(t *testing.T) {
	dir := t.TempDir()
	whole, over, sparse := filepath.Join(dir, "whole"), filepath.Join(dir, "over"), filepath.Join(dir, "sparse")
	writeFile(t, whole, []byte("12345678"))
	writeFile(t, over, []byte("123456789"))
	writeFile(t, sparse, nil)
	must.Do(t, os.Truncate(sparse, 1<<40))
	unread := &vfstest.FaultFS{Inject: func(op vfstest.Op) error {
		if op.Kind == vfstest.OpRead {
			t.Errorf("%v", op)
		}
		return nil
	}}
	if b, err := vfs.ReadFile(vfs.OS(), whole, 8); err != nil || string(b) != "12345678" {
		t.Errorf("at the limit: %q, %v", b, err)
	}
	if b, err := vfs.ReadFile(growing{vfs.OS()}, whole, 1<<20); !errors.Is(err, vfs.ErrTooLarge) {
		t.Errorf("an endless one: %d bytes, %v", len(b), err)
	}
	for name, size := range map[string]string{over: "9", sparse: "1099511627776"} {
		_, err := vfs.ReadFile(unread, name, 8)
		if !errors.Is(err, vfs.ErrTooLarge) || !strings.Contains(err.Error(), name+": it has "+size+" bytes or more, at most 8 are read") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := vfs.ReadFile(vfs.OS(), filepath.Join(dir, "none"), 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
}

// TestReadFileFaults checks that the failure of any file operation is returned.
func TestReadFileFaults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	writeFile(t, name, []byte("abc"))
	for n := 0; ; n++ {
		fsys := &vfstest.FaultFS{Inject: vfstest.FailAt(n)}
		b, err := vfs.ReadFile(fsys, name, 8)
		if fsys.Count() <= n {
			if n < 4 || err != nil || string(b) != "abc" { // open, stat, read, close
				t.Errorf("%d operations: %q, %v", n, b, err)
			}
			return
		}
		if !errors.Is(err, vfstest.ErrInjected) || errors.Is(err, io.EOF) {
			t.Errorf("operation %d: %q, %v", n, b, err)
		}
	}
}
