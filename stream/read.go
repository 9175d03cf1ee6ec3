package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// reading is one read of the matrix for a Pass: for all of its columns at once or, where
// memory is too small for their sums, for some of them, one by one. The bits are the same:
// a column's sums are formed in the order in which its panel's are, and in the lanes of
// all columns.
type reading struct {
	*Matrix
	pass  solver.Pass
	l     int // columns of the pass
	each  int // columns that are multiplied together: l or 1
	lanes int // accumulators of each column; 0 without sums

	first, end int            // columns of this read
	x          [][]float64    // X in panels, each of some columns of this read
	sums       []*accumulator // likewise
	low        [][]float64    // the r rows of QᵀX, if the matrix has sides
	turn       *sequencer     // of RowsIn.Func and RowsOut.Func
	factors    *factors       // of R, in the last read
	// Columns of A·X of all reads but the last, one after the other, where RowsOut or R
	// want them: the last read puts the rows together.
	earlier []float64
}

// run makes the reads of a pass.
func (m *Matrix) run(ctx context.Context, p solver.Pass, l int) error {
	p.RowsIn, p.RowsOut = withoutGaps(p.RowsIn, (*solver.DenseRows).ReadRows), withoutGaps(p.RowsOut, (*solver.DenseRows).WriteRows)
	r := &reading{Matrix: m, pass: p, l: l, each: l}
	if !p.RowsIn.None() && p.RowsOut.None() && p.R == nil {
		r.pass.X = nil // of no use
	}
	blocks := 0 // of n float64s a column
	if r.pass.X != nil {
		blocks = 1
	}
	if p.Sum != nil {
		r.lanes = m.lanes(l)
		blocks += r.lanes
	}
	if m.sides != nil && r.pass.X != nil {
		r.low = r.projected(ctx, r.pass.X)
	}
	group := l
	if m.opt.Space != nil && kernel.Width(l)*blocks > m.plan.room {
		r.each, group = 1, m.plan.columns(l, blocks)
	}
	if earlier := (l - 1) / group * group; earlier > 0 && r.wantsRows() {
		y, err := m.opt.Space.Make(int(m.src.Rows()) * earlier)
		if err != nil {
			return err
		}
		defer m.opt.Space.Free(y)
		r.earlier = y
	}
	for first := 0; first < l; first += group {
		if err := r.read(ctx, first, min(l, first+group)); err != nil {
			return err
		}
	}
	return nil
}

// withoutGaps makes a function of a block with gaps between its rows.
func withoutGaps(r solver.Rows, f func(*solver.DenseRows, int64, *mat.Dense) error) solver.Rows {
	if r.Block == nil || r.Block.RawMatrix().Stride == r.Block.RawMatrix().Cols {
		return r
	}
	d := &solver.DenseRows{Dense: r.Block}
	return solver.Rows{Func: func(first int64, rows *mat.Dense) error { return f(d, first, rows) }}
}

// wantsRows tells whether rows of A·X are wanted.
func (r *reading) wantsRows() bool { return !r.pass.RowsOut.None() || r.pass.R != nil }

// whole tells whether they are, and this is the last read, which has all their columns.
func (r *reading) whole() bool { return r.wantsRows() && r.end == r.l }

// read makes the read for columns first … end−1.
func (r *reading) read(ctx context.Context, first, end int) error {
	r.first, r.end = first, end
	size, parts := r.info.Cols*kernel.Width(r.each), (end-first)/r.each
	nx, ns := 0, size*parts*r.lanes
	if r.pass.X != nil {
		nx = size * parts
	}
	x, sums := r.room(nx, ns)
	r.x, r.sums = nil, nil
	turns := []*sequencer{newSequencer(1)}
	r.turn = turns[0]
	for j := range parts {
		if nx > 0 {
			r.x = append(r.x, x[j*size:(j+1)*size])
		}
		if ns > 0 {
			s := r.accumulator(sums[j*r.lanes*size:(j+1)*r.lanes*size], r.each, r.lanes)
			r.sums, turns = append(r.sums, s), append(turns, s.turns...)
		}
	}
	lanes := max(r.lanes, inOrder)
	if r.pass.RowsIn.Func != nil || r.whole() && r.pass.RowsOut.Func != nil {
		lanes = inOrder
	}
	if r.whole() && r.pass.R != nil {
		r.factors = r.newFactors(r.l)
		lanes, turns = inOrder, append(turns, r.factors.turn)
	}
	if nx > 0 {
		r.pack(ctx, nx)
	}
	if err := r.eachTask(ctx, lanes, turns, r.visit); err != nil {
		return err
	}
	if ns > 0 {
		r.unpack(ctx, ns)
	}
	if r.factors != nil {
		r.factors.total.r(r.pass.R)
	}
	return nil
}

// pack copies the columns of X in panels (kernel.Pack).
func (r *reading) pack(ctx context.Context, numbers int) {
	raw := r.pass.X.RawMatrix()
	r.inParallel(raw.Rows, numbers, func(first, end int) {
		r.eachWindow(ctx, r.pass.X, first, end, func(from, to int) {
			for j, x := range r.x {
				kernel.Pack(x, r.each, from, to-from, raw.Data[from*raw.Stride+r.first+j*r.each:], raw.Stride)
				if r.sides != nil && r.sides.e != nil {
					kernel.Scale(x, r.each, from, r.sides.e[from:to])
				}
			}
		})
	})
}

// unpack sets the columns of Sum to the sums of the lanes. An empty Sum becomes the
// first lane, which is one panel.
func (r *reading) unpack(ctx context.Context, numbers int) {
	if r.pass.Sum.IsEmpty() {
		r.pass.Sum.SetRawMatrix(blas64.General{Rows: r.info.Cols, Cols: r.l, Stride: r.l, Data: r.sums[0].lane[0]})
	}
	raw := r.pass.Sum.RawMatrix()
	for _, s := range r.sums {
		s.addLow()
	}
	r.inParallel(raw.Rows, numbers, func(first, end int) {
		r.eachWindow(ctx, r.pass.Sum, first, end, func(from, to int) {
			for j, s := range r.sums {
				s.unpack(raw.Data[r.first+j*r.each:], raw.Stride, from, to)
				if r.sides != nil {
					r.sides.columns(raw.Data[r.first+j*r.each:], raw.Stride, r.each, from, to, s.low[0])
				}
			}
		})
	})
}
