//go:build unix

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// leadsNowhere reports whether a standard stream was closed when the process began: the Go runtime then opens the null device in
// its place, for reading and writing (checkfds in runtime/fds_unix.go). A null device that another program has opened in that
// way and passed on looks the same; a shell opens the null device of > /dev/null for writing only.
func leadsNowhere(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	fi, err := f.Stat()
	if err != nil || !os.SameFile(fi, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
