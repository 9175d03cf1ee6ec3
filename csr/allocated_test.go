package csr_test

import (
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
)

// TestAllocatedBoundsTheHeap checks that Allocated is at least the capacity that Go allocates, and not much more.
func TestAllocatedBoundsTheHeap(t *testing.T) {
	for n := 1; n < 1<<20; n += 1 + n/50 {
		given := int64(cap(slices.Grow([]byte(nil), n)))
		if got := csr.Allocated(int64(n)); got < given || got > given+given/5+64 {
			t.Errorf("%d bytes: %d planned, %d given", n, got, given)
		}
	}
}
