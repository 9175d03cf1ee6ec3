package tallskinny

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/mat"
)

// Arena allocates the tall blocks of one run, n×k numbers in memory or in the Space of
// the run, and runs the loops over their rows.
//
// Arithmetic does not see where a block lies, and so the bits are the same. With a
// Space what is in memory is kept small: a loop says which blocks it goes over (uses);
// a window of rows ahead of it is fetched in those blocks and no others, and when it has
// passed a window it is evicted from the memory of the process.
//
// A nil Arena is ordinary memory and all processors. Its methods are safe for
// concurrent use, those of different runs on one Space too.
type Arena struct {
	ctx     context.Context // of the run; nil if it cannot be cancelled
	space   Space           // nil is ordinary memory
	Threads int             // of a loop over rows; 0 means GOMAXPROCS

	change sync.Mutex
	table  atomic.Pointer[[]tallBlock] // replaced, never changed

	Read, Written atomic.Int64 // bytes of blocks in the space that loops have gone over

	Saving bool // loops go to their end although the context has ended: what they read is being saved

	Watch func()    // called about once a second by loops over blocks in the space; may be nil
	Told  time.Time // when it was
}

// tell calls watch if it is time. It runs on the goroutine of the run.
func (a *Arena) tell() {
	const every = time.Second
	if a.Outside() && a.Watch != nil && time.Since(a.Told) >= every {
		a.Watch()
		a.Told = time.Now()
	}
}

// Interruption is what a loop over blocks in the space panics with when the context of
// the run ends before it does. It goes on until the end of the windows that the workers
// are at; what it was to compute is not there.
type Interruption struct{ err error }

func (i *Interruption) Error() string { return i.err.Error() }

// Unwrap returns the error of the context.
func (i *Interruption) Unwrap() error { return i.err }

func (a *Arena) ended() bool { return a.ctx != nil && !a.Saving && a.ctx.Err() != nil }

func (a *Arena) endEarly() {
	if a.ended() {
		panic(&Interruption{a.ctx.Err()})
	}
}

// UntilEnd runs f and returns the interruption of one of its loops as an error.
func UntilEnd(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Interruption:
			err = p
		default:
			panic(p)
		}
	}()
	return f()
}

// tallBlock is planes of n rows in the space, one after the other.
type tallBlock struct {
	data     []float64
	n, width int
}

// WindowBytes is about what the workers of a loop together have in memory of the
// blocks in a space.
const WindowBytes = 16 << 20

// LeastWindow is the number of rows of a window at least: a page of a vector.
const LeastWindow = 512

// SpaceError is what making a block panics with when a Space has no room.
type SpaceError struct{ err error }

func (e *SpaceError) Error() string { return fmt.Sprintf("make room for vectors: %v", e.err) }

// Unwrap returns the error of the Space.
func (e *SpaceError) Unwrap() error { return e.err }

// NewArena returns an empty arena.
func NewArena(ctx context.Context, s Space, workers int) *Arena {
	return &Arena{ctx: ctx, space: s, Threads: workers}
}

// Outside reports whether blocks lie in a Space.
func (a *Arena) Outside() bool { return a != nil && a.space != nil }

// Blocks are those in the space.
func (a *Arena) Blocks() []tallBlock {
	if a != nil {
		if t := a.table.Load(); t != nil {
			return *t
		}
	}
	return nil
}

// Dense returns an r×c block of zeros.
func (a *Arena) Dense(r, c int) *mat.Dense { return mat.NewDense(r, c, a.Planes(r, c, 1)) }

// Planes returns count blocks of n×width zeros, one after the other.
func (a *Arena) Planes(n, width, count int) []float64 {
	size := n * width * count
	if !a.Outside() || size == 0 {
		return make([]float64, size)
	}
	x, err := a.space.Make(size)
	if err != nil {
		panic(&SpaceError{err})
	}
	a.add(tallBlock{x, n, width})
	return x
}

func (a *Arena) add(b tallBlock) {
	a.change.Lock()
	defer a.change.Unlock()
	t := append(slices.Clone(a.Blocks()), b)
	a.table.Store(&t)
}

// index returns that of the block that begins with x, −1 if there is none.
func (a *Arena) index(x []float64) int {
	return slices.IndexFunc(a.Blocks(), func(b tallBlock) bool {
		return unsafe.SliceData(b.data) == unsafe.SliceData(x)
	})
}

// Release gives a block back that begins where x does; what lies in ordinary
// memory is left to the collector.
func (a *Arena) Release(x []float64) {
	if len(x) == 0 || !a.Outside() {
		return
	}
	a.change.Lock()
	defer a.change.Unlock()
	i := a.index(x)
	if i < 0 {
		return
	}
	b := a.Blocks()[i]
	t := slices.Delete(slices.Clone(a.Blocks()), i, i+1)
	a.table.Store(&t)
	a.space.Free(b.data)
}

// Free gives blocks back that are not needed any more.
func (a *Arena) Free(blocks ...*mat.Dense) {
	for _, b := range blocks {
		if b != nil && !b.IsEmpty() {
			a.Release(b.RawMatrix().Data)
		}
	}
}

// Close gives all blocks back but the one that begins where keep does: that is the
// caller's from now on.
func (a *Arena) Close(keep []float64) {
	a.change.Lock()
	defer a.change.Unlock()
	for _, b := range a.Blocks() {
		if unsafe.SliceData(b.data) != unsafe.SliceData(keep) {
			a.space.Free(b.data)
		}
	}
	a.table.Store(nil)
}

// Moved counts a pass, which reads and writes blocks of those numbers of columns.
func (a *Arena) Moved(n, read, written int) {
	if a.Outside() {
		a.Read.Add(8 * int64(n) * int64(read))
		a.Written.Add(8 * int64(n) * int64(written))
	}
}

// workers is the number of those that a loop over n rows can have.
func (a *Arena) workers(n int) int { return min(Segments(n), MaxSegments, a.Most()) }

// Most is the number of workers of anything.
func (a *Arena) Most() int {
	if a != nil && a.Threads > 0 {
		return a.Threads
	}
	return runtime.GOMAXPROCS(0)
}
