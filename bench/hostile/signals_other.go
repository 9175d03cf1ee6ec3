//go:build !unix

package main

import "os"

// interrupts are the signals that ask a process to end.
var interrupts = []os.Signal{os.Interrupt}

func early(*process) bool { return false }

func fifo(string) error { return skipf("there are no named pipes here") }
