package tallskinny

import (
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/blas/blas64"
)

// uses lists the blocks that a loop over rows reads and writes: their data, or that of planes of them, from the first row
// on.
type uses struct{ in, out [][]float64 }

// Reads returns uses of blocks that are read.
func Reads(x ...blas64.General) uses { return uses{}.Read(x...) }

// Reading returns uses of single vectors that are read.
func Reading(x ...[]float64) uses { return uses{in: x} }

// Read adds blocks that are read.
func (u uses) Read(x ...blas64.General) uses {
	for _, b := range x {
		u.in = append(u.in, b.Data)
	}
	return u
}

// Spans adds spans that are read.
func (u uses) Spans(s ...Span) uses {
	for _, s := range s {
		for _, b := range s {
			u.in = append(u.in, b.X.Data)
		}
	}
	return u
}

// basis adds the vectors of a basis, from row begin on, that are read.
func (u uses) basis(b *Basis, begin int) uses {
	for i := range b.Len {
		u.in = append(u.in, b.Vector(i)[begin:])
	}
	return u
}

// Writes adds blocks that are written.
func (u uses) Writes(x ...blas64.General) uses {
	for _, b := range x {
		u.out = append(u.out, b.Data)
	}
	return u
}

// Writing adds single vectors that are written.
func (u uses) Writing(x ...[]float64) uses {
	u.out = append(u.out, x...)
	return u
}

// plane is rows of width numbers of a block in a Space, row by row.
type plane struct {
	data  []float64
	width int
}

// window holds the planes in a Space that a loop over n rows goes over, of which windows of rows are in memory.
type window struct {
	space  Space
	planes []plane
}

// Over returns the planes of a loop over n rows, and counts the bytes that the loop moves.
func (a *Arena) Over(n int, u uses) window {
	w, read, written := a.Find(n, u)
	if w.space != nil {
		a.Read.Add(8 * int64(n) * read)
		a.Written.Add(8 * int64(n) * written)
	}
	return w
}

// Find returns the planes of a loop over n rows, and the numbers of columns that the loop reads and writes.
func (a *Arena) Find(n int, u uses) (w window, read, written int64) {
	if !a.Outside() {
		return w, 0, 0
	}
	w.space = a.space
	blocks := a.Blocks()
	// add returns the index of the plane that x lies in, −1 if x is not in the space, and whether add has added the plane.
	add := func(x []float64) (i int, added bool) {
		if len(x) == 0 {
			return -1, false
		}
		p := uintptr(unsafe.Pointer(unsafe.SliceData(x)))
		for _, b := range blocks {
			at := int((p - uintptr(unsafe.Pointer(unsafe.SliceData(b.data)))) / 8)
			if uint(at) >= uint(len(b.data)) {
				continue
			}
			// If x begins inside a row the plane begins with that row.
			at -= at % (b.n * b.width) % b.width
			data := b.data[at:][:min(n*b.width, len(b.data)-at)]
			i := slices.IndexFunc(w.planes, func(p plane) bool { return unsafe.SliceData(p.data) == unsafe.SliceData(data) })
			if i >= 0 {
				return i, false
			}
			w.planes = append(w.planes, plane{data, b.width})
			return len(w.planes) - 1, true
		}
		return -1, false
	}
	for _, x := range u.in {
		if i, added := add(x); added {
			read += int64(w.planes[i].width)
		}
	}
	inputs := len(w.planes)
	for _, x := range u.out {
		if i, added := add(x); added || i >= 0 && i < inputs {
			written += int64(w.planes[i].width)
		}
	}
	return w, read, written
}

// Rows returns the number of rows of the window of a worker, a multiple of step; 0: the loop has no planes in the space. Two
// windows of a worker are in memory, its current one and the one that is fetched.
func (w window) Rows(step, workers int) int {
	columns := 0
	for _, p := range w.planes {
		columns += p.width
	}
	if columns == 0 {
		return 0
	}
	rows := max(LeastWindow, WindowBytes/16/workers/columns)
	return max(step, rows/step*step)
}

// Fetch declares that the loop goes over rows [from, to) next.
func (w window) Fetch(from, to int) {
	if from >= to {
		return
	}
	for _, p := range w.planes {
		w.space.Fetch(p.data[from*p.width : min(to*p.width, len(p.data))])
	}
}

// Evict declares that rows [from, to) need not stay in memory.
func (w window) Evict(from, to int) {
	for _, p := range w.planes {
		w.space.Evict(p.data[from*p.width : min(to*p.width, len(p.data))])
	}
}
