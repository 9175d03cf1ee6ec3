package stream

import (
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// What passes work with is allocated once, as large as it gets, and used again by
// every pass. A slice that grew would leave garbage of its own size behind, for which
// a plan has no room, until the collector comes: late, on a loaded machine.

// scratch is what one worker works with.
type scratch struct {
	block  *csr.Block // the last one it decoded
	w      []float64  // products of the rows of a task
	z      []float64  // its rows of RowsIn
	part   []float64  // some columns of them
	sides  []float64  // rows of D and P of the block
	scaled []float64  // D times rows of a task
	cuts   []uint32   // where the entries of each row begin and end in a stripe
}

// sized returns *s with length n, its contents undefined, and room for most.
func sized[T any](s *[]T, n, most int) []T {
	if cap(*s) < n {
		*s = nil // not to be held beside the new one
		*s = make([]T, max(n, most))
	}
	return (*s)[:n]
}

// products is the worker's room for rows×l products.
func (m *Matrix) products(worker, rows, l int) []float64 {
	return sized(&m.scratch[worker].w, rows*l, m.plan.rows*max(m.opt.Width, m.opt.Rank))
}

// rowsIn is the worker's room for a task's rows of RowsIn: in a pass without X that of
// products, of which there are none.
func (r *reading) rowsIn(worker, rows, l int) []float64 {
	if r.x == nil {
		return r.products(worker, rows, l)
	}
	return sized(&r.scratch[worker].z, rows*l, r.plan.rows*l)
}

// RowsInMemory is the memory beyond the Plan of a pass with X and RowsIn.Func, for that number of
// workers and columns: the rows of RowsIn of the blocks in flight.
func RowsInMemory(src Source, workers, columns int) int64 {
	return 8 * int64(workers) * src.MaxBlock().Rows * int64(columns)
}

// part is the worker's room for as many numbers of some columns of products.
func (m *Matrix) part(worker, numbers int) []float64 {
	return sized(&m.scratch[worker].part, numbers, m.plan.rows*m.plan.most)
}

// line is the numbers of a line of the processor's caches.
const line = 8

// room returns memory for x and sums float64s, in panels, which the next
// product uses again.
func (m *Matrix) room(x, sums int) (_, _ []float64) {
	from := (x + line - 1) / line * line
	if cap(m.vectors) < from+sums {
		m.vectors = nil
		m.vectors = make([]float64, max(from+sums, m.plan.numbers))
		memory.PreferHuge(m.vectors)
	}
	all := m.vectors[:from+sums]
	return all[:x:x], all[from:]
}

// Inherit takes over the memory that passes of another Matrix of the same columns have worked with, which makes no more of them.
func (m *Matrix) Inherit(from *Matrix) { m.vectors, from.vectors = from.vectors, nil }
