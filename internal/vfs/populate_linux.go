package vfs

import "golang.org/x/sys/unix"

// populate maps all of b, reading what is not in memory. In a page fault the
// goroutine would keep its processor while it waits; in this call it does not.
func populate(b []byte) error {
	if err := unix.Madvise(b, unix.MADV_POPULATE_READ); err != unix.EINVAL {
		return err
	}
	return unix.Madvise(b, unix.MADV_WILLNEED) // before Linux 5.14
}
