//go:build unix

package vfs

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// openNoWait has the opening of a pipe not wait for its other end.
const openNoWait = unix.O_NONBLOCK

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

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// OpenFiles is how many files the process may have open, math.MaxInt32 if no limit is known.
func OpenFiles() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || uint64(r.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(r.Cur)
}

// AddressSpace is how many bytes of addresses the process may take, math.MaxInt64 if no limit is known.
func AddressSpace() int64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &r); err != nil || uint64(r.Cur) > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(r.Cur)
}
