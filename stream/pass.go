package stream

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// visit does one worker's work on decoded block i. It may wait for its turn
// on a turnstile: blocks are handed out in ascending order.
type visit func(worker, i int, b *csr.Block) error

// eachBlock reads every block once, in file order, and calls fn on each.
// turns are the turnstiles fn may wait on; they are opened for good when the pass fails.
func (m *Matrix) eachBlock(ctx context.Context, turns []*turnstile, fn visit) error {
	start := time.Now()
	m.fetch.Store(0)
	defer func() {
		wait := time.Duration(m.fetch.Load() / int64(m.plan.Workers))
		m.wait += wait
		m.multiply += max(0, time.Since(start)-wait)
	}()
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if m.plan.Workers == 1 {
		return m.eachInTurn(ctx, fn)
	}
	return m.eachInParallel(ctx, turns, fn)
}

// eachInTurn is a pass on the caller's goroutine.
func (m *Matrix) eachInTurn(ctx context.Context, fn visit) error {
	scratch := new(csr.Block)
	for i := range m.plan.Blocks {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b, err := m.block(i, scratch)
		if err != nil {
			return err
		}
		if err := fn(0, i, b); err != nil {
			return err
		}
		scratch = trimmed(scratch)
	}
	return nil
}

func (m *Matrix) eachInParallel(ctx context.Context, turns []*turnstile, fn visit) error {
	g, gctx := errgroup.WithContext(ctx)
	for _, t := range turns {
		defer context.AfterFunc(gctx, t.abandon)()
	}
	queue := &blockQueue{m: m, window: semaphore.NewWeighted(m.plan.Window), ahead: newReadAhead(m.src)}
	if first := m.firstRead(); first < m.plan.Blocks {
		g.Go(func() error {
			queue.ahead.run(gctx, first, m.plan.Blocks)
			return nil
		})
	}
	for worker := range m.plan.Workers {
		g.Go(func() error {
			scratch := new(csr.Block)
			for {
				i, release, err := queue.take(gctx)
				if err != nil || i < 0 {
					return err
				}
				b, err := m.block(i, scratch)
				if err == nil {
					err = fn(worker, i, b)
				}
				release()
				if err != nil {
					return err
				}
				scratch = trimmed(scratch)
			}
		})
	}
	err := g.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx) // a cancelled pass must never look like a finished or a failed one
	}
	return err
}

// blockQueue hands out blocks in order while their decoded size fits the window.
type blockQueue struct {
	m      *Matrix
	window *semaphore.Weighted
	ahead  *readAhead
	mu     sync.Mutex
	next   int
}

// take returns the next block, or −1 after the last, and what to call when its
// scratch is free again. The room is taken under the lock so that an earlier
// block never waits for a later one: with turnstiles that would be a deadlock.
func (q *blockQueue) take(ctx context.Context) (int, func(), error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return 0, nil, context.Cause(ctx)
	}
	if q.next == q.m.plan.Blocks {
		return -1, nil, nil
	}
	i := q.next
	size := min(decodedBytes(q.m.src, i), q.m.plan.Window)
	if err := q.window.Acquire(ctx, size); err != nil {
		return 0, nil, context.Cause(ctx)
	}
	q.next++
	q.ahead.handOut(i)
	return i, func() { q.window.Release(size) }, nil
}

// block returns block i decoded: the resident copy, or one read into scratch
// (and kept, if the plan keeps it).
func (m *Matrix) block(i int, scratch *csr.Block) (*csr.Block, error) {
	keep := i < len(m.resident)
	if keep {
		if b := m.resident[i]; b != nil {
			return b, nil
		}
		scratch = new(csr.Block) // of exactly the right size, not grown for a larger block
	}
	start := time.Now()
	if err := m.src.DecodeBlock(i, scratch); err != nil {
		return nil, err
	}
	m.src.ReleaseBlock(i)
	m.fetch.Add(int64(time.Since(start)))
	m.bytesRead.Add(m.src.Block(i).Size)
	if keep {
		m.resident[i] = scratch
	}
	return scratch, nil
}

// firstRead is the first block that is not resident.
func (m *Matrix) firstRead() int {
	for i, b := range m.resident {
		if b == nil {
			return i
		}
	}
	return len(m.resident)
}

// trimmed drops scratch that one unusually long row has made large, so that
// not every worker ends up holding a copy of the largest block.
func trimmed(b *csr.Block) *csr.Block {
	if b.NNZ() > 2*csr.BlockNNZ {
		return new(csr.Block)
	}
	return b
}

// turnstile lets numbers through in ascending order in each of several lanes:
// i passes lane i mod lanes after i−lanes has left it.
type turnstile struct {
	mu        sync.Mutex
	moved     sync.Cond
	next      []int
	abandoned atomic.Bool
}

func newTurnstile(lanes int) *turnstile {
	t := &turnstile{next: make([]int, lanes)}
	t.moved.L = &t.mu
	for i := range t.next {
		t.next[i] = i
	}
	return t
}

// enter waits for i's turn. It reports false if the pass has failed meanwhile.
func (t *turnstile) enter(i int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	lane := i % len(t.next)
	for t.next[lane] != i && !t.abandoned.Load() {
		t.moved.Wait()
	}
	return !t.abandoned.Load()
}

// leave lets the next of i's lane in.
func (t *turnstile) leave(i int) {
	t.mu.Lock()
	t.next[i%len(t.next)] += len(t.next)
	t.mu.Unlock()
	t.moved.Broadcast()
}

// abandon wakes all who wait, for good.
func (t *turnstile) abandon() {
	t.mu.Lock()
	t.abandoned.Store(true)
	t.mu.Unlock()
	t.moved.Broadcast()
}
