package stream

import (
	"context"
	"fmt"

	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// Space is where the blocks lie that are given to a Matrix whose memory is too
// small for them, and where it puts its own: see solver.Space. They are gone
// through from the first row to the last, once a pass.
type Space interface {
	// Make returns room for so many numbers, zeros at first.
	Make(numbers int) ([]float64, error)
	// Fetch says that x is gone through next: it may be brought into memory meanwhile.
	Fetch(x []float64)
	// Drop says that x need not stay in memory. Its contents stay.
	Drop(x []float64)
	// Free gives back what Make has returned.
	Free(x []float64)
}

// windowRows is the number of rows of a block in a Space that are in memory at
// the same time.
const windowRows = 1 << 14

// guard runs f and makes an error of a fault of memory that the Space has mapped.
func (m *Matrix) guard(f func() error) error {
	if m.opt.Space == nil {
		return f()
	}
	return vfs.Guard(f)
}

// keep remembers an error for the end of the product.
func (m *Matrix) keep(err error) {
	if err != nil {
		m.fault.CompareAndSwap(nil, &err)
	}
}

// kept returns the error that keep has remembered, and forgets it.
func (m *Matrix) kept() error {
	if err := m.fault.Swap(nil); err != nil {
		return *err
	}
	return nil
}

// eachWindow calls f with the windows of rows [first, end) of x in order: all at once
// without a Space. It ends with the context of the product.
func (m *Matrix) eachWindow(ctx context.Context, x *mat.Dense, first, end int, f func(from, to int)) {
	window := windowRows
	if m.opt.Space == nil {
		window = end - first
	}
	m.soon(x, first, min(end, first+window))
	for from := first; from < end; from += window {
		if ctx.Err() != nil {
			m.keep(context.Cause(ctx))
			return
		}
		to := min(end, from+window)
		m.soon(x, to, min(end, to+window))
		f(from, to)
		m.drop(x, from, to)
	}
}

// soon says that rows of x come next.
func (m *Matrix) soon(x *mat.Dense, from, to int) {
	if s := m.opt.Space; s != nil && from < to {
		raw := x.RawMatrix()
		s.Fetch(raw.Data[from*raw.Stride : (to-1)*raw.Stride+raw.Cols])
	}
}

// drop says that rows of x have been passed.
func (m *Matrix) drop(x *mat.Dense, from, to int) {
	if s := m.opt.Space; s != nil {
		raw := x.RawMatrix()
		s.Drop(raw.Data[from*raw.Stride : (to-1)*raw.Stride+raw.Cols])
	}
}

// columns is a group of columns of a product that take a pass of their own.
type columns struct {
	m          *Matrix
	first, end int // of k
	k          int
	x          [][]float64 // each of them, if they are multiplied, once packed
	sums       []*accumulator
}

// columns prepares a pass over columns [first, end) of k: sums for each, in the
// lanes that all k would have.
func (m *Matrix) columns(first, end, k int) *columns {
	n, p := m.Dim(), m.lanes(k)
	c := &columns{m: m, first: first, end: end, k: k}
	x, sums := m.room((end-first)*n, (end-first)*p*n)
	for j := range end - first {
		c.x = append(c.x, x[j*n:(j+1)*n])
		c.sums = append(c.sums, m.accumulator(sums[j*p*n:(j+1)*p*n], 1, p))
	}
	return c
}

// pack copies the columns of v.
func (c *columns) pack(ctx context.Context, v *mat.Dense) {
	n, raw := c.m.Dim(), v.RawMatrix()
	c.m.inParallel(n, n*len(c.x), func(first, end int) {
		c.m.eachWindow(ctx, v, first, end, func(from, to int) {
			for j, x := range c.x {
				for i := from; i < to; i++ {
					x[i] = raw.Data[i*raw.Stride+c.first+j]
				}
			}
		})
	})
}

// turns are those of all the sums.
func (c *columns) turns() (all []*turnstile) {
	for _, s := range c.sums {
		all = append(all, s.turns...)
	}
	return all
}

// sumInto sets the columns of dst.
func (c *columns) sumInto(ctx context.Context, dst *mat.Dense) {
	raw := dst.RawMatrix()
	c.m.inParallel(raw.Rows, raw.Rows*len(c.sums), func(first, end int) {
		c.m.eachWindow(ctx, dst, first, end, func(from, to int) {
			for j, s := range c.sums {
				s.unpack(raw.Data[c.first+j:], raw.Stride, from, to)
			}
		})
	})
}

// projectByColumns is Project in several reads, with the same bits. All but the
// last leave their columns of W in the Space, where the last finds them.
func (m *Matrix) projectByColumns(ctx context.Context, v *mat.Dense, sink func(first int64, rows *mat.Dense) error) (atw, r *mat.Dense, err error) {
	_, k := v.Dims()
	group, rows := min(k, m.plan.Group), m.Rows()
	earlier := (k - 1) / group * group
	data, err := m.opt.Space.Make(m.Dim() * k)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			m.opt.Space.Free(data)
		}
	}()
	atw = mat.NewDense(m.Dim(), k, data)
	var w []float64
	if earlier > 0 {
		if w, err = m.opt.Space.Make(int(rows) * earlier); err != nil {
			return nil, nil, err
		}
		defer m.opt.Space.Free(w)
	}
	for first := 0; first < earlier; first += group {
		c := m.columns(first, first+group, k)
		c.pack(ctx, v)
		err = m.eachUnit(ctx, len(c.sums[0].lane), c.turns(), func(worker int, u *unit) error {
			b := &u.block
			for j := range c.x {
				at := (int64(first+j))*rows + b.FirstRow
				part := w[at : at+int64(b.Rows())]
				if err := c.multiply(worker, u, j, part); err != nil {
					return err
				}
				m.passed(part)
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
		c.sumInto(ctx, atw)
	}
	if r, err = m.projectLast(ctx, v, w, atw, sink); err == nil {
		err = m.kept()
	}
	return atw, r, err
}

// applyByColumns is Apply in several reads, of so many columns each, with the same
// bits.
func (m *Matrix) applyByColumns(ctx context.Context, dst, x *mat.Dense, group int) error {
	_, l := x.Dims()
	for first := 0; first < l; first += group {
		c := m.columns(first, min(l, first+group), l)
		c.pack(ctx, x)
		err := m.eachUnit(ctx, len(c.sums[0].lane), c.turns(), func(worker int, u *unit) error {
			b := &u.block
			w := m.column(worker, b.Rows())
			for j := range c.x {
				if err := c.multiply(worker, u, j, w); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("multiply by the Gram matrix: %w", err)
		}
		c.sumInto(ctx, dst)
	}
	return m.kept()
}

// multiply sets w to the rows of column j of W and adds their share of AᵀW.
func (c *columns) multiply(worker int, u *unit, j int, w []float64) error {
	kernel.MulColumn(w, c.x[j], c.first+j, c.k, rowsOf(&u.block))
	return c.sums[j].transposed(worker, u, w)
}

// projectLast multiplies the last columns and puts the rows of W together, earlier
// being the other columns of it, one after the other.
func (m *Matrix) projectLast(ctx context.Context, v *mat.Dense, earlier []float64, atw *mat.Dense, sink func(first int64, rows *mat.Dense) error) (*mat.Dense, error) {
	_, k := v.Dims()
	rows := m.Rows()
	c := m.columns(len(earlier)/int(rows), k, k)
	factors, out := m.newFactors(k), newOrdered(m, k, sink)
	c.pack(ctx, v)
	err := m.eachUnit(ctx, inOrder, append(c.turns(), factors.turn, out.turn), func(worker int, u *unit) error {
		b := &u.block
		w := out.buffer(worker, b.Rows())
		for j := range c.first {
			at := int64(j)*rows + b.FirstRow
			part := earlier[at : at+int64(b.Rows())]
			m.opt.Space.Fetch(part)
			setColumn(w, j, k, part)
			m.passed(part)
		}
		column := m.column(worker, b.Rows())
		for j := range c.x {
			if err := c.multiply(worker, u, j, column); err != nil {
				return err
			}
			setColumn(w, c.first+j, k, column)
		}
		if err := factors.add(worker, u.i, w); err != nil {
			return err
		}
		return out.hand(u.i, b.FirstRow, w)
	})
	if err != nil {
		return nil, err
	}
	c.sumInto(ctx, atw)
	return factors.total.r(), nil
}

func setColumn(w []float64, j, k int, column []float64) {
	for i, v := range column {
		w[i*k+j] = v
	}
}

// passed says that all of x has been passed.
func (m *Matrix) passed(x []float64) {
	if m.opt.Space != nil {
		m.opt.Space.Drop(x)
	}
}

// mulTransByColumns is MulTrans in several reads, with the same bits: each asks
// for all rows of Y.
func (m *Matrix) mulTransByColumns(ctx context.Context, k int, source func(first int64, rows *mat.Dense) error) (_ *mat.Dense, err error) {
	data, err := m.opt.Space.Make(m.Dim() * k)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			m.opt.Space.Free(data)
		}
	}()
	dst := mat.NewDense(m.Dim(), k, data)
	group := min(k, m.plan.Group)
	for first := 0; first < k; first += group {
		c, in := m.columns(first, min(k, first+group), k), newOrdered(m, k, source)
		err = m.eachUnit(ctx, inOrder, append(c.turns(), in.turn), func(worker int, u *unit) error {
			b := &u.block
			w := in.buffer(worker, b.Rows())
			if err := in.hand(u.i, b.FirstRow, w); err != nil {
				return err
			}
			column := m.column(worker, b.Rows())
			for j, s := range c.sums {
				for r := range column {
					column[r] = w[r*k+first+j]
				}
				if err := s.transposed(worker, u, column); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("multiply by the transpose: %w", err)
		}
		c.sumInto(ctx, dst)
	}
	return dst, m.kept()
}
