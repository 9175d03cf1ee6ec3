// Package parallel has work done by several goroutines that stay awake for a moment
// when it is done.
//
// What an iteration does for a small matrix, a pass and then sweeps over its vectors,
// takes some tens or hundreds of microseconds at a time, and to wake another
// processor takes about as long: where processors are virtual, a sleeping one has
// been given back. A helper that has nothing to do therefore looks for work for
// another while (linger) before it ends. Nothing waits for a helper that comes too late.
//
// The package is a leaf: passes (package stream) and the work between them (package
// solver) share the same helpers.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// linger is how long a helper looks for work, about as long as it takes to wake one, so
// that in the worst case twice as much is spent; looks is how often it does so before
// it lets other goroutines of its processor run. patience is how long the caller looks
// whether helpers have finished before it falls asleep.
const linger, looks, patience = 100 * time.Microsecond, 64, 25 * time.Microsecond

// Do calls f(0) on the caller's goroutine and f(1) … f(n−1) on others that find the
// time before it returns: one that does not is left out. f is therefore one that takes
// its share of the work from where all do, until there is none. Do
// returns when all calls have. Calls may be concurrent and nested.
//
// A number tends to be the same processor's from one Do to the next.
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

// Each calls f with every part below parts on n workers, each of which has a range of
// neighbouring parts, and helps the others when it has done that.
func Each(n, parts int, f func(worker, part int)) {
	if n = min(n, parts); n <= 1 {
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

// job is what one Do has to do.
type job struct {
	f    func(worker int)
	at   atomic.Int64 // helpers that are at it; less than 0 when it is closed
	over sync.Mutex   // unlocked when the last of them has left a closed one
}

// closed is more than there can be helpers.
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

// helper is a goroutine that waits for another job; there is one at most for each
// number.
type helper struct{ next atomic.Pointer[job] }

// most is the number of helpers that wait.
const most = 256

var idle [most]atomic.Pointer[helper]

// call has a helper do a job.
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

// wait returns the next job, or nil if there is none for long.
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
