//go:build alltests

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

// failingDisk is a FUSE file system in front of a directory, one operation of which fails. Unlike with a vfs.FS, reads of
// mapped files fail as well.
type failingDisk struct {
	mu       sync.Mutex
	at, seen int // number of the operation that fails; operations so far
	err      error
	hit      vfstest.Op
}

// mountFailing mounts a failingDisk in front of dir until the test ends.
func mountFailing(t *testing.T, dir string) (at string, disk *failingDisk) {
	at, disk = t.TempDir(), &failingDisk{at: -1}
	root := &fs.LoopbackRoot{Path: dir}
	node := &failingNode{fs.LoopbackNode{RootData: root}, disk}
	root.RootNode = node
	server, err := fs.Mount(at, node, &fs.Options{MountOptions: fuse.MountOptions{DirectMountStrict: true, MaxReadAhead: 4096, FsName: "gdsvd-test"}})
	if err != nil {
		t.Skipf("no file system of a program can be mounted here (Linux, /dev/fuse and root): %v", err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return at, disk
}

// ask counts an operation and returns its error.
func (d *failingDisk) ask(kind vfstest.Kind, name string) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen++
	if d.seen != d.at+1 {
		return 0
	}
	d.hit = vfstest.Op{Index: d.at, Kind: kind, Name: name}
	switch {
	case d.err != vfstest.ErrShort:
		return fs.ToErrno(d.err)
	case kind == vfstest.OpRead:
		return short
	}
	return 0
}

// short stands for a read that returns half of the bytes, which the system takes for the end of the file.
const short = ^syscall.Errno(0)

// failingNode is a file or directory of a failingDisk. Operations that do not call ask never fail.
type failingNode struct {
	fs.LoopbackNode
	disk *failingDisk
}

// WrapChild makes a file found in a directory a failingNode.
func (n *failingNode) WrapChild(context.Context, fs.InodeEmbedder) fs.InodeEmbedder {
	return &failingNode{fs.LoopbackNode{RootData: n.RootData}, n.disk}
}

func (n *failingNode) ask(kind vfstest.Kind) syscall.Errno {
	return n.disk.ask(kind, n.Path(n.RootData.RootNode.EmbeddedInode()))
}

func (n *failingNode) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if e := n.ask(vfstest.OpOpen); e != 0 {
		return nil, 0, e
	}
	return n.LoopbackNode.Open(ctx, flags)
}

func (n *failingNode) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if e := n.disk.ask(vfstest.OpCreate, name); e != 0 {
		return nil, nil, 0, e
	}
	return n.LoopbackNode.Create(ctx, name, flags, mode, out)
}

func (n *failingNode) Read(ctx context.Context, f fs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	switch e := n.ask(vfstest.OpRead); e {
	case 0:
	case short:
		dest = dest[:len(dest)/2]
	default:
		return nil, e
	}
	return f.(fs.FileReader).Read(ctx, dest, off)
}

func (n *failingNode) Write(ctx context.Context, f fs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	if e := n.ask(vfstest.OpWrite); e != 0 {
		return 0, e
	}
	return f.(fs.FileWriter).Write(ctx, data, off)
}

func (n *failingNode) Fsync(ctx context.Context, f fs.FileHandle, flags uint32) syscall.Errno {
	if e := n.ask(vfstest.OpSync); e != 0 {
		return e
	}
	if file, ok := f.(fs.FileFsyncer); ok {
		return file.Fsync(ctx, flags)
	}
	return 0
}

func (n *failingNode) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if e := n.disk.ask(vfstest.OpMkdir, name); e != 0 {
		return nil, e
	}
	return n.LoopbackNode.Mkdir(ctx, name, mode, out)
}

func (n *failingNode) Rename(ctx context.Context, name string, to fs.InodeEmbedder, toName string, flags uint32) syscall.Errno {
	if e := n.disk.ask(vfstest.OpRename, name); e != 0 {
		return e
	}
	return n.LoopbackNode.Rename(ctx, name, to, toName, flags)
}

func (n *failingNode) Readdir(ctx context.Context) (fs.DirStream, syscall.Errno) {
	if e := n.ask(vfstest.OpReadDir); e != 0 {
		return nil, e
	}
	return n.LoopbackNode.Readdir(ctx)
}

// TestFailingDisk does as TestIOErrorSweep on a failingDisk, with processes whose mapped files fail on access.
func TestFailingDisk(t *testing.T) {
	longtest.Only(t)
	mountFailing(t, t.TempDir()) // skips the test if nothing can be mounted
	source := faultFiles(t)
	for _, line := range faultCommands {
		t.Run(strings.ReplaceAll(line, "W/", ""), func(t *testing.T) {
			c := newFaultCommand(t, source, line)
			at, disk := mountFailing(t, c.work)
			c.inject = func(n int, err error) (vfstest.Op, ran) {
				disk.mu.Lock()
				disk.at, disk.seen, disk.err, disk.hit = n, 0, err, vfstest.Op{Index: -1}
				disk.mu.Unlock()
				o := c.again()
				disk.mu.Lock()
				defer disk.mu.Unlock()
				if n < 0 {
					disk.hit.Index = disk.seen
				}
				disk.at = -1
				return disk.hit, o
			}
			c.at = at
			c.again = func(more ...string) ran { return ranOn(t, append(append(argsOf(c.line, at), "-q"), more...)) }
			c.sweep(t, ioErrors, 1)
		})
	}
}

// ranOn runs gdsvd in another process.
func ranOn(t *testing.T, args []string) ran {
	t.Helper()
	cmd := process(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(fmt.Errorf("%s: %w", filepath.Base(cmd.Path), err))
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}
