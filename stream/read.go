package stream

import (
	"context"
	"slices"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// reading is the state of a Pass. It reads the matrix once for all columns or, where memory is too small for their sums,
// several times for some columns each. The bits are the same: the sums of a column are formed in one order in all panels,
// and in the lanes of the whole pass.
type reading struct {
	*Matrix
	pass  solver.Pass
	l     int // columns of the pass
	group int // columns of every read but the last, which may have fewer
	lanes int // accumulators of each column; 0 without sums

	strip               // the strip that is being multiplied
	strips  []strip     // of this read
	low     [][]float64 // the r rows of QᵀX, if the matrix has sides
	turn    *sequencer  // orders the calls of RowsIn.Func and RowsOut.Func
	factors *factors    // of R; nil before the last read
	exact   bool        // R is computed by tsqr
	// rows holds A·X of the current segment, from row above on; each strip copies its columns there. nil: there is one
	// strip, or the columns go to RowsOut.Block.
	rows  []float64
	above int64
	// earlier holds A·X of the columns of all reads but the last, an N×group block for each read, if RowsOut or R need
	// them: the last read puts the rows together.
	earlier []float64
}

// strip is a range of columns of X that are multiplied together.
type strip struct {
	first, end int
	x          []float64    // in panels; nil without X
	sums       *accumulator // of these columns; nil without sums
}

func (m *Matrix) run(ctx context.Context, p solver.Pass, l int) error {
	p.RowsIn, p.RowsOut = withoutGaps(p.RowsIn, (*solver.DenseRows).ReadRows), withoutGaps(p.RowsOut, (*solver.DenseRows).WriteRows)
	r := reading{Matrix: m, pass: p, l: l, exact: m.src.Rows() < manyRows*int64(l)}
	if !p.RowsIn.None() && p.RowsOut.None() && p.R == nil {
		r.pass.X = nil // A·X is not needed: Sum is Aᵀ times the rows of RowsIn
	}
	return r.run(ctx)
}

func (r *reading) run(ctx context.Context) error {
	blocks := 0 // blocks of n float64s for each column
	if r.pass.X != nil {
		blocks = 1
	}
	if r.pass.Sum != nil {
		r.lanes = lanes(r.src.Cols(), r.l, r.Matrix.plan.tasks(), r.Matrix.plan.nnz)
		blocks += r.lanes
	}
	if r.sides != nil && r.pass.X != nil {
		r.low = r.projected(ctx, r.pass.X)
	}
	r.group = r.l
	if r.opt.Space != nil {
		r.group = r.plan.columns(r.l, blocks)
	}
	if earlier := (r.l - 1) / r.group * r.group; earlier > 0 && r.wantsRows() {
		y, err := r.opt.Space.Make(int(r.src.Rows()) * earlier)
		if err != nil {
			return err
		}
		r.earlier = y
		defer r.free()
	}
	for first := 0; first < r.l; first += r.group {
		if err := r.read(ctx, first, min(r.l, first+r.group)); err != nil {
			return err
		}
	}
	return nil
}

// free gives earlier back to the Space.
func (r *reading) free() {
	if r.earlier != nil {
		r.opt.Space.Free(r.earlier)
	}
	r.earlier = nil
}

// withoutGaps replaces a block that has gaps between its rows by a function.
func withoutGaps(r solver.Rows, f func(*solver.DenseRows, int64, *mat.Dense) error) solver.Rows {
	if r.Block == nil || r.Block.RawMatrix().Stride == r.Block.RawMatrix().Cols {
		return r
	}
	d := &solver.DenseRows{Dense: r.Block}
	return solver.Rows{Func: func(first int64, rows *mat.Dense) error { return f(d, first, rows) }}
}

func (r *reading) wantsRows() bool { return !r.pass.RowsOut.None() || r.pass.R != nil }
func (r *reading) columns() int    { return r.end - r.first }

// whole reports whether rows of A·X are wanted and this is the last strip of the last read: all their columns are there.
func (r *reading) whole() bool { return r.wantsRows() && r.end == r.l }

func (r *reading) read(ctx context.Context, first, end int) error {
	turns := r.cut(ctx, first, end)
	lanes := max(r.lanes, inOrder)
	if r.pass.RowsIn.Func != nil || r.whole() && r.pass.RowsOut.Func != nil {
		lanes = inOrder
	}
	if r.whole() && r.pass.R != nil {
		r.factors = r.newFactors(r.l, r.exact)
		lanes, turns = inOrder, append(turns, r.factors.turn)
	}
	for from, blocks := 0, r.Matrix.plan.Blocks; ; {
		to := r.segment(from)
		for _, r.strip = range r.strips {
			if err := r.eachTask(ctx, lanes, from, to, turns, r.visit); err != nil {
				return err
			}
		}
		if from = to; from == blocks {
			break
		}
	}
	for _, r.strip = range r.strips {
		if r.lanes > 0 {
			r.unpack(ctx)
		}
	}
	if r.factors != nil && !r.factors.r(r.pass.R) {
		again := reading{Matrix: r.Matrix, pass: solver.Pass{X: r.pass.X, R: r.pass.R}, l: r.l, exact: true}
		r.factors = nil
		r.free() // again takes as much space
		return again.run(ctx)
	}
	return nil
}

// cut divides the columns of a read into strips, and returns the sequencers that their tasks wait on. If the matrix is in
// memory a strip is a panel, which stays in the caches from block to block. The current strip is then the last one.
func (r *reading) cut(ctx context.Context, first, end int) (turns []*sequencer) {
	size := r.info.Cols * kernel.Width(end-first)
	nx := 0
	if r.pass.X != nil {
		nx = size
	}
	x, sums := r.room(nx, size*r.lanes)
	width := end - first
	if nx > 0 && r.pass.RowsIn.None() && r.Matrix.plan.segment > 0 && !slices.Contains(r.resident, nil) {
		width = kernel.MaxPanel
	}
	r.turn, r.strips = newSequencer(1), nil
	turns = append(turns, r.turn)
	for at := first; at < end; at += width {
		r.strip = strip{first: at, end: min(end, at+width)}
		size := r.info.Cols * kernel.Width(r.columns())
		if nx > 0 {
			r.x, x = x[:size], x[size:]
			r.pack(ctx)
		}
		if r.lanes > 0 {
			r.sums, sums = r.accumulator(sums, r.columns(), r.lanes), sums[size*r.lanes:]
			turns = append(turns, r.sums.turns...)
		}
		r.strips = append(r.strips, r.strip)
	}
	return turns
}

// segment returns the end of the blocks, beginning with from, that all strips multiply before they go on.
func (r *reading) segment(from int) (to int) {
	blocks, most := r.Matrix.plan.Blocks, r.Matrix.plan.segment
	if len(r.strips) == 1 || !r.wantsRows() || r.pass.RowsOut.Block != nil {
		return blocks
	}
	r.above = r.src.Block(from).FirstRow
	rows := 0
	for to = from; to < blocks && (to == from || (rows+int(r.src.Block(to).Rows))*r.l <= most); to++ {
		rows += int(r.src.Block(to).Rows)
	}
	r.rows = sized(&r.together, rows*r.l, most)
	return to
}

// pack copies the columns of X in panels (kernel.Pack).
func (r *reading) pack(ctx context.Context) {
	raw := r.pass.X.RawMatrix()
	r.inParallel(raw.Rows, len(r.x), func(first, end int) {
		r.eachWindow(ctx, r.pass.X, first, end, func(from, to int) {
			kernel.Pack(r.x, r.columns(), from, to-from, raw.Data[from*raw.Stride+r.first:], raw.Stride)
			if r.sides != nil && r.sides.e != nil {
				kernel.Scale(r.x, r.columns(), from, r.sides.e[from:to])
			}
		})
	})
}

func (r *reading) unpack(ctx context.Context) {
	raw := r.pass.Sum.RawMatrix()
	r.sums.addLow()
	r.inParallel(raw.Rows, r.lanes*r.columns()*raw.Rows, func(first, end int) {
		r.eachWindow(ctx, r.pass.Sum, first, end, func(from, to int) {
			r.sums.unpack(raw.Data[r.first:], raw.Stride, from, to)
			if r.sides != nil {
				r.sides.columns(raw.Data[r.first:], raw.Stride, r.columns(), from, to, r.sums.low[0])
			}
		})
	})
}
