package stream

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// spins is how often a worker looks whether its turn has come before it falls
// asleep: some 20 µs. To be woken takes several times as long, and a turn
// is often over sooner.
const spins = 200

// sequencer lets numbers through in ascending order in each of several lanes:
// i passes lane i mod lanes after i−lanes has left it.
type sequencer struct {
	next      []atomic.Int64
	abandoned atomic.Bool
	mu        sync.Mutex // held to wait, and to change what is waited for
	moved     sync.Cond
}

func newSequencer(lanes int) *sequencer {
	t := &sequencer{next: make([]atomic.Int64, lanes)}
	t.moved.L = &t.mu
	for i := range t.next {
		t.next[i].Store(int64(i))
	}
	return t
}

// open tells whether i may pass, or the pass has failed.
func (t *sequencer) open(i int) bool {
	return t.next[i%len(t.next)].Load() == int64(i) || t.abandoned.Load()
}

// enter waits for i's turn. It reports false if the pass has failed meanwhile.
func (t *sequencer) enter(i int) bool {
	for range spins {
		if t.open(i) {
			return !t.abandoned.Load()
		}
		runtime.Gosched()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.open(i) {
		t.moved.Wait()
	}
	return !t.abandoned.Load()
}

// leave lets the next of i's lane in.
func (t *sequencer) leave(i int) {
	t.mu.Lock()
	t.next[i%len(t.next)].Add(int64(len(t.next)))
	t.mu.Unlock()
	t.moved.Broadcast()
}

// entered tells whether anybody has been let in.
func (t *sequencer) entered() bool { return t.next[0].Load() > 0 }

// abandon wakes all who wait, for good.
func (t *sequencer) abandon() {
	t.mu.Lock()
	t.abandoned.Store(true)
	t.mu.Unlock()
	t.moved.Broadcast()
}
