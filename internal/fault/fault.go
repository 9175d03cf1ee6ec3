// Package fault turns memory faults in files that are mapped into memory into errors.
package fault

import (
	"runtime"
	"runtime/debug"
)

// Error is a memory fault in a mapping: the file was truncated after it was mapped, or the
// disk could not deliver or take a page.
type Error struct {
	Addr uintptr // the address whose access failed
	Err  error   // the runtime's own error
}

func (e *Error) Error() string {
	return "memory fault in a mapped file: the disk did not deliver its bytes, or it was cut: try again"
}

func (e *Error) Unwrap() error { return e.Err }

// Guard runs fn and turns a memory fault in it, which would end the process,
// into an *Error. It covers the calling goroutine only. Other panics pass on.
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
			err = &Error{Addr: fault.Addr(), Err: fault}
			return
		}
		panic(r)
	}()
	return fn()
}
