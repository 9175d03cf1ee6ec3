package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// throttle is a control group that bounds the memory of a process, page cache
// included, and how fast it reads from the disk of a store. In version 1 it is
// two, in version 2 one.
type throttle struct{ dirs []string }

func newThrottle(store string, o options) (_ *throttle, err error) {
	if err := forget(store); err != nil {
		return nil, err
	}
	disk, err := diskOf(store)
	if err != nil {
		return nil, err
	}
	t := &throttle{}
	defer func() {
		if err != nil {
			t.remove()
		}
	}()
	const top = "/sys/fs/cgroup"
	name := fmt.Sprintf("gdsvd-bench-%d", os.Getpid())
	rate, memory := strconv.FormatInt(o.rate, 10), strconv.FormatInt(o.memory, 10)
	if _, err := os.Stat(filepath.Join(top, "cgroup.controllers")); err == nil {
		return t, t.group(filepath.Join(top, name), map[string]string{
			"memory.max": memory, "memory.swap.max": "0", "io.max": disk + " rbps=" + rate,
		})
	}
	if err := t.group(filepath.Join(top, "memory", name), map[string]string{"memory.limit_in_bytes": memory}); err != nil {
		return nil, err
	}
	return t, t.group(filepath.Join(top, "blkio", name), map[string]string{"blkio.throttle.read_bps_device": disk + " " + rate})
}

// group makes a control group.
func (t *throttle) group(dir string, limits map[string]string) error {
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("a disk cannot be throttled here: %w", err)
	}
	t.dirs = append(t.dirs, dir)
	for file, limit := range limits {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0o644); err != nil {
			return fmt.Errorf("a disk cannot be throttled here: %w", err)
		}
	}
	return nil
}

// command makes a command one that begins inside of the group.
func (t *throttle) command(cmd *exec.Cmd) *exec.Cmd {
	var enter strings.Builder
	for _, dir := range t.dirs {
		fmt.Fprintf(&enter, "echo $$ >%s/cgroup.procs && ", dir)
	}
	return exec.Command("sh", append([]string{"-c", enter.String() + `exec "$@"`, "sh"}, append([]string{cmd.Path}, cmd.Args[1:]...)...)...)
}

func (t *throttle) remove() {
	for _, dir := range t.dirs {
		_ = os.Remove(dir) // nothing is in it any more
	}
}

// forget takes the files of a store out of the page cache, where pages stay that
// have not been written yet.
func forget(store string) error {
	files, err := filepath.Glob(filepath.Join(store, "*"))
	if err != nil {
		return err
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = errors.Join(f.Sync(), unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED), f.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// diskOf is the number of the disk that a file is on, not of a partition.
func diskOf(file string) (string, error) {
	var s unix.Stat_t
	if err := unix.Stat(file, &s); err != nil {
		return "", err
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
