//go:build unix

package ingest

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFileLimit is how many files the process may have open.
func openFileLimit() int {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil || uint64(r.Cur) > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(r.Cur)
}
