package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/internal/fault"
	"gonum.org/v1/gonum/mat"
)

// windowRows is the number of rows of a block in a Space that are in memory at
// the same time.
const windowRows = 1 << 12

// guard runs f, and returns a fault of memory that the Space has mapped as an error.
func (m *Matrix) guard(f func() error) error {
	if m.opt.Space == nil {
		return f()
	}
	return fault.Guard(f)
}

func (m *Matrix) keep(err error) {
	if err != nil {
		m.fault.CompareAndSwap(nil, &err)
	}
}

// kept returns the error that keep has stored, and clears it.
func (m *Matrix) kept() error {
	if err := m.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// eachWindow calls f with the windows of rows [first, end) of x in order: all at once without a Space. It stops when the
// context of the pass is done, or at a fault of memory that x is mapped into, and gives the error to keep.
func (m *Matrix) eachWindow(ctx context.Context, x *mat.Dense, first, end int, f func(from, to int)) {
	window := windowRows
	if m.opt.Space == nil {
		window = end - first
	}
	m.fetchRows(x, first, min(end, first+window))
	for from := first; from < end; from += window {
		if ctx.Err() != nil {
			m.keep(context.Cause(ctx))
			return
		}
		to := min(end, from+window)
		m.fetchRows(x, to, min(end, to+window))
		fault := fault.Guard(func() error {
			f(from, to)
			return nil
		})
		if m.keep(fault); fault != nil {
			return
		}
		m.drop(between(x, from, to))
	}
}

func (m *Matrix) fetchRows(x *mat.Dense, from, to int) {
	if m.opt.Space != nil && from < to {
		m.opt.Space.Fetch(between(x, from, to))
	}
}

func (m *Matrix) drop(x []float64) {
	if m.opt.Space != nil && len(x) > 0 {
		m.opt.Space.Evict(x)
	}
}

// between returns rows from … to−1 of x where they lie, with the gaps between them.
func between(x *mat.Dense, from, to int) []float64 {
	raw := x.RawMatrix()
	return raw.Data[from*raw.Stride : (to-1)*raw.Stride+raw.Cols]
}
