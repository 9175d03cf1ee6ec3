package parallel

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDo: the caller is worker 0, nobody is called twice, and nobody is at work when Do
// has returned.
func TestDo(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, most + 3} {
		for range 50 {
			calls := make([]int, max(n, 1))
			Do(n, func(worker int) {
				runtime.Gosched()
				calls[worker]++ // the race detector sees whether Do waits
			})
			if calls[0] != 1 || slices.Max(calls) > 1 {
				t.Fatalf("%d workers were called %v times", n, calls)
			}
		}
	}
}

// TestDoHelps: a helper that is awaited comes.
func TestDoHelps(t *testing.T) {
	for range 20 {
		var helped sync.WaitGroup
		helped.Add(3)
		Do(4, func(worker int) {
			if worker > 0 {
				helped.Done()
			} else {
				helped.Wait()
			}
		})
	}
}

// TestEach: every part is done once, whoever does it, when calls overlap and nest.
func TestEach(t *testing.T) {
	var callers sync.WaitGroup
	for _, n := range []int{1, 2, 3, 8} {
		callers.Go(func() {
			for _, parts := range []int{0, 1, 2, 5, 16, 97} {
				for range 20 {
					done := make([]int, parts)
					var inside atomic.Int64
					Each(n, parts, func(worker, part int) {
						if worker < 0 || worker >= n {
							t.Errorf("worker %d of %d", worker, n)
						}
						done[part]++
						Each(2, 3, func(int, int) { inside.Add(1) })
					})
					for part, times := range done {
						if times != 1 {
							t.Errorf("%d workers did part %d of %d %d times", n, part, parts, times)
						}
					}
					if inside.Load() != int64(3*parts) {
						t.Errorf("%d of %d parts inside of parts", inside.Load(), 3*parts)
					}
				}
			}
		})
	}
	callers.Wait()
}

// TestHelpersEnd: nobody stays when there is nothing to do.
func TestHelpersEnd(t *testing.T) {
	for range 10 {
		Each(4, 100, func(int, int) {})
		time.Sleep(linger / 2) // for some they are still there, for others not
	}
	for runtime.NumGoroutine() > 2 { // the test's, and that of the tests
		time.Sleep(linger)
	}
	for i := range idle {
		if idle[i].Load() != nil {
			t.Errorf("helper %d is said to wait", i)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	for b.Loop() {
		Do(2, func(int) {})
	}
}
