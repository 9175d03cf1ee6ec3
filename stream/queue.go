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
// Tasks of blocks that were resident when the pass began come first and one at
// a time, each worker staying with one lane as long as it lasts: its sums then
// stay in the worker's cache. The other blocks follow whole and in the order of the
// file, but for those of a lane that a worker is at: they are passed over until it has
// finished. Were they not, a worker that loses its processor in the middle of a block would
// hold up all others within a few blocks, and they would lose theirs.
type queue struct {
	m       *Matrix
	mu      sync.Mutex
	first   int   // the first block that was not resident
	end     int   // of the blocks
	next    int   // the next block to hand out whole, but for
	passed  []int // those passed over, in order
	adding  []int // workers that have a whole block of each lane
	lane    []int // the next task of each lane to hand out by itself
	workers []int // workers that are at each lane
	at      []int // the lane that each worker is at, or −1
}

// newQueue is the queue of the blocks from … to−1 in a pass with the given number of lanes. Unless they are all blocks, all are
// resident, and there is one lane.
func newQueue(m *Matrix, lanes, from, to int) *queue {
	q := &queue{m: m, first: slices.Index(m.resident, nil), end: to, adding: make([]int, lanes)}
	if q.first < 0 {
		q.first = min(len(m.resident), to)
	}
	q.next = q.first
	q.lane, q.workers, q.at = make([]int, lanes), make([]int, lanes), slices.Repeat([]int{-1}, m.plan.Workers)
	for i := range q.lane {
		q.lane[i] = from*m.plan.parts + i
	}
	return q
}

// batch is tasks from … to−1, all of one block; none is the end of the work.
type batch struct {
	from, to int
	whole    bool // a block that was not resident
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

// mostPassed bounds how many blocks are passed over. Read-ahead bounds it, too: it has
// no room for blocks far behind one that waits.
const mostPassed = 256

// takeBlock hands out a block whole: the first of a lane that no worker is at, or else the
// first. The first block of all that are not finished can always be: it is in memory (see
// readAhead), and who made its lane busy comes back for it.
func (q *queue) takeBlock() batch {
	free := func(block int) bool { return q.adding[q.laneOf(block)] == 0 }
	if k := slices.IndexFunc(q.passed, free); k >= 0 {
		return q.handOut(k)
	}
	for q.next < q.end && len(q.passed) < mostPassed {
		q.passed = append(q.passed, q.next)
		q.next++
		// Tasks of one block that belong to several lanes do not leave their order, nor do those of one lane.
		if free(q.next-1) || len(q.adding) == 1 || q.m.plan.parts > 1 {
			return q.handOut(len(q.passed) - 1)
		}
	}
	if len(q.passed) == 0 {
		return batch{}
	}
	return q.handOut(0)
}

// handOut hands out a block that has been passed over.
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

// pick puts a worker at the lane to go on with: its own, while it lasts; then one with
// the fewest workers and, among these, one that it is at in every pass, whose sums may
// still be in its cache, or else one with most left. It returns −1 if nothing is left.
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

// inTurn calls f when it is i's turn, and lets the next of i's lane in unless that fails.
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

// entered tells whether a caller has been let in.
func (t *sequencer) entered() bool { return t.next[0].Load() > 0 }

// abandon wakes all waiting callers, for good.
func (t *sequencer) abandon() {
	t.mu.Lock()
	t.abandoned.Store(true)
	t.mu.Unlock()
	t.moved.Broadcast()
}
