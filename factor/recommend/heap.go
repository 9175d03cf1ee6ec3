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

// before puts the larger score first and, of equal ones, the smaller number.
func before(a, b Item) bool { return a.Score > b.Score || a.Score == b.Score && a.Index < b.Index }

// top keeps the first n Items of all it is offered, by before: a heap whose root is the last of them.
type top struct {
	items []Item // of capacity n
}

// least is the score that an Item must have at least to be kept.
func (t *top) least() float64 {
	if len(t.items) < cap(t.items) {
		return math.Inf(-1)
	}
	return t.items[0].Score
}

// takes tells whether an Item would be kept.
func (t *top) takes(x Item) bool {
	return len(t.items) < cap(t.items) || before(x, t.items[0])
}

// add keeps an Item that is taken.
func (t *top) add(x Item) {
	if len(t.items) < cap(t.items) {
		t.items = append(t.items, x)
		for i := len(t.items) - 1; i > 0; {
			up := (i - 1) / 2
			if !before(t.items[up], t.items[i]) {
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
		if down+1 < n && before(t.items[down], t.items[down+1]) {
			down++
		}
		if before(t.items[down], x) {
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
		if before(a, b) {
			return -1
		}
		return 1 // no two are equal
	})
}
