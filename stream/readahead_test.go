package stream

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/readahead"
)

// prefetched records the ranges that are prefetched and released. Block 5 is larger than a span,
// and block 8 is the first of another shard.
type prefetched struct {
	Source
	mu            sync.Mutex
	got, released [][2]int
}

const prefetchedBlocks = 10

func (p *prefetched) NumBlocks() int         { return prefetchedBlocks }
func (p *prefetched) MaxBlock() csr.MaxBlock { return csr.MaxBlock{Size: 2 * readahead.SpanBytes} }

func (p *prefetched) Block(i int) csr.BlockInfo {
	b := csr.BlockInfo{Size: readahead.SpanBytes / 2, Shard: i / 8}
	if i == 5 {
		b.Size = 2 * readahead.SpanBytes
	}
	return b
}

func (p *prefetched) Prefetch(from, to int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, [2]int{from, to})
}

func (p *prefetched) Release(from, to int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = append(p.released, [2]int{from, to})
}

// TestReadAhead checks that spans are prefetched in order, never more than fit, a large block only
// when it is needed, and released once all their blocks are decoded.
func TestReadAhead(t *testing.T) {
	p := &prefetched{}
	a := newReadAhead(p, 2, 0)
	ends := []int{2, 2, 4, 4, 5, 6, 8, 8, 10, 10}
	for i := range prefetchedBlocks {
		a.need(i)
		if last := p.got[len(p.got)-1]; last[1] <= i || i < 5 && last[0] >= 5 {
			t.Errorf("block %d is needed, and %v were read", i, p.got)
		}
		if ahead := len(p.got) - len(p.released); ahead > 2 {
			t.Errorf("%d spans in memory at block %d", ahead, i)
		}
		a.done(i)
		if len(p.released) > 0 && p.released[len(p.released)-1][1] > i+1 || ends[i] == i+1 && len(p.released) == 0 {
			t.Errorf("after block %d: released are %v", i, p.released)
		}
	}
	want := [][2]int{{0, 2}, {2, 4}, {4, 5}, {5, 6}, {6, 8}, {8, 10}}
	if !slices.Equal(p.got, want) || !slices.Equal(p.released, want) {
		t.Errorf("read %v, released %v, want %v", p.got, p.released, want)
	}
}

// TestReadAheadWaits checks that need waits for a block whose span has no room until another span
// is released or the pass is stopped, which releases the rest.
func TestReadAheadWaits(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := &prefetched{}
			a := newReadAhead(p, 1, 0)
			a.need(1)
			a.need(0)
			through := false
			go func() { a.need(2); through = true }()
			synctest.Wait()
			if through || len(p.got) != 1 {
				t.Fatalf("read are %v", p.got)
			}
			if stopped {
				a.stop()
			} else {
				a.done(0)
				a.done(1)
			}
			synctest.Wait() // synctest fails if no goroutine wakes up
			if !through {
				t.Error("still waiting")
			}
			a.close()
			if want := p.got; !slices.Equal(p.released, want) {
				t.Errorf("released are %v of %v", p.released, want)
			}
		})
	}
}
