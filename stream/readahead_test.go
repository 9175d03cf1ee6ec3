package stream

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gdsvd/gdsvd/csr"
)

// prefetched records what is read ahead; block 3 is larger than the window.
type prefetched struct {
	Source
	mu  sync.Mutex
	got []int
}

func (p *prefetched) Block(i int) csr.BlockInfo {
	if i == 3 {
		return csr.BlockInfo{Size: 2 * readAheadBytes}
	}
	return csr.BlockInfo{Size: readAheadBytes / 2}
}

func (p *prefetched) Prefetch(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, i)
}

// TestReadAhead: never more than the window beyond what is handed out, nothing
// twice, nothing that a worker has already; it ends by itself and when cancelled.
func TestReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &prefetched{}
		a := newReadAhead(p)
		ended := false
		go func() { a.run(t.Context(), 1, 8); ended = true }()
		for _, step := range []struct {
			handOut int
			want    []int
		}{
			{0, []int{1, 2}},
			{1, []int{1, 2}},
			{2, []int{1, 2, 3}},
			{3, []int{1, 2, 3, 4, 5}},
			{6, []int{1, 2, 3, 4, 5, 7}}, // the worker was first at 6
		} {
			a.handOut(step.handOut)
			synctest.Wait()
			if !slices.Equal(p.got, step.want) {
				t.Errorf("after %d: %v, want %v", step.handOut, p.got, step.want)
			}
		}
		if !ended {
			t.Error("still running")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go newReadAhead(p).run(ctx, 0, 8)
		synctest.Wait()
		cancel()
		synctest.Wait() // the bubble fails if it does not end
	})
}

// late is a source whose block 2 is still being brought into memory when it is
// handed out.
type late struct {
	prefetched
	a        *readAhead
	released []int
}

func (l *late) Prefetch(i int) {
	if i == 2 {
		l.a.handOut(i)
	}
}

func (l *late) ReleaseBlock(i int) { l.released = append(l.released, i) }

// TestReadAheadLate: pages that come after a worker has taken their block are
// given back.
func TestReadAheadLate(t *testing.T) {
	l := &late{}
	l.a = newReadAhead(l)
	l.a.handOut(0)
	l.a.run(t.Context(), 1, 3)
	if !slices.Equal(l.released, []int{2}) {
		t.Errorf("released are %v, want only 2", l.released)
	}
}
