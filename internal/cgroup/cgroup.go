// Package cgroup runs processes under a limit of memory that the kernel
// enforces, the page cache of the files they read and write included: a cgroup of
// version 2, or of version 1.
package cgroup

import (
	"errors"
	"testing"
)

// ErrUnavailable is wrapped by the error of New where no group can be made: not
// on Linux, or not permitted.
var ErrUnavailable = errors.New("no cgroup can be made here")

// Usage is what a group has come to.
type Usage struct {
	Peak   int64 `json:"peak"`   // most bytes charged at a time, page cache included; 0 if the kernel does not tell
	Killed int64 `json:"killed"` // processes that the kernel has killed for want of memory
}

// ForTest makes a group for the time of the test, or skips the test where none can be made.
func ForTest(t testing.TB, name string, bytes int64) *Group {
	t.Helper()
	g, err := New(name, bytes)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}
