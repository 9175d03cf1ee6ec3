package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// exchange swaps two names in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// populate maps all of b, reading what is not in memory. In a page fault the
// goroutine would keep its processor while it waits; in this call it does not.
func populate(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_POPULATE_READ); err != unix.EINVAL {
		return err
	}
	return unix.Madvise(b, unix.MADV_WILLNEED) // before Linux 5.14
}

// allocate sets the size of f and takes the space from the disk now: a page for which
// there is no space when it is written back would be a fault, or lost.
func allocate(f *os.File, size int64) error {
	for {
		switch err := unix.Fallocate(int(f.Fd()), 0, 0, size); err {
		case unix.EINTR:
		case unix.EOPNOTSUPP:
			return fill(f, size)
		default:
			return err
		}
	}
}

// writeError returns the error of writing back, without waiting for more than a page.
func writeError(f *os.File) error {
	return unix.SyncFileRange(int(f.Fd()), 0, 1, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
}

// writeBack begins to write the changed pages of a range, and does not wait for it.
func writeBack(f *os.File, off, n int64) {
	_ = unix.SyncFileRange(int(f.Fd()), off, n, unix.SYNC_FILE_RANGE_WRITE) // only a hint
}
