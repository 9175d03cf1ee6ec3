//go:build unix

package main

import (
	"os"
	"syscall"
)

// interrupts are the signals that ask a process to end.
var interrupts = []os.Signal{os.Interrupt, syscall.SIGTERM}

// early reports whether a process was ended by such a signal, which only happens
// before it has said that it wants to know of them.
func early(p *process) bool {
	s := p.signalled()
	return s == syscall.SIGINT || s == syscall.SIGTERM
}

// fifo makes a pipe with a name.
func fifo(name string) error { return syscall.Mkfifo(name, 0o666) }
