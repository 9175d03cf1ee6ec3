// Package parallel runs loops over parts on several goroutines.
package parallel

import (
	"sync"
	"sync/atomic"
)

// Each calls f with every part below parts on n workers; worker 0 is the calling goroutine. Each worker has a range of
// neighbouring parts, and takes parts of the other ranges when its own is done. Calls may be concurrent and nested.
func Each(n, parts int, f func(worker, part int)) {
	n = min(n, parts)
	if n <= 1 {
		for part := range parts {
			f(0, part)
		}
		return
	}
	done := make([]atomic.Int64, n) // parts taken from each range
	work := func(worker int) {
		for i := range n {
			r := (worker + i) % n
			from, end := r*parts/n, (r+1)*parts/n
			for part := from + int(done[r].Add(1)) - 1; part < end; part = from + int(done[r].Add(1)) - 1 {
				f(worker, part)
			}
		}
	}
	var others sync.WaitGroup
	for worker := 1; worker < n; worker++ {
		others.Go(func() { work(worker) })
	}
	work(0)
	others.Wait()
}
