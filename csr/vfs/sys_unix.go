//go:build unix

package vfs

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// openNoWait keeps the opening of a pipe from waiting for its other end.
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
func OpenFiles() int { return int(min(limit(unix.RLIMIT_NOFILE), math.MaxInt32)) }

// AddressSpace is how many bytes of addresses the process may take, math.MaxInt64 if no limit is known.
func AddressSpace() int64 { return limit(unix.RLIMIT_AS) }

// Threads is how many processes and threads the user may have, math.MaxInt64 if no limit is known.
func Threads() int64 {
	if os.Geteuid() == 0 {
		return math.MaxInt64
	}
	return limit(unix.RLIMIT_NPROC)
}

func limit(resource int) int64 {
	var r unix.Rlimit
	if err := unix.Getrlimit(resource, &r); err != nil || uint64(r.Cur) > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(r.Cur)
}
