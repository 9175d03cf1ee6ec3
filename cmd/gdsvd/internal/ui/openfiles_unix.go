//go:build unix

package ui

import "golang.org/x/sys/unix"

// openFilesLimit is how many files the process may have open.
func openFilesLimit() (limit uint64, known bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, false
	}
	return uint64(r.Cur), true
}
