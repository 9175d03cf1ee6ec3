// Package place knows where the tall blocks of a run lie: in ordinary memory,
// or in a Space, which is room in files that is mapped into memory.
//
// Arithmetic does not see the difference, and so the bits are the same. What
// there is to be done is to keep the window small: whoever goes through the rows
// of tall blocks says after every stretch which rows it has passed, and they
// leave the memory of the process in all blocks of so many rows. They come back
// when they are touched: to say so too often costs time and nothing else.
//
// The table of blocks belongs to the process, as its address space does. As long
// as it is empty, as it is unless memory is short, Passed costs one load.
package place

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Space is solver.Space.
type Space interface {
	Make(numbers int) ([]float64, error)
	Holds(x []float64) bool
	Drop(x []float64)
	Free(x []float64)
}

// WindowBytes is about what the workers of a sweep together hold of all blocks of
// so many rows.
const WindowBytes = 16 << 20

// LeastWindow is the number of rows of a window at least: a page of a vector.
const LeastWindow = 512

// Error is what In and Beside panic with when a Space has no room.
type Error struct{ Err error }

func (e *Error) Error() string { return fmt.Sprintf("make room for vectors: %v", e.Err) }

// Unwrap returns the error of the Space.
func (e *Error) Unwrap() error { return e.Err }

// block is planes of n rows, one after the other.
type block struct {
	data     []float64
	n, width int
	space    Space
}

func (b block) begin() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b.data))) }

func (b block) holds(p uintptr) bool { return p-b.begin() < uintptr(8*len(b.data)) }

// table is replaced, never changed.
var (
	change sync.Mutex
	table  atomic.Pointer[[]block]
)

func blocks() []block {
	if t := table.Load(); t != nil {
		return *t
	}
	return nil
}

// In returns planes blocks of n×width zeros, one after the other, in a space;
// nil is ordinary memory.
func In(space Space, n, width, planes int) []float64 {
	size := n * width * planes
	if space == nil || size == 0 {
		return make([]float64, size)
	}
	x, err := space.Make(size)
	if err != nil {
		panic(&Error{err})
	}
	add(block{x, n, width, space})
	return x
}

// Adopt takes over a block that somebody else has made in a space; what was not
// made there is left alone.
func Adopt(space Space, x []float64, n, width int) {
	if space.Holds(x) {
		add(block{x, n, width, space})
	}
}

func add(b block) {
	change.Lock()
	defer change.Unlock()
	t := append(slices.Clone(blocks()), b)
	table.Store(&t)
}

// Beside is In for the place where x lies.
func Beside(x []float64, n, width, planes int) []float64 { return In(Of(x), n, width, planes) }

// Of returns the space that x lies in, nil for ordinary memory.
func Of(x []float64) Space {
	if b := find(x); b >= 0 {
		return blocks()[b].space
	}
	return nil
}

// find returns the index of the block that x begins in, −1 if there is none.
func find(x []float64) int {
	p := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
	return slices.IndexFunc(blocks(), func(b block) bool { return b.holds(p) })
}

// Free gives a block back that In or Beside has made; what lies in ordinary
// memory is left to the collector. x may be any part of the block that begins
// where it does.
func Free(x []float64) {
	change.Lock()
	defer change.Unlock()
	i := find(x)
	if len(x) == 0 || i < 0 || unsafe.SliceData(blocks()[i].data) != unsafe.SliceData(x) {
		return
	}
	b := blocks()[i]
	t := slices.Delete(slices.Clone(blocks()), i, i+1)
	if table.Store(&t); len(t) == 0 {
		table.Store(nil)
	}
	b.space.Free(b.data)
}

// Forget gives all blocks of a space back but the one that keep is: that is the
// caller's from now on.
func Forget(space Space, keep []float64) {
	change.Lock()
	defer change.Unlock()
	var rest []block
	for _, b := range blocks() {
		switch {
		case b.space != space:
			rest = append(rest, b)
		case unsafe.SliceData(b.data) != unsafe.SliceData(keep):
			b.space.Free(b.data)
		}
	}
	if table.Store(&rest); len(rest) == 0 {
		table.Store(nil)
	}
}

// Window returns after how many rows each of the workers of a sweep over blocks of n
// rows should say so, a multiple of step; 0 if nobody listens.
func Window(n, step, workers int) int {
	columns := 0
	for _, b := range blocks() {
		if b.n == n {
			columns += len(b.data) / n
		}
	}
	if columns == 0 {
		return 0
	}
	rows := max(LeastWindow, WindowBytes/8/workers/columns)
	return max(step, rows/step*step)
}

// Passed says that a sweep over blocks of n rows has passed so many of them.
func Passed(n, first, rows int) {
	for _, b := range blocks() {
		if b.n != n {
			continue
		}
		for plane := 0; plane < len(b.data); plane += n * b.width {
			b.space.Drop(b.data[plane+first*b.width:][:rows*b.width])
		}
	}
}
