//go:build unix

package solver_test

import (
	"errors"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// failing is a Space whose memory becomes unreadable after some calls of Err, as if the disk it is
// mapped from had failed.
type failing struct {
	mu     sync.Mutex
	blocks [][]byte
	after  int // calls of Err
}

func (f *failing) Make(n int) ([]float64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b, err := unix.Mmap(-1, 0, 8*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	f.blocks = append(f.blocks, b)
	return unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), n), nil
}

func (f *failing) Fetch([]float64) {}
func (f *failing) Evict([]float64) {}
func (f *failing) Free([]float64)  {}

func (f *failing) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.after--; f.after == 0 {
		for _, b := range f.blocks {
			if err := unix.Mprotect(b, unix.PROT_NONE); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestFaultOfASpace checks that unreadable memory of a Space gives ErrFault, on whichever goroutine the fault occurs.
func TestFaultOfASpace(t *testing.T) {
	for _, m := range []method.Method{power.Iteration{}, lanczos.Krylov{Columns: 2, Basis: 12}, block.Descent{Columns: 5}} {
		space := &failing{after: 4}
		res, err := solver.SVD(t.Context(), &weighed{n: 1 << 18, blind: true}, solver.Settings{Rank: 3, Method: m, MaxPasses: 20, Space: space})
		if !errors.Is(err, solver.ErrFault) || res != nil {
			t.Errorf("%s: %v", m.Traits(1).Name, err)
		}
		for _, b := range space.blocks {
			must.Do(t, unix.Munmap(b))
		}
	}
}
