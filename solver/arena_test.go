package solver

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// heap is an arena whose blocks lie in ordinary memory.
var heap *tallskinny.Arena

// recorder is a Space that records the evicted ranges as offsets in its blocks.
type recorder struct {
	blocks  [][]float64
	fetched [][3]int // block, from, to
	dropped [][3]int
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

func (r *recorder) Fetch(x []float64) {
	i, at := r.find(x)
	r.fetched = append(r.fetched, [3]int{i, at, at + len(x)})
}

func (r *recorder) Evict(x []float64) {
	i, at := r.find(x)
	r.dropped = append(r.dropped, [3]int{i, at, at + len(x)})
}

func (r *recorder) Err() error { return nil }

func (r *recorder) Free(x []float64) {
	i, _ := r.find(x)
	r.freed = append(r.freed, i)
}

// TestArenaWindows checks that a loop fetches and evicts its rows in exactly the planes that it
// reads or writes, once in each.
func TestArenaWindows(t *testing.T) {
	var r recorder
	a, other := tallskinny.NewArena(t.Context(), &r, 0), tallskinny.NewArena(t.Context(), &r, 0)
	wide, planes := a.Dense(10, 3), a.Planes(10, 1, 3)
	a.Dense(10, 2)
	other.Dense(10, 1)
	column := tallskinny.ColumnsFrom(wide.RawMatrix(), 1)
	u := tallskinny.Reads(column, wide.RawMatrix()).Read(tallskinny.Single(make([]float64, 10))).Writing(planes[10:20]).Writes(tallskinny.ColumnsOf(column, 1))
	w := a.Over(10, u)
	w.Fetch(4, 6)
	w.Evict(4, 6)
	if want := [][3]int{{0, 12, 18}, {1, 14, 16}}; !slices.Equal(r.dropped, want) || !slices.Equal(r.fetched, want) {
		t.Errorf("fetched %v, dropped %v, want %v", r.fetched, r.dropped, want)
	}
	if read, written := a.Read.Load(), a.Written.Load(); read != 8*10*3 || written != 8*10*(1+3) {
		t.Errorf("%d bytes read, %d written", read, written)
	}
	if w := a.Over(10, tallskinny.Reads(tallskinny.Single(make([]float64, 10)))); w.Rows(1, 1) != 0 {
		t.Error("what lies in memory has a window")
	}
	a.Release(planes[10:]) // the slice does not begin at the first element of the block
	a.Release(make([]float64, 5))
	a.Release(nil)
	other.Release(planes)
	if len(r.freed) > 0 {
		t.Errorf("given back: %v", r.freed)
	}
	a.Release(planes[:3])
	if !slices.Equal(r.freed, []int{1}) {
		t.Errorf("given back: %v", r.freed)
	}
}

// TestArenaClose checks that Close frees the blocks of its own arena except those it is given to keep.
func TestArenaClose(t *testing.T) {
	var r recorder
	a, other := tallskinny.NewArena(t.Context(), &r, 0), tallskinny.NewArena(t.Context(), &r, 0)
	a.Planes(10, 1, 1)
	b := a.Planes(10, 1, 1)
	other.Planes(10, 1, 1)
	a.Close(b)
	if !slices.Equal(r.freed, []int{0}) || len(a.Blocks()) > 0 {
		t.Errorf("given back: %v", r.freed)
	}
}

func TestNoRoom(t *testing.T) {
	a := tallskinny.NewArena(t.Context(), &recorder{full: true}, 0)
	err := a.Guarded(func() (*mat.Dense, error) { return a.Dense(10, 1), nil })
	if !errors.As(err, new(*tallskinny.SpaceError)) || !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

// TestWindow checks that windows shrink as the number of columns grows, down to LeastWindow rows.
func TestWindow(t *testing.T) {
	const n = 1 << 20
	a := tallskinny.NewArena(t.Context(), &recorder{}, 0)
	one, nine := a.Dense(n, 1).RawMatrix(), a.Dense(n, 9).RawMatrix()
	rows, ten := a.Over(n, tallskinny.Reads(one)).Rows(128, 2), a.Over(n, tallskinny.Reads(one, nine)).Rows(128, 2)
	if rows != tallskinny.WindowBytes/16/2 || ten != rows/10/128*128 || a.Over(n, tallskinny.Reads(one)).Rows(128, 1<<20) != tallskinny.LeastWindow {
		t.Errorf("windows of %d and %d rows", rows, ten)
	}
}

// TestArenaTells checks that long loops over blocks in a Space call Watch on the goroutine of the
// run, at most about once a second, and that loops over ordinary memory never call it.
func TestArenaTells(t *testing.T) {
	const n = 1 << 17
	for _, space := range []Space{nil, &quiet{}} {
		told := 0
		a := tallskinny.NewArena(t.Context(), space, 2)
		a.Watch = func() { told++ }
		x := a.Dense(n, 1)
		for _, loop := range []func(){
			func() { a.Norm2(tallskinny.Column(x)) },
			func() {
				var own sync.Once // the second worker waits until worker 0 has had a part
				begun := make(chan struct{})
				a.Sweep(n, tallskinny.ChunkRows, n, tallskinny.Reads(x.RawMatrix()), func(worker, _, _, _ int) {
					if worker == 0 {
						own.Do(func() { close(begun) })
					}
					<-begun
				})
			},
		} {
			told, a.Told = 0, time.Time{}
			loop()
			if (told > 0) != (space != nil) || a.Told.IsZero() != (space == nil) {
				t.Errorf("told %d times of a loop with space %v, last at %v", told, space, a.Told)
			}
			told, a.Told = 0, time.Now().Add(time.Hour) // within a second of any moment of the loop
			loop()
			if told > 0 {
				t.Errorf("told again %d times within a second", told)
			}
		}
	}
}

// quiet is a Space that keeps no record.
type quiet struct{}

func (quiet) Make(n int) ([]float64, error) { return make([]float64, n), nil }
func (quiet) Fetch([]float64)               {}
func (quiet) Evict([]float64)               {}
func (quiet) Free([]float64)                {}
func (quiet) Err() error                    { return nil }
