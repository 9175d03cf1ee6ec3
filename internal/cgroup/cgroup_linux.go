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
	dirs []string // the first has the memory
	version
}

// version is how a version of cgroups names things.
type version struct {
	root, mark, limit, peak, killed string
	reads                           string // group of its own for the limit of reads, if it needs one
}

var versions = []version{
	{"/sys/fs/cgroup", "cgroup.controllers", "memory.max", "memory.peak", "memory.events", ""},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.oom_control", "/sys/fs/cgroup/blkio"},
}

// New makes a group whose processes together may have the given bytes of memory.
func New(name string, bytes int64) (*Group, error) {
	var reasons []error
	for _, v := range versions {
		if _, err := os.Stat(filepath.Join(v.root, v.mark)); err != nil {
			continue
		}
		g := &Group{version: v}
		err := g.add(filepath.Join(v.root, fmt.Sprintf("%s-%d", name, os.Getpid())), v.limit, strconv.FormatInt(bytes, 10))
		if err == nil {
			return g, nil
		}
		reasons = append(reasons, errors.Join(err, g.Remove()))
	}
	return nil, fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(reasons...))
}

// add makes the directory if it is not there, as one of the group, and sets a limit in it.
func (g *Group) add(dir, file, limit string) error {
	if !slices.Contains(g.dirs, dir) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
	}
	return os.WriteFile(filepath.Join(dir, file), []byte(limit), 0o644)
}

// LimitReads lets the group read rate bytes a second from the disk that file is on.
func (g *Group) LimitReads(file string, rate int64) error {
	disk, err := diskOf(file)
	if err != nil {
		return err
	}
	if g.reads == "" {
		err = g.add(g.dirs[0], "io.max", fmt.Sprintf("%s rbps=%d", disk, rate))
	} else {
		err = g.add(filepath.Join(g.reads, filepath.Base(g.dirs[0])), "blkio.throttle.read_bps_device", fmt.Sprintf("%s %d", disk, rate))
	}
	if err != nil {
		return fmt.Errorf("%w: reading cannot be limited: %w", ErrUnavailable, err)
	}
	return nil
}

// diskOf is the number of the disk that a file is on, not of a partition.
func diskOf(file string) (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	part := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(s.Dev), unix.Minor(s.Dev))
	if _, err := os.Stat(part + "/partition"); err == nil {
		part += "/.." // the disk is the directory above, once the link is resolved
	}
	number, err := os.ReadFile(part + "/dev")
	if err != nil {
		return "", fmt.Errorf("find the disk of %s: %w", file, err)
	}
	return strings.TrimSpace(string(number)), nil
}

// Command makes cmd one that begins inside of the group, and returns it. Without a
// group (nil) it stays as it is.
func (g *Group) Command(cmd *exec.Cmd) *exec.Cmd {
	if g == nil {
		return cmd
	}
	var enter strings.Builder
	for _, dir := range g.dirs {
		fmt.Fprintf(&enter, "echo $$ >'%s/cgroup.procs' && ", dir)
	}
	cmd.Args = slices.Concat([]string{"sh", "-c", enter.String() + `exec "$@"`, "sh", cmd.Path}, cmd.Args[1:])
	cmd.Path = "/bin/sh"
	return cmd
}

func (g *Group) Usage() (u Usage, err error) {
	data, err := os.ReadFile(filepath.Join(g.dirs[0], g.peak))
	if err == nil {
		u.Peak, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // memory.peak came with Linux 5.19
	}
	if err != nil {
		return u, err
	}
	if data, err = os.ReadFile(filepath.Join(g.dirs[0], g.killed)); err != nil {
		return u, err
	}
	for sc := bufio.NewScanner(bytes.NewReader(data)); sc.Scan(); {
		if n, found := strings.CutPrefix(sc.Text(), "oom_kill "); found {
			u.Killed, err = strconv.ParseInt(n, 10, 64)
		}
	}
	return u, err
}

// Remove removes the group. Its last process may still be on its way out.
func (g *Group) Remove() (err error) {
	if g == nil {
		return nil
	}
	for _, dir := range g.dirs {
		err = errors.Join(err, removeSoon(dir))
	}
	return err
}

func removeSoon(dir string) (err error) {
	for range 100 {
		if err = os.Remove(dir); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

// Forget drops the pages of files from the cache, those that have not been
// written yet too, so that who reads them next is charged for them.
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
