package stream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/readahead"
)

// countingSpace counts the windows that are evicted, and cancels the context in window at; no
// window is counted between that one and the cancellation.
type countingSpace struct {
	memorySpace
	mu          sync.Mutex
	windows, at int64
	cancel      func()
}

func (s *countingSpace) Evict([]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.windows++
	if s.windows == s.at {
		s.cancel()
	}
}

// TestProductsEndWithTheirContext checks that a product over vectors in a Space that is cancelled
// ends after the window each worker is in, at any window, and that the next product is right.
func TestProductsEndWithTheirContext(t *testing.T) {
	const n, k = 100_000, 3
	src := newDisk(randomCSR(6, 64, n, 5.0/n))
	v, y := randomDense(1, n, k), randomDense(2, 64, k)
	for name, product := range map[string]func(ctx context.Context, m *Matrix) (*mat.Dense, error){
		"Apply": func(ctx context.Context, m *Matrix) (*mat.Dense, error) {
			dst := mat.NewDense(n, k, nil)
			return dst, m.apply(ctx, dst, v)
		},
		"Project": func(ctx context.Context, m *Matrix) (*mat.Dense, error) {
			atw, _, err := m.project(ctx, v, nil)
			return atw, err
		},
		"MulTrans": func(ctx context.Context, m *Matrix) (*mat.Dense, error) {
			return m.mulTrans(ctx, k, func(first int64, rows *mat.Dense) error {
				r, _ := rows.Dims()
				rows.Copy(y.Slice(int(first), int(first)+r, 0, k))
				return nil
			})
		},
	} {
		for _, workers := range []int{1, 3} {
			space := &countingSpace{cancel: func() {}}
			m := mustNew(t, src, Options{Workers: workers, Width: k, Rank: k, Space: space})
			want := must.Get(product(t.Context(), m))(t)
			all := space.windows
			if all < 4 {
				t.Fatalf("%s: %d windows only", name, all)
			}
			for at := int64(1); at <= all; at += longtest.Pick[int64](1, 7) {
				ctx, cancel := context.WithCancel(t.Context())
				space.windows = 0
				space.at = at
				space.cancel = cancel
				_, err := product(ctx, m)
				cancel()
				if more := space.windows - at; more > int64(workers) {
					t.Errorf("%s with %d workers, cancelled in window %d of %d: %d more", name, workers, at, all, more)
				}
				if err != nil && !errors.Is(err, context.Canceled) || err == nil && at+int64(workers) < all {
					t.Errorf("%s with %d workers, cancelled in window %d of %d: %v", name, workers, at, all, err)
				}
			}
			space.at = -1
			got := must.Get(product(t.Context(), m))(t)
			sameDense(t, name, got, want)
		}
	}
}

// largeBlocks is a disk whose blocks take a span each.
type largeBlocks struct{ *disk }

func (d largeBlocks) MaxBlock() csr.MaxBlock {
	largest := d.disk.MaxBlock()
	largest.Size = readahead.SpanBytes
	return largest
}

func (d largeBlocks) Block(i int) csr.BlockInfo {
	info := d.disk.Block(i)
	info.Size = readahead.SpanBytes
	return info
}

// TestPassAfterAFailedPass checks that a pass ends with the right product if the pass before failed in its first block after
// it had decoded many later blocks, which are kept.
func TestPassAfterAFailedPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newDisk(randomCSR(1, 4000, 40, 0.2))
		m := mustNew(t, largeBlocks{src}, Options{Workers: 4, Width: 2, Rank: 2})
		x, got, want := randomDense(2, 40, 2), mat.NewDense(40, 2, nil), mat.NewDense(40, 2, nil)
		must.Do(t, mustNew(t, src, Options{Workers: 1, Width: 2, Rank: 2}).apply(t.Context(), want, x))

		src.failAt = 0
		src.onRead = func(i int) {
			if i == 0 {
				synctest.Wait() // until no other worker can go on
			}
		}
		if err := m.apply(t.Context(), got, x); !errors.Is(err, errDamaged) {
			t.Fatal(err)
		}
		src.failAt, src.onRead = -1, nil
		must.Do(t, m.apply(t.Context(), got, x)) // synctest fails if the workers wait for one another
		sameDense(t, "the pass after the failed one", got, want)
	})
}
