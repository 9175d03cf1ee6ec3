package stream

import (
	"math/rand/v2"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
)

func streamed(blocks, workers, parts int) *Matrix {
	return &Matrix{plan: Plan{Blocks: blocks, Workers: workers, parts: parts}, scratch: make([]scratch, workers)}
}

func takes(t *testing.T, q *queue, worker int) batch {
	t.Helper()
	return must.Get(q.take(t.Context(), worker))(t)
}

// TestQueuePassesOver checks that a slow worker does not hold up the other, which gets blocks of
// other lanes while these have blocks.
func TestQueuePassesOver(t *testing.T) {
	const blocks, lanes = 40, 4
	q := newQueue(streamed(blocks, 2, 1), lanes, 0, blocks)
	if slow := takes(t, q, 0); slow.from != 0 {
		t.Fatalf("the first block is %d", slow.from)
	}
	for range blocks - blocks/lanes {
		got := takes(t, q, 1)
		if got.from%lanes == 0 {
			t.Fatalf("block %d waits for the slow worker", got.from)
		}
		q.done(got)
	}
	if got := takes(t, q, 1); got.from != lanes {
		t.Errorf("block %d follows, not the first of the slow worker's lane", got.from)
	}
}

// TestQueueOrder checks, for random orders of completion, that each block is handed out once, the
// blocks of a lane in ascending order, and that passes of one lane and passes over parts of blocks
// go through the file in order.
func TestQueueOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		blocks, workers, lanes, parts := 1+rng.IntN(60), 1+rng.IntN(5), 1<<rng.IntN(4), 1+rng.IntN(2)
		q := newQueue(streamed(blocks, workers, parts), lanes, 0, blocks)
		doing := make([]*batch, workers)
		last := make([]int, lanes)
		for i := range last {
			last[i] = -1
		}
		previous, taken := -1, 0
		for taken < blocks {
			w := rng.IntN(workers)
			if doing[w] != nil {
				q.done(*doing[w])
				doing[w] = nil
				continue
			}
			got := takes(t, q, w)
			block, lane := got.from/parts, got.from%lanes
			if got.to-got.from != parts || block <= last[lane] {
				t.Fatalf("%d lanes: tasks %d to %d after block %d", lanes, got.from, got.to, last[lane])
			}
			if (lanes == 1 || parts > 1) && block != previous+1 {
				t.Fatalf("%d lanes, %d parts: block %d after %d", lanes, parts, block, previous)
			}
			last[lane], previous, doing[w] = block, block, &got
			taken++
		}
		for w := range workers {
			if got := takes(t, q, w); got.to != got.from {
				t.Fatalf("there are more than %d blocks: %+v", blocks, got)
			}
		}
	}
}
