package vfs

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// FaultError is a memory fault while reading a mapping: the file was truncated
// after it was mapped, or the disk could not deliver a page.
type FaultError struct {
	Addr uintptr // the address that could not be read
	Err  error   // the runtime's own error
}

func (e *FaultError) Error() string {
	return fmt.Sprintf("memory fault reading a mapped file: %v", e.Err)
}

// Unwrap returns the runtime's own error.
func (e *FaultError) Unwrap() error { return e.Err }

// Guard runs fn and turns a memory fault in it, which would end the process,
// into a *FaultError. It covers the calling goroutine only. Other panics pass on.
func Guard(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		}); ok {
			err = &FaultError{Addr: fault.Addr(), Err: fault}
			return
		}
		panic(r)
	}()
	return fn()
}
