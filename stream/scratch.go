package stream

import (
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// The buffers of passes are allocated once, at their largest size, and used again by every pass. A slice that grew would
// leave garbage of its own size, for which a plan has no room, until the collector comes: late, on a loaded machine.

// scratch holds the buffers of one worker.
type scratch struct {
	block  *csr.Block // the last block it decoded
	w      []float64  // products of the rows of a task
	z      []float64  // rows of RowsIn of a task
	part   []float64  // some columns of w or z
	sides  []float64  // rows of D and P of the block
	scaled []float64  // D times rows of a task
	cuts   []uint32   // where the entries of each row begin and end in a stripe
}

// sized returns *s with length n, its contents undefined, and room for most.
func sized[T any](s *[]T, n, most int) []T {
	if cap(*s) < n {
		*s = nil // the old slice is not held beside the new one
		*s = make([]T, max(n, most))
	}
	return (*s)[:n]
}

// products returns the worker's buffer for rows×l products.
func (m *Matrix) products(worker, rows, l int) []float64 {
	return sized(&m.scratch[worker].w, rows*l, m.plan.rows*max(m.opt.Width, m.opt.Rank))
}

// rowsIn returns the worker's buffer for a task's rows of RowsIn: in a pass without X, which has no products, that of
// products.
func (r *reading) rowsIn(worker, rows, l int) []float64 {
	if r.x == nil {
		return r.products(worker, rows, l)
	}
	return sized(&r.scratch[worker].z, rows*l, r.plan.rows*l)
}

// RowsInMemory returns the bytes that a pass with X and RowsIn.Func takes beyond the Plan: the rows of RowsIn of the
// blocks in flight.
func RowsInMemory(src Source, workers, columns int) int64 {
	return 8 * int64(workers) * src.MaxBlock().Rows * int64(columns)
}

// part returns the worker's buffer for some columns of products, of the given number of float64s.
func (m *Matrix) part(worker, numbers int) []float64 {
	return sized(&m.scratch[worker].part, numbers, m.plan.rows*m.plan.most)
}

// line is the number of float64s in a line of the processor's caches.
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

// Inherit takes over the vectors of from, a Matrix with the same columns that runs no more passes, and frees its buffers.
func (m *Matrix) Inherit(from *Matrix) {
	m.vectors, from.vectors, from.factors = from.vectors, nil, nil
	clear(from.scratch)
}
