package parallel

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestEach checks that every part is done exactly once, also when calls overlap and nest.
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
