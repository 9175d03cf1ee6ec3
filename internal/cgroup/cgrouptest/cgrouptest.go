// Package cgrouptest makes control groups for tests.
package cgrouptest

import (
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cgroup"
)

// New makes a group for the time of the test, or skips the test where none can be made.
func New(t testing.TB, name string, bytes int64) *cgroup.Group {
	t.Helper()
	g, err := cgroup.New(name, bytes)
	if errors.Is(err, cgroup.ErrUnavailable) {
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
