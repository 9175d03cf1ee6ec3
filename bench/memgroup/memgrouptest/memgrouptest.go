// Package memgrouptest makes control groups for tests.
package memgrouptest

import (
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/bench/memgroup"
)

// New makes a group for the time of the test, or skips the test where none can be made.
func New(t testing.TB, name string, bytes int64) *memgroup.Group {
	t.Helper()
	g, err := memgroup.New(name, bytes)
	if errors.Is(err, memgroup.ErrUnavailable) {
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
