//go:build linux || darwin || freebsd

package vfs

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func freeSpace(name string) (int64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: name, Err: err}
	}
	if s.Blocks == 0 { // as of a tmpfs without a limit
		return 0, &os.PathError{Op: "statfs", Path: name, Err: errors.ErrUnsupported}
	}
	// Bavail is what an unprivileged process may take; the types differ from system to system.
	return int64(max(0, s.Bavail)) * int64(s.Bsize), nil
}
