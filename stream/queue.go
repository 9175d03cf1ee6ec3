package stream

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// queue hands out the work of a pass.
//
// Tasks of blocks that were resident when the pass began come first and one at a time. Each worker stays with one lane
// until no task of the lane is left, so that its sums stay in the worker's cache. The other blocks follow whole and in
// the order of the file, but a block of a lane that a worker is busy with is passed over until the worker has finished.
// Otherwise a worker that loses its processor in the middle of a block would stop all others within a few blocks, and
// they would lose theirs.
type queue struct {
	m       *Matrix
	mu      sync.Mutex
	first   int   // the first block that was not resident
	end     int   // end of the blocks
	next    int   // the next block to hand out whole, besides passed
	passed  []int // blocks passed over, in order
	adding  []int // for each lane: workers that have a whole block of it
	lane    []int // for each lane: the next task to hand out by itself
	workers []int // for each lane: workers that are at it
	at      []int // the lane that each worker is at, or −1
}

// newQueue returns the queue of blocks from … to−1 in a pass with the given number of lanes. If these are not all blocks,
// every block is resident, and there is one lane.
func newQueue(m *Matrix, lanes, from, to int) *queue {
	q := &queue{m: m, first: slices.Index(m.resident, nil), end: to, adding: make([]int, lanes)}
	if q.first < 0 {
		q.first = min(len(m.resident), to)
	} else {
		clear(m.resident[q.first:]) // kept by a pass that failed: read-ahead waits until each later block has been decoded
	}
	q.next = q.first
	q.lane, q.workers, q.at = make([]int, lanes), make([]int, lanes), slices.Repeat([]int{-1}, m.plan.Workers)
	for i := range q.lane {
		q.lane[i] = from*m.plan.parts + i
	}
	return q
}

// batch is tasks from … to−1, all of one block; an empty batch is the end of the work.
type batch struct {
	from, to int
	whole    bool // the tasks are a whole block that was not resident
	shared   bool // another worker is at the same lane
}

func (q *queue) take(ctx context.Context, worker int) (batch, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return batch{}, context.Cause(ctx)
	}
	if k := q.pick(worker); k >= 0 {
		i := q.lane[k]
		q.lane[k] += len(q.lane)
		return batch{from: i, to: i + 1, shared: q.workers[k] > 1}, nil
	}
	return q.takeBlock(), nil
}

// mostPassed bounds the number of blocks passed over. Read-ahead bounds it, too: it has
// no room for blocks far behind a block that waits.
const mostPassed = 256

// takeBlock hands out a whole block: the first one of a lane that no worker is busy with, or else the first one. The
// first of all unfinished blocks can always be handed out: it is in memory (see readAhead), and the worker that made
// its lane busy comes back for it.
func (q *queue) takeBlock() batch {
	free := func(block int) bool { return q.adding[q.laneOf(block)] == 0 }
	if k := slices.IndexFunc(q.passed, free); k >= 0 {
		return q.handOut(k)
	}
	for q.next < q.end && len(q.passed) < mostPassed {
		q.passed = append(q.passed, q.next)
		q.next++
		// Blocks whose tasks belong to several lanes are not passed over, nor are blocks of a single lane.
		if free(q.next-1) || len(q.adding) == 1 || q.m.plan.parts > 1 {
			return q.handOut(len(q.passed) - 1)
		}
	}
	if len(q.passed) == 0 {
		return batch{}
	}
	return q.handOut(0)
}

// handOut hands out block k of those passed over.
func (q *queue) handOut(k int) batch {
	block := q.passed[k]
	q.passed = slices.Delete(q.passed, k, k+1)
	q.adding[q.laneOf(block)]++
	return batch{from: block * q.m.plan.parts, to: (block + 1) * q.m.plan.parts, whole: true}
}

// laneOf is the lane of the first task of a block.
func (q *queue) laneOf(block int) int { return block * q.m.plan.parts % len(q.lane) }

func (q *queue) done(t batch) {
	if !t.whole {
		return
	}
	q.mu.Lock()
	q.adding[q.laneOf(t.from/q.m.plan.parts)]--
	q.mu.Unlock()
}

// pick chooses the lane that a worker goes on with: its own until no task is left there; then a lane with the fewest
// workers and, among these, its home lane, which it has in every pass and whose sums may still be in its cache, or else
// the lane with most tasks left. It returns −1 if no task is left.
func (q *queue) pick(worker int) int {
	end := q.first * q.m.plan.parts
	own := q.at[worker]
	if own >= 0 && q.lane[own] < end {
		return own
	}
	if own >= 0 {
		q.workers[own]--
	}
	home := func(k int) int { return min(1, (len(q.at)+k-worker)%len(q.at)) }
	best := -1
	for k, next := range q.lane {
		if next < end && (best < 0 || cmp.Or(q.workers[k]-q.workers[best], home(k)-home(best), next-q.lane[best]) < 0) {
			best = k
		}
	}
	q.at[worker] = best
	if best >= 0 {
		q.workers[best]++
	}
	return best
}

// spins is the number of times that a worker checks for its turn before it sleeps: some 20 µs. Waking takes several
// times as long, and a turn is often over sooner.
const spins = 200

// sequencer lets numbers through in ascending order in each of several lanes:
// i passes lane i mod lanes after i−lanes has left it.
type sequencer struct {
	next      []atomic.Int64
	abandoned atomic.Bool
	mu        sync.Mutex // held to wait, and to change next and abandoned
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

// open reports whether i may pass, or the pass has failed.
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

// leave lets the next number of i's lane in.
func (t *sequencer) leave(i int) {
	t.mu.Lock()
	t.next[i%len(t.next)].Add(int64(len(t.next)))
	t.mu.Unlock()
	t.moved.Broadcast()
}

// inTurn calls f when it is i's turn, and lets the next number of i's lane in unless f fails.
func (t *sequencer) inTurn(i int, f func() error) error {
	if !t.enter(i) {
		return context.Canceled // the pass has failed; eachTask returns the reason
	}
	err := f()
	if err == nil {
		t.leave(i)
	}
	return err
}

// entered reports whether number 0 has left its lane.
func (t *sequencer) entered() bool { return t.next[0].Load() > 0 }

// abandon wakes all waiting callers, for good.
func (t *sequencer) abandon() {
	t.mu.Lock()
	t.abandoned.Store(true)
	t.mu.Unlock()
	t.moved.Broadcast()
}
