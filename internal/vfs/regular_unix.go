//go:build unix

package vfs

import "syscall"

// openNoWait has the opening of a pipe not wait for its other end.
const openNoWait = syscall.O_NONBLOCK
