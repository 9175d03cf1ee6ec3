package stream

import (
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/internal/readahead"
)

// readAhead brings blocks into memory, in spans, before they are decoded, so that the disk works while all workers
// compute. The workers begin the reads themselves, each when it releases a span: a goroutine for reading would have to
// wait until a worker gives up its processor.
type readAhead struct {
	src     Source
	room    int // largest number of spans in memory
	end     int
	mu      sync.Mutex
	moved   sync.Cond
	next    int    // the first block of the next span
	spans   []span // in memory or being read, in order
	stopped bool
}

// span is blocks from … to−1.
type span struct {
	from, to int
	left     int // blocks not decoded yet
}

func newReadAhead(src Source, room, first int) *readAhead {
	a := &readAhead{src: src, room: room, next: first, end: src.NumBlocks()}
	a.moved.L = &a.mu
	a.stopped = src.MaxBlock().Size == 0 // there is nothing to be read
	return a
}

// spanEnd returns the end of the span that begins with block from: as many blocks of its shard as fit, at least one.
func spanEnd(src Source, from int) int {
	first := src.Block(from)
	size, to := first.Size, from+1
	for ; to < src.NumBlocks(); to++ {
		b := src.Block(to)
		size += b.Size
		if b.Shard != first.Shard || size > readahead.SpanBytes {
			break
		}
	}
	return to
}

// need returns when there is room for block i and its read has begun, or the pass has been stopped. Blocks are needed
// about in order: no block waits in need while a block that was handed out after it has not called done.
func (a *readAhead) need(i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.advance(); i >= a.next && !a.stopped; {
		if len(a.spans) < a.room {
			a.read()
		} else {
			a.moved.Wait()
		}
	}
}

// advance begins to read as many spans as there is room for. It leaves a block larger than a span to the worker that
// needs it, which has memory for the block.
func (a *readAhead) advance() {
	for !a.stopped && a.next < a.end && len(a.spans) < a.room && a.src.Block(a.next).Size <= readahead.SpanBytes {
		a.read()
	}
}

func (a *readAhead) read() {
	to := spanEnd(a.src, a.next)
	a.src.Prefetch(a.next, to)
	a.spans = append(a.spans, span{from: a.next, to: to, left: to - a.next})
	a.next = to
}

// done says that block i, which has been needed, has been decoded.
func (a *readAhead) done(i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return
	}
	k := slices.IndexFunc(a.spans, func(s span) bool { return s.from <= i && i < s.to })
	a.spans[k].left--
	if a.spans[k].left > 0 {
		return
	}
	a.src.Release(a.spans[k].from, a.spans[k].to)
	a.spans = slices.Delete(a.spans, k, k+1)
	a.advance()
	a.moved.Broadcast()
}

// stop ends all waiting for good.
func (a *readAhead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	a.moved.Broadcast()
}

// close releases the spans that a failed pass has left. It is called after the last worker has returned.
func (a *readAhead) close() {
	for _, s := range a.spans {
		a.src.Release(s.from, s.to)
	}
	a.spans = nil
}
