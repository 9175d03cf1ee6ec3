package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// memoryLimit is a memory cgroup; nil is none.
type memoryLimit struct{ dir string }

// newLimit makes a cgroup, or returns nil where that is not permitted.
func newLimit(n int64) (*memoryLimit, error) {
	for _, v := range []struct{ root, file string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, // version 1
		{"/sys/fs/cgroup", "memory.max"},                   // version 2
	} {
		dir := filepath.Join(v.root, fmt.Sprintf("gdsvd-disk-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		l := &memoryLimit{dir}
		err := os.WriteFile(filepath.Join(dir, v.file), []byte(strconv.FormatInt(n, 10)), 0o644)
		if err == nil {
			return l, nil
		}
		l.remove()
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
	}
	return nil, nil
}

func (l *memoryLimit) name() string {
	if l == nil {
		return "not enforced"
	}
	return "enforced by a cgroup"
}

// wrap makes a command run in the cgroup.
func (l *memoryLimit) wrap(args []string) []string {
	if l == nil {
		return args
	}
	return append([]string{"sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, l.dir}, args...)
}

func (l *memoryLimit) remove() {
	if l != nil {
		_ = os.Remove(l.dir)
	}
}

// forget drops the files' pages from the cache.
func forget(files []string) error {
	return eachFile(files, func(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) })
}

// remember reads the files into the cache.
func remember(files []string) error {
	buf := make([]byte, 1<<20)
	return eachFile(files, func(f *os.File) error {
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f}, buf)
		return err
	})
}

func eachFile(files []string, do func(*os.File) error) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(do(f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
