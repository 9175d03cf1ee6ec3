package place

import (
	"errors"
	"slices"
	"testing"
)

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

func (r *recorder) Free(x []float64) {
	i, _ := r.find(x)
	r.freed = append(r.freed, i)
}

// A sweep drops its rows in all planes of all blocks of as many rows, and in no others.
func TestPassed(t *testing.T) {
	var r recorder
	defer Forget(&r, nil)
	if Window(10, 1, 1) != 0 {
		t.Error("somebody listens already")
	}
	In(&r, 10, 3, 1)
	two := In(&r, 10, 1, 2)
	In(&r, 20, 1, 1)
	Passed(10, 4, 2)
	if want := [][3]int{{0, 12, 18}, {1, 4, 6}, {1, 14, 16}}; !slices.Equal(r.dropped, want) {
		t.Errorf("dropped %v, want %v", r.dropped, want)
	}
	if Window(10, 1, 1) == 0 || Window(20, 1, 1) == 0 || Window(30, 1, 1) != 0 {
		t.Error("the wrong ones listen")
	}
	if Of(two[3:]) != Space(&r) || Of(make([]float64, 3)) != nil {
		t.Error("blocks are not where they lie")
	}
	Free(two[1:]) // does not begin there
	Free(make([]float64, 5))
	Free(nil)
	if len(r.freed) > 0 {
		t.Errorf("given back: %v", r.freed)
	}
	Free(two[:3])
	if !slices.Equal(r.freed, []int{1}) {
		t.Errorf("given back: %v", r.freed)
	}
}

func TestForget(t *testing.T) {
	var r, other recorder
	a, b := In(&r, 10, 1, 1), In(&r, 10, 1, 1)
	In(&other, 10, 1, 1)
	theirs, _ := r.Make(10)
	Adopt(&r, theirs, 10, 1)
	Adopt(&r, make([]float64, 10), 10, 1)
	Forget(&r, b)
	if !slices.Equal(r.freed, []int{0, 2}) || Of(a) != nil || Of(b) != nil {
		t.Errorf("given back: %v", r.freed)
	}
	Passed(10, 0, 10)
	if len(r.dropped) > 0 || len(other.dropped) != 1 {
		t.Errorf("dropped %v and %v", r.dropped, other.dropped)
	}
	Forget(&other, nil)
	if table.Load() != nil {
		t.Error("the table is not empty")
	}
}

func TestNoRoom(t *testing.T) {
	defer func() {
		var e *Error
		if p, ok := recover().(error); !ok || !errors.As(p, &e) || !errors.Is(p, errFull) {
			t.Errorf("panic with %v", p)
		}
	}()
	In(&recorder{full: true}, 10, 1, 1)
}

// Windows get smaller as blocks get more, and never too small.
func TestWindow(t *testing.T) {
	var r recorder
	defer Forget(&r, nil)
	const n = 1 << 20
	In(&r, n, 1, 1)
	one := Window(n, 128, 2)
	In(&r, n, 9, 1)
	ten := Window(n, 128, 2)
	if one != WindowBytes/8/2 || ten != one/10/128*128 || Window(n, 128, 1<<20) != LeastWindow {
		t.Errorf("windows of %d, %d and %d rows", one, ten, Window(n, 128, 1<<20))
	}
}
