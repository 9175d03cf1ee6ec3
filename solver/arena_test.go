package solver

import (
	"errors"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// heap is ordinary memory.
var heap *Arena

// recorder is a Space that remembers what was dropped, as offsets in its blocks.
type recorder struct {
	blocks  [][]float64
	dropped [][3]int // block, from, to
	freed   []int
	full    bool
}

var errFull = errors.New("full")

func (r *recorder) Make(n int) ([]float64, error) {
	if r.full {
		return nil, errFull
	}
	r.blocks = append(r.blocks, make([]float64, n))
	return r.blocks[len(r.blocks)-1], nil
}

func (r *recorder) find(x []float64) (block, at int) {
	for i, b := range r.blocks {
		for j := range b {
			if &b[j] == &x[0] {
				return i, j
			}
		}
	}
	return -1, 0
}

func (r *recorder) Holds(x []float64) bool { i, _ := r.find(x); return i >= 0 }

func (r *recorder) Drop(x []float64) {
	i, at := r.find(x)
	r.dropped = append(r.dropped, [3]int{i, at, at + len(x)})
}

func (r *recorder) Err() error { return nil }

func (r *recorder) Free(x []float64) {
	i, _ := r.find(x)
	r.freed = append(r.freed, i)
}

// A loop drops its rows in all planes of all blocks of as many rows of its arena, and
// in no others.
func TestArenaPassed(t *testing.T) {
	var r recorder
	a, other := newArena(t.Context(), &r, 0), newArena(t.Context(), &r, 0)
	if a.window(10, 1, 1) != 0 {
		t.Error("an empty arena has a window")
	}
	a.planes(10, 3, 1)
	two := a.planes(10, 1, 2)
	a.planes(20, 1, 1)
	other.planes(10, 1, 1)
	a.passed(10, 4, 2)
	if want := [][3]int{{0, 12, 18}, {1, 4, 6}, {1, 14, 16}}; !slices.Equal(r.dropped, want) {
		t.Errorf("dropped %v, want %v", r.dropped, want)
	}
	if a.window(10, 1, 1) == 0 || a.window(20, 1, 1) == 0 || a.window(30, 1, 1) != 0 {
		t.Error("the wrong lengths have windows")
	}
	a.release(two[1:]) // does not begin there
	a.release(make([]float64, 5))
	a.release(nil)
	other.release(two)
	if len(r.freed) > 0 {
		t.Errorf("given back: %v", r.freed)
	}
	a.release(two[:3])
	if !slices.Equal(r.freed, []int{1}) {
		t.Errorf("given back: %v", r.freed)
	}
}

// What is closed gives back what is its own, but for what is to stay.
func TestArenaClose(t *testing.T) {
	var r recorder
	a, other := newArena(t.Context(), &r, 0), newArena(t.Context(), &r, 0)
	a.planes(10, 1, 1)
	b := a.planes(10, 1, 1)
	other.planes(10, 1, 1)
	theirs, _ := r.Make(10)
	a.adopt(mat.NewDense(10, 1, theirs))
	a.adopt(mat.NewDense(10, 1, nil))
	a.close(b)
	if !slices.Equal(r.freed, []int{0, 3}) || len(a.blocks()) > 0 {
		t.Errorf("given back: %v", r.freed)
	}
	a.passed(10, 0, 10)
	other.passed(10, 0, 10)
	if len(r.dropped) != 1 {
		t.Errorf("dropped %v", r.dropped)
	}
}

func TestNoRoom(t *testing.T) {
	a := newArena(t.Context(), &recorder{full: true}, 0)
	err := a.guarded(func() (*mat.Dense, error) { return a.Dense(10, 1), nil })
	var e *spaceError
	if !errors.As(err, &e) || !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// Windows get smaller as blocks get more, and never too small.
func TestWindow(t *testing.T) {
	const n = 1 << 20
	a := newArena(t.Context(), &recorder{}, 0)
	a.planes(n, 1, 1)
	one := a.window(n, 128, 2)
	a.planes(n, 9, 1)
	ten := a.window(n, 128, 2)
	if one != windowBytes/8/2 || ten != one/10/128*128 || a.window(n, 128, 1<<20) != leastWindow {
		t.Errorf("windows of %d, %d and %d rows", one, ten, a.window(n, 128, 1<<20))
	}
}
