// Package tallskinny provides the algebra of blocks of n rows and few columns, stored row by row, for the work of a method
// between two passes: products, orthonormalisation (QR), bases of Lanczos processes (Panels) and of found vectors (Basis).
//
// An Arena allocates the blocks of one run, in memory or in a Space of files that are mapped, and runs the loops over their
// rows. Rows are cut into segments, which run in parallel, and these into chunks that stay in the cache while several
// products use them. Both depend on n alone, and sums over rows are added up in order: the bits do not depend on the number
// of workers, nor on where a block is allocated.
package tallskinny

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
)

// Arena allocates the tall blocks of one run, n×k numbers in memory or in the Space of the run, and runs the loops over
// their rows.
//
// Results have the same bits wherever a block is. With a Space only a small part of the blocks is in memory: a loop declares
// the blocks that it goes over (uses); in these blocks a window of rows ahead of the loop is fetched, and a window that the
// loop has passed is evicted from the memory of the process.
//
// A nil Arena stands for ordinary memory and all processors. The methods are safe for concurrent use, also by different runs
// on one Space.
type Arena struct {
	ctx     context.Context // of the run; nil: it cannot be cancelled
	space   Space           // nil is ordinary memory
	Threads int             // goroutines of a loop over rows; 0 means GOMAXPROCS

	change sync.Mutex
	table  atomic.Pointer[[]tallBlock] // blocks in the space; replaced, never changed

	Read, Written atomic.Int64 // bytes of blocks in the space that loops have gone over

	Saving bool // loops do not stop when the context has ended, because their blocks are being saved

	Watch func()    // called about once a second by loops over blocks in the space; may be nil
	Told  time.Time // time of the last call of Watch
}

// tell calls Watch if it is time. It runs on the goroutine of the run.
func (a *Arena) tell() {
	const every = time.Second
	if a.Outside() && a.Watch != nil && time.Since(a.Told) >= every {
		a.Watch()
		a.Told = time.Now()
	}
}

// Interruption is the value that a loop over blocks in the space panics with if the context of the run ends before the loop
// does. The workers first finish their current windows. The result of the loop is incomplete.
type Interruption struct{ err error }

func (i *Interruption) Error() string { return i.err.Error() }
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

// tallBlock is planes of n rows of width numbers in the space, one after the other.
type tallBlock struct {
	data     []float64
	n, width int
}

// WindowBytes is about the number of bytes of blocks in a space that the workers of a loop together have in memory.
const WindowBytes = 16 << 20

// LeastWindow is the least number of rows of a window: a page of a vector.
const LeastWindow = 512

// SpaceError is the value that Planes panics with if the Space has no room.
type SpaceError struct{ err error }

func (e *SpaceError) Error() string { return fmt.Sprintf("make room for vectors: %v", e.err) }
func (e *SpaceError) Unwrap() error { return e.err }

// NewArena returns an empty arena.
func NewArena(ctx context.Context, s Space, workers int) *Arena {
	return &Arena{ctx: ctx, space: s, Threads: workers}
}

// Outside reports whether blocks lie in a Space.
func (a *Arena) Outside() bool { return a != nil && a.space != nil }

// Blocks returns the blocks in the space.
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
	a.change.Lock()
	defer a.change.Unlock()
	a.table.Store(new(append(slices.Clone(a.Blocks()), tallBlock{x, n, width})))
	return x
}

// Release frees the block that begins where x does; a block in ordinary memory is left to the collector.
func (a *Arena) Release(x []float64) {
	if len(x) == 0 || !a.Outside() {
		return
	}
	a.change.Lock()
	defer a.change.Unlock()
	i := slices.IndexFunc(a.Blocks(), func(b tallBlock) bool { return unsafe.SliceData(b.data) == unsafe.SliceData(x) })
	if i < 0 {
		return
	}
	b := a.Blocks()[i]
	a.table.Store(new(slices.Delete(slices.Clone(a.Blocks()), i, i+1)))
	a.space.Free(b.data)
}

// Free frees blocks that are not needed any more.
func (a *Arena) Free(blocks ...*mat.Dense) {
	for _, b := range blocks {
		if b != nil && !b.IsEmpty() {
			a.Release(b.RawMatrix().Data)
		}
	}
}

// Close frees all blocks but the one that begins where keep does, which then belongs to the caller.
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

// Moved counts the bytes of a pass that reads and writes the given numbers of columns of n rows.
func (a *Arena) Moved(n, read, written int) {
	if a.Outside() {
		a.Read.Add(8 * int64(n) * int64(read))
		a.Written.Add(8 * int64(n) * int64(written))
	}
}

// workers returns the largest number of workers of a loop over n rows.
func (a *Arena) workers(n int) int { return min(Segments(n), MaxSegments, a.Most()) }

// Most returns the largest number of workers of any loop.
func (a *Arena) Most() int {
	if a != nil && a.Threads > 0 {
		return a.Threads
	}
	return runtime.GOMAXPROCS(0)
}

// Space is solver.Space.
type Space interface {
	Make(numbers int) ([]float64, error)
	Fetch(x []float64)
	Evict(x []float64)
	Free(x []float64)
	Err() error
}

// TileRows is the number of rows that a loop over vectors passes before it evicts them. Sums are formed tile by tile. More
// rows would not be faster, and the memory of a loop over many vectors is proportional to TileRows.
const TileRows = 1 << 12

// EachTile calls f with the tiles of n rows in order. u lists the blocks that f goes over.
func (a *Arena) EachTile(n int, u uses, f func(from, to int)) {
	over := a.Over(n, u)
	over.Fetch(0, min(n, TileRows))
	for from := 0; from < n; from += TileRows {
		if len(over.planes) > 0 {
			a.endEarly()
		}
		to := min(n, from+TileRows)
		over.Fetch(to, min(n, to+TileRows))
		f(from, to)
		over.Evict(from, to)
		a.tell()
	}
}

func Width(x *mat.Dense) int { _, l := x.Dims(); return l }

// Bytes returns the bytes of count vectors of length n.
func Bytes(n, count int) int64 { return 8 * int64(n) * int64(count) }

// Errors of a run that has panicked.
var (
	ErrFault     = errors.New("memory fault in the vectors of the run")
	ErrBreakdown = errors.New("numerical breakdown")
)

// Breakdown is the value that algorithms panic with on a numerical breakdown; Guarded returns it as an error that wraps
// ErrBreakdown.
type Breakdown string

// Guarded runs f, which returns the vectors to be kept, and frees all other blocks in a Space. It returns panics of a run as
// errors: breakdowns, and with a Space lack of room and faults of mapped memory.
func (a *Arena) Guarded(f func() (*mat.Dense, error)) (err error) {
	var keep *mat.Dense
	attempt := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = broken(p)
			}
		}()
		keep, err = f()
		return err
	}
	if !a.Outside() {
		return attempt()
	}
	defer func() {
		var stays []float64
		if keep != nil && err == nil {
			stays = keep.RawMatrix().Data
		}
		a.Close(stays)
	}()
	err = fault.Guard(attempt)
	if bad := (*fault.Error)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%w: %w", ErrFault, bad)
	}
	if err == nil {
		err = a.space.Err()
	}
	return err
}

// broken returns the error of a breakdown or of a Space without room, and panics again
// with anything else.
func broken(p any) error {
	switch p := p.(type) {
	case *SpaceError:
		return p
	case Breakdown:
		return fmt.Errorf("%s: %w", string(p), ErrBreakdown)
	case eigen.Failure:
		return fmt.Errorf("%w: %w", p, ErrBreakdown)
	}
	panic(p)
}
