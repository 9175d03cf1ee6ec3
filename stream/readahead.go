package stream

import (
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/internal/readahead"
)

// readAhead has blocks brought into memory, in spans, before they are decoded,
// so that the disk works while all workers compute. The workers themselves
// begin the reads, each when it has given back a span: a goroutine for that
// would have to wait until a worker lets it have its processor.
type readAhead struct {
	src     Source
	room    int // most spans in memory
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
	left     int // have not been decoded
}

func newReadAhead(src Source, room, first int) *readAhead {
	a := &readAhead{src: src, room: room, next: first, end: src.NumBlocks()}
	a.moved.L = &a.mu
	a.stopped = src.MaxBlock().Size == 0 // there is nothing to be read
	return a
}

// spanEnd is the end of the span that begins with a block: as many of the shard
// as fit, one at least.
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

// need returns when there is room for block i and its read has begun, or the pass
// has been stopped. Blocks are needed about in order: none waits to be needed while
// one that was handed out after it waits to be done.
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

// advance begins to read what there is room for. A block larger than a span is left
// for the worker that needs it, which has memory for it.
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

// close gives back what a failed pass has left. It is called after the last worker has returned.
func (a *readAhead) close() {
	for _, s := range a.spans {
		a.src.Release(s.from, s.to)
	}
	a.spans = nil
}
