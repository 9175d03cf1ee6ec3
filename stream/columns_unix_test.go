//go:build unix

package stream

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/must"
	"golang.org/x/sys/unix"
	"gonum.org/v1/gonum/mat"
)

// TestFaultOfASpace checks that unreadable blocks give an error and do not end the process.
func TestFaultOfASpace(t *testing.T) {
	const n = 30000
	b := must.Get(unix.Mmap(-1, 0, 8*n*2, unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE))(t)
	defer func() {
		if err := unix.Munmap(b); err != nil {
			t.Error(err)
		}
	}()
	bad := mat.NewDense(n, 2, unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), 2*n))
	good := mat.NewDense(n, 2, nil)
	src := newDisk(randomCSR(6, 4000, n, 20.0/n))
	for _, workers := range []int{1, 3} {
		m := mustNew(t, src, Options{Workers: workers, Width: 2, Rank: 3, Space: &memorySpace{}})
		want := func(what string, err error) {
			t.Helper()
			if !errors.As(err, new(*fault.Error)) {
				t.Errorf("%s with %d workers: %v", what, workers, err)
			}
		}
		want("x", m.apply(t.Context(), good, bad))
		want("the result", m.apply(t.Context(), bad, randomDense(1, n, 2)))
		_, _, err := m.project(t.Context(), bad, nil)
		want("v", err)
		if err := m.apply(t.Context(), good, randomDense(1, n, 2)); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	}
}
