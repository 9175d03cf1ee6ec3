//go:build unix && !linux

package vfs

import "golang.org/x/sys/unix"

func populate(b []byte) error { return unix.Madvise(b, unix.MADV_WILLNEED) }
