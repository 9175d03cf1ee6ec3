package stream

import (
	"context"
	"sync/atomic"
)

// readAheadBytes is how far ahead of the workers blocks are brought into memory.
const readAheadBytes = 4 << 20

// readAhead brings blocks into memory shortly before they are handed out, so
// that the disk works while all workers compute, and no worker has to wait for a
// page in the middle of a block. It is only ever a hint: a worker that comes
// first reads the block itself.
type readAhead struct {
	src   Source
	next  atomic.Int64  // the block to be handed out next
	moved chan struct{} // of room for one: next has changed
}

func newReadAhead(src Source) *readAhead {
	return &readAhead{src: src, moved: make(chan struct{}, 1)}
}

// handOut says that block i has been handed out.
func (a *readAhead) handOut(i int) {
	a.next.Store(int64(i) + 1)
	select {
	case a.moved <- struct{}{}:
	default:
	}
}

// run reads blocks from the first to the end, or until ctx is done.
func (a *readAhead) run(ctx context.Context, first, end int) {
	ahead := int64(0) // bytes of the blocks from oldest up to, but without, i
	oldest := first
	for i := first; i < end; i++ {
		size := a.src.Block(i).Size
		for ahead+size > readAheadBytes {
			if next := min(int(a.next.Load()), i); oldest < next {
				ahead -= a.src.Block(oldest).Size
				oldest++
				continue
			}
			if oldest == i {
				break // a block larger than the window, next in turn
			}
			select {
			case <-ctx.Done():
				return
			case <-a.moved:
			}
		}
		ahead += size
		if int(a.next.Load()) <= i {
			a.src.Prefetch(i)
			if int(a.next.Load()) > i {
				// It came late, perhaps after its release: nobody else would release it
				// in this pass.
				a.src.ReleaseBlock(i)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}
