package stream

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// queue hands out the work of a pass.
//
// Units of blocks that were resident when the pass began come first and one at
// a time, each worker staying with one lane as long as it lasts: its sums then
// stay in the worker's cache. The other blocks follow whole and in the order of the
// file, while their decoded size fits the window.
type queue struct {
	m       *Matrix
	window  *semaphore.Weighted
	mu      sync.Mutex
	first   int   // the first block that was not resident
	next    int   // the next block to hand out whole
	lane    []int // the next unit of each lane to hand out by itself
	workers []int // workers that are at each lane
	at      []int // the lane that each worker is at, or −1
}

// newQueue is the queue of a pass with so many lanes.
func newQueue(m *Matrix, lanes int) *queue {
	q := &queue{m: m, window: semaphore.NewWeighted(m.plan.Window), first: m.firstRead()}
	q.next = q.first
	q.lane, q.workers, q.at = make([]int, lanes), make([]int, lanes), make([]int, m.plan.Workers)
	for i := range q.lane {
		q.lane[i] = i
	}
	for i := range q.at {
		q.at[i] = -1
	}
	return q
}

// task is units from … to−1, all of one block; none is the end of the work.
type task struct {
	from, to int
	window   int64 // what the block takes of the window
	shared   bool  // another worker is at the same lane
}

// take returns what a worker is to do next.
func (q *queue) take(ctx context.Context, worker int) (task, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if ctx.Err() != nil {
		return task{}, context.Cause(ctx)
	}
	if k := q.pick(worker); k >= 0 {
		i := q.lane[k]
		q.lane[k] += len(q.lane)
		return task{from: i, to: i + 1, shared: q.workers[k] > 1}, nil
	}
	if q.next == q.m.plan.Blocks {
		return task{}, nil
	}
	return q.takeBlock(ctx)
}

// takeBlock hands out the next block. The room is taken under the lock so that
// an earlier block never waits for a later one: with turnstiles that would be a deadlock.
func (q *queue) takeBlock(ctx context.Context) (task, error) {
	i := q.next
	t := task{from: i * q.m.plan.parts, to: (i + 1) * q.m.plan.parts, window: min(decodedBytes(q.m.src, i), q.m.plan.Window)}
	if err := q.window.Acquire(ctx, t.window); err != nil {
		return task{}, context.Cause(ctx)
	}
	q.next++
	return t, nil
}

// done gives back what a task has taken.
func (q *queue) done(t task) {
	if t.window > 0 {
		q.window.Release(t.window)
	}
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
