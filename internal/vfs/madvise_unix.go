//go:build unix

package vfs

import "golang.org/x/sys/unix"

func madvise(b []byte, a Advice) error {
	if len(b) == 0 {
		return nil
	}
	advice := unix.MADV_SEQUENTIAL
	switch a {
	case Random:
		advice = unix.MADV_RANDOM
	case Populate:
		return populate(b)
	case Ahead:
		advice = unix.MADV_WILLNEED
	case DontNeed:
		advice = unix.MADV_DONTNEED
	}
	return unix.Madvise(b, advice)
}
