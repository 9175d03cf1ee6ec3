// Package parallel runs short loops on a pool of goroutines.
//
// The sweeps over the vectors of a small matrix between two passes take tens or
// hundreds of microseconds, and waking another processor takes about as long. A
// goroutine of the pool that has finished its work therefore looks for more during 100 µs
// (linger) before it ends. A call returns without those that begin after its work is done.
//
// The pool belongs to the process, like the scheduler's threads: the sweeps between passes
// (package solver) of all runs use the same goroutines. It has no
// settings and holds nothing but goroutines without work; runs beside one another take them
// from it as they find them.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long a helper looks for work, about as long as it takes to wake one, so
// that in the worst case twice as much is spent; looks is how often it does so before
// it yields its processor to other goroutines. patience is how long the caller looks
// whether helpers have finished before it blocks.
const linger, looks, patience = 100 * time.Microsecond, 64, 25 * time.Microsecond

// Do calls f(0) on the caller's goroutine and f(1) … f(n−1) on others. A call that has not begun
// when f(0) returns is left out, so f must take its work from a queue shared by all calls until
// that is empty. Do returns when all calls have. Calls of Do may be concurrent and nested.
//
// The call with one number tends to run on the same processor from one Do to the next.
func Do(n int, f func(worker int)) {
	if n <= 1 {
		f(0)
		return
	}
	j := &job{f: f}
	j.over.Lock()
	for worker := 1; worker < n; worker++ {
		call(worker, j)
	}
	f(0)
	j.wait()
}

// Each calls f with every part below parts on n workers. Each worker has a range of
// neighbouring parts, and takes parts of the other ranges when it has done its own.
func Each(n, parts int, f func(worker, part int)) {
	n = min(n, parts)
	if n <= 1 {
		for part := range parts {
			f(0, part)
		}
		return
	}
	done := make([]atomic.Int64, n) // parts of each range that are taken
	Do(n, func(worker int) {
		for i := range n {
			r := (worker + i) % n
			from, end := r*parts/n, (r+1)*parts/n
			for part := from + int(done[r].Add(1)) - 1; part < end; part = from + int(done[r].Add(1)) - 1 {
				f(worker, part)
			}
		}
	})
}

type job struct {
	f    func(worker int)
	at   atomic.Int64 // helpers that run f; less than 0 when the job is closed
	over sync.Mutex   // unlocked when the last helper has left a closed job
}

// closed is subtracted from job.at to close the job: more than there can be helpers.
const closed = 1 << 32

// enter reports whether a helper may still begin.
func (j *job) enter() bool {
	for {
		at := j.at.Load()
		if at < 0 {
			return false
		}
		if j.at.CompareAndSwap(at, at+1) {
			return true
		}
	}
}

func (j *job) leave() {
	if j.at.Add(-1) == -closed {
		j.over.Unlock()
	}
}

// wait closes the job, and returns when all helpers have left it.
func (j *job) wait() {
	if j.at.Add(-closed) == -closed {
		return
	}
	for t := time.Now(); time.Since(t) < patience; runtime.Gosched() {
		for range looks {
			if j.at.Load() == -closed {
				return
			}
		}
	}
	j.over.Lock()
}

// helper is a goroutine that waits for another job: at most one for each worker number.
type helper struct{ next atomic.Pointer[job] }

// most bounds the number of helpers that wait.
const most = 256

// idle is the pool: the helper of each number that waits, if there is one.
var idle [most]atomic.Pointer[helper]

// call has a helper do a job: one that waits, or a new one.
func call(worker int, j *job) {
	if worker < most {
		if h := idle[worker].Swap(nil); h != nil {
			h.next.Store(j)
			return
		}
	}
	go help(worker, j)
}

func help(worker int, j *job) {
	for h := new(helper); j != nil; j = h.wait(worker) {
		if j.enter() {
			j.f(worker)
			j.leave()
		}
	}
}

// wait returns the next job, or nil if there is none during linger.
func (h *helper) wait(worker int) *job {
	h.next.Store(nil)
	if worker >= min(most, runtime.GOMAXPROCS(0)) || !idle[worker].CompareAndSwap(nil, h) {
		return nil
	}
	for t := time.Now(); ; runtime.Gosched() {
		for range looks {
			if j := h.next.Load(); j != nil {
				return j
			}
		}
		if time.Since(t) > linger && idle[worker].CompareAndSwap(h, nil) {
			return nil
		}
	}
}
