package vfs

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

const openNoWait = 0

func madvise([]byte, Advice) error { return nil }

// syncDir has nothing to do: Windows has no handle to sync a directory with,
// NTFS journals its names.
func syncDir(string) error { return nil }

func freeSpace(name string) (int64, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return 0, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	var free uint64 // for this user
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, &os.PathError{Op: "free space", Path: name, Err: err}
	}
	return int64(free), nil
}

// OpenFiles is how many files the process may have open, math.MaxInt32 if no limit is known.
func OpenFiles() int { return math.MaxInt32 }

// AddressSpace is how many bytes of addresses the process may take, math.MaxInt64 if no limit is known.
func AddressSpace() int64 { return math.MaxInt64 }

// Threads is how many processes and threads the user may have, math.MaxInt64 if no limit is known.
func Threads() int64 { return math.MaxInt64 }
