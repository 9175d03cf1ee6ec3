package solver

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"gonum.org/v1/gonum/mat"
)

// Arena allocates the tall blocks of one run, n×k numbers in memory or in the Space of
// the run, and runs the loops over their rows.
//
// Arithmetic does not see where a block lies, and so the bits are the same. With a
// Space what is in memory is kept small: a loop over rows says after every window
// which rows it has passed, and they leave the memory of the process in all blocks
// of the arena with as many rows. They come back when they are touched.
//
// A nil Arena is ordinary memory and all processors. Its methods are safe for
// concurrent use, those of different runs on one Space too.
type Arena struct {
	ctx     context.Context // of the run; nil if it cannot be cancelled
	space   Space           // nil is ordinary memory
	threads int             // of a loop over rows; 0 means GOMAXPROCS

	change sync.Mutex
	table  atomic.Pointer[[]tallBlock] // replaced, never changed

	read, written atomic.Int64 // bytes of blocks in the space that loops have gone over
}

// tallBlock is planes of n rows in the space, one after the other.
type tallBlock struct {
	data     []float64
	n, width int
}

// windowBytes is about what the workers of a loop together have in memory of the
// blocks in a space.
const windowBytes = 16 << 20

// leastWindow is the number of rows of a window at least: a page of a vector.
const leastWindow = 512

// spaceError is what making a block panics with when a Space has no room.
type spaceError struct{ err error }

func (e *spaceError) Error() string { return fmt.Sprintf("make room for vectors: %v", e.err) }

// Unwrap returns the error of the Space.
func (e *spaceError) Unwrap() error { return e.err }

// newArena returns an empty arena.
func newArena(ctx context.Context, s Space, workers int) *Arena {
	return &Arena{ctx: ctx, space: s, threads: workers}
}

// outside reports whether blocks lie in a Space.
func (a *Arena) outside() bool { return a != nil && a.space != nil }

// blocks are those in the space.
func (a *Arena) blocks() []tallBlock {
	if a != nil {
		if t := a.table.Load(); t != nil {
			return *t
		}
	}
	return nil
}

// Dense returns an r×c block of zeros.
func (a *Arena) Dense(r, c int) *mat.Dense { return mat.NewDense(r, c, a.planes(r, c, 1)) }

// planes returns count blocks of n×width zeros, one after the other.
func (a *Arena) planes(n, width, count int) []float64 {
	size := n * width * count
	if !a.outside() || size == 0 {
		return make([]float64, size)
	}
	x, err := a.space.Make(size)
	if err != nil {
		panic(&spaceError{err})
	}
	a.add(tallBlock{x, n, width})
	return x
}

// adopt takes over a block that the matrix may have made in the same space; what lies
// elsewhere is left alone.
func (a *Arena) adopt(x *mat.Dense) {
	if !a.outside() || x == nil {
		return
	}
	if data := x.RawMatrix().Data; a.space.Holds(data) {
		n, c := x.Dims()
		a.add(tallBlock{data, n, c})
	}
}

func (a *Arena) add(b tallBlock) {
	a.change.Lock()
	defer a.change.Unlock()
	t := append(slices.Clone(a.blocks()), b)
	a.table.Store(&t)
}

// find returns the index of the block that begins with x, −1 if there is none.
func (a *Arena) find(x []float64) int {
	return slices.IndexFunc(a.blocks(), func(b tallBlock) bool {
		return unsafe.SliceData(b.data) == unsafe.SliceData(x)
	})
}

// release gives a block back that begins where x does; what lies in ordinary
// memory is left to the collector.
func (a *Arena) release(x []float64) {
	if len(x) == 0 || !a.outside() {
		return
	}
	a.change.Lock()
	defer a.change.Unlock()
	i := a.find(x)
	if i < 0 {
		return
	}
	b := a.blocks()[i]
	t := slices.Delete(slices.Clone(a.blocks()), i, i+1)
	a.table.Store(&t)
	a.space.Free(b.data)
}

// free gives blocks back that are not needed any more.
func (a *Arena) free(blocks ...*mat.Dense) {
	for _, b := range blocks {
		if b != nil && !b.IsEmpty() {
			a.release(b.RawMatrix().Data)
		}
	}
}

// close gives all blocks back but the one that begins where keep does: that is the
// caller's from now on.
func (a *Arena) close(keep []float64) {
	a.change.Lock()
	defer a.change.Unlock()
	for _, b := range a.blocks() {
		if unsafe.SliceData(b.data) != unsafe.SliceData(keep) {
			a.space.Free(b.data)
		}
	}
	a.table.Store(nil)
}

// window returns after how many rows each of the workers of a loop over blocks of n
// rows says that it has passed them, a multiple of step; 0 if nothing is to be done.
func (a *Arena) window(n, step, workers int) int {
	columns := 0
	for _, b := range a.blocks() {
		if b.n == n {
			columns += len(b.data) / n
		}
	}
	if columns == 0 {
		return 0
	}
	rows := max(leastWindow, windowBytes/8/workers/columns)
	return max(step, rows/step*step)
}

// passed says that a loop over blocks of n rows has passed so many of them.
func (a *Arena) passed(n, first, rows int) {
	for _, b := range a.blocks() {
		if b.n != n {
			continue
		}
		for plane := 0; plane < len(b.data); plane += n * b.width {
			a.space.Drop(b.data[plane+first*b.width:][:rows*b.width])
		}
	}
}

// moved counts a loop over n rows that reads and writes so many columns.
func (a *Arena) moved(n, read, written int) {
	if a.outside() {
		a.read.Add(8 * int64(n) * int64(read))
		a.written.Add(8 * int64(n) * int64(written))
	}
}

// workers is the number of those that a loop over n rows can have.
func (a *Arena) workers(n int) int { return min(segments(n), maxSegments, a.most()) }

// most is the number of workers of anything.
func (a *Arena) most() int {
	if a != nil && a.threads > 0 {
		return a.threads
	}
	return runtime.GOMAXPROCS(0)
}
