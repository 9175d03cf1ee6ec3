// Package cgroup runs processes under a memory limit that the kernel enforces. The limit includes the page cache of the
// files that the processes read and write. Cgroups of version 2 and of version 1 are supported.
package cgroup

import (
	"errors"
	"testing"
)

// ErrUnavailable is wrapped by the error of New if no group can be made: not on Linux, or not permitted.
var ErrUnavailable = errors.New("no cgroup can be made here")

// Usage holds the counters of a group.
type Usage struct {
	Peak   int64 `json:"peak"`   // most bytes charged at a time, page cache included; 0: the kernel does not report it
	Killed int64 `json:"killed"` // processes that the kernel killed because the limit was reached
}

// ForTest makes a group that is removed when the test ends, or skips the test if no group can be made.
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
