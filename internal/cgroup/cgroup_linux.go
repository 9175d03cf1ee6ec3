package cgroup

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Group is a memory cgroup.
type Group struct {
	dir string
	version
}

// version holds the file names of a version of cgroups.
type version struct {
	root, mark, limit, peak, killed string
}

var versions = []version{
	{"/sys/fs/cgroup", "cgroup.controllers", "memory.max", "memory.peak", "memory.events"},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control"},
}

// New makes a group whose processes together may use the given number of bytes of memory.
func New(name string, bytes int64) (*Group, error) {
	var reasons []error
	for _, v := range versions {
		if _, err := os.Stat(filepath.Join(v.root, v.mark)); err != nil {
			continue
		}
		g := &Group{filepath.Join(v.root, fmt.Sprintf("%s-%d", name, os.Getpid())), v}
		err := os.Mkdir(g.dir, 0o755)
		if err == nil {
			if err = os.WriteFile(filepath.Join(g.dir, v.limit), strconv.AppendInt(nil, bytes, 10), 0o644); err == nil {
				return g, nil
			}
			err = errors.Join(err, g.Remove())
		}
		reasons = append(reasons, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(reasons...))
}

// Command changes cmd so that its process starts inside the group, and returns cmd. If g is nil cmd stays unchanged.
func (g *Group) Command(cmd *exec.Cmd) *exec.Cmd {
	if g == nil {
		return cmd
	}
	cmd.Args = slices.Concat([]string{"sh", "-c", fmt.Sprintf(`echo $$ >'%s/cgroup.procs' && exec "$@"`, g.dir), "sh", cmd.Path}, cmd.Args[1:])
	cmd.Path = "/bin/sh"
	return cmd
}

func (g *Group) Usage() (u Usage, err error) {
	data, err := os.ReadFile(filepath.Join(g.dir, g.peak))
	if err == nil {
		u.Peak, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // memory.peak came with Linux 5.19
	}
	if err != nil {
		return u, err
	}
	if data, err = os.ReadFile(filepath.Join(g.dir, g.killed)); err != nil {
		return u, err
	}
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		if n, found := strings.CutPrefix(sc.Text(), "oom_kill "); found {
			u.Killed, err = strconv.ParseInt(n, 10, 64)
		}
	}
	return u, err
}

// Remove removes the group. It retries for a second, because the last process may still be exiting.
func (g *Group) Remove() (err error) {
	if g == nil {
		return nil
	}
	for range 100 {
		if err = os.Remove(g.dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// Forget syncs files and drops their pages from the page cache, so that the next reader is charged for the pages.
func Forget(files ...string) error {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
