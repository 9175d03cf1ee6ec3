package recommend

import (
	"math"
	"slices"
)

// Item is a column (or, of a search for rows, a row) and its score.
type Item struct {
	Index uint32
	Score float64
}

// top keeps the first n Items of all it is offered, by before: a heap whose root is the last of them.
type top struct {
	items []Item  // of capacity n
	from  float64 // the length of what the query was made of, if it is known
	grid  float64 // scores are the same whose nearest multiples of it are; 0: that are equal
}

// newHeaps returns what makes some empty heaps of n Items each, in memory that is used again.
func newHeaps(n int) func(count int) []top {
	var heaps []top
	var items []Item
	return func(count int) []top {
		if len(heaps) < count {
			heaps, items = make([]top, count), make([]Item, count*n)
		}
		for i := range count {
			heaps[i] = top{items: items[i*n : i*n : (i+1)*n]}
		}
		return heaps[:count]
	}
}

// tie is the grid of scores, relative to the length of what they are made of: scores that differ by the rounding of the
// vectors, as those that are 0 by the definition do, are a tie on every machine.
const tie = 0x1p-36

// place is a score as far as it counts.
func (t *top) place(score float64) float64 {
	if t.grid == 0 {
		return score
	}
	return math.Round(score / t.grid)
}

// before puts the larger score first and, of a tie, the smaller number.
func (t *top) before(a, b Item) bool {
	if math.Abs(a.Score-b.Score) > t.grid {
		return a.Score > b.Score
	}
	x, y := t.place(a.Score), t.place(b.Score)
	return x > y || x == y && a.Index < b.Index
}

// least is a score below which no Item is kept.
func (t *top) least() float64 {
	if len(t.items) < cap(t.items) {
		return math.Inf(-1)
	}
	return t.items[0].Score - t.grid
}

// takes tells whether an Item would be kept.
func (t *top) takes(x Item) bool {
	return len(t.items) < cap(t.items) || t.before(x, t.items[0])
}

// add keeps an Item that is taken.
func (t *top) add(x Item) {
	if len(t.items) < cap(t.items) {
		t.items = append(t.items, x)
		for i := len(t.items) - 1; i > 0; {
			up := (i - 1) / 2
			if !t.before(t.items[up], t.items[i]) {
				return
			}
			t.items[i], t.items[up] = t.items[up], t.items[i]
			i = up
		}
		return
	}
	n, i := len(t.items), 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if down+1 < n && t.before(t.items[down], t.items[down+1]) {
			down++
		}
		if t.before(t.items[down], x) {
			break
		}
		t.items[i] = t.items[down]
		i = down
	}
	t.items[i] = x
}

// sort puts the Items in order; nothing may be added after it.
func (t *top) sort() {
	slices.SortFunc(t.items, func(a, b Item) int {
		if t.before(a, b) {
			return -1
		}
		return 1 // no two are equal
	})
}
