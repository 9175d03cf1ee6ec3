package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// visit does what the pass wants of a task.
func (r *reading) visit(worker int, u *task) error {
	own := r.pass.RowsIn.None() // Sum is of the rows of A·X
	if own && r.each == r.l && !r.whole() && r.x != nil {
		return r.sums[0].gram(worker, u, r.x[0], r.low)
	}
	var y []float64
	if r.whole() {
		y = r.rowsOut(worker, &u.block)
	}
	for j := range r.x {
		w := r.multiply(worker, u, j, y)
		if own && r.sums != nil {
			if err := r.sums[j].transposed(worker, u, w); err != nil {
				return err
			}
		}
	}
	z, err := r.exchange(worker, u, y)
	for j := 0; j < len(r.sums) && !own && err == nil; j++ {
		err = r.sums[j].transposed(worker, u, r.columnsOf(worker, j, z))
	}
	if err == nil && r.factors != nil {
		err = r.factors.add(worker, u.i, y)
	}
	r.evict(&u.block)
	return err
}

// multiply computes columns j of this read of the rows of A·X in b and returns them: all
// in y, or one by itself, and in y as well if this read is to have all of them.
func (r *reading) multiply(worker int, u *task, j int, y []float64) []float64 {
	b := &u.block
	if r.each == r.l {
		kernel.Mul(y, r.x[0], r.l, rowsOf(b))
		u.sides.finish(y, r.l, r.low)
		return y
	}
	at, later := r.first+j, r.earlier != nil && !r.whole()
	var w []float64
	if later {
		w = r.earlierRows(at, b)
	} else {
		w = r.column(worker, b.Rows())
	}
	kernel.MulColumn(w, r.x[j], at, r.l, rowsOf(b))
	u.sides.finish(w, 1, columnOf(r.low, at))
	if r.whole() {
		setColumn(y, at, r.l, w)
	}
	return w
}

// columnsOf returns columns j of this read of rows z, all or one by itself.
func (r *reading) columnsOf(worker, j int, z []float64) []float64 {
	if r.each == r.l {
		return z
	}
	w := r.column(worker, len(z)/r.l)
	for i := range w {
		w[i] = z[i*r.l+r.first+j]
	}
	return w
}

func setColumn(y []float64, j, l int, column []float64) {
	for i, v := range column {
		y[i*l+j] = v
	}
}

// rowsOut is where the rows of A·X of a task go: into RowsOut or into scratch. Columns of
// earlier reads are there already.
func (r *reading) rowsOut(worker int, b *csr.Block) []float64 {
	y := inPlace(r.pass.RowsOut.Block, b)
	if y == nil {
		y = r.products(worker, b.Rows(), r.l)
	}
	for j := 0; r.earlier != nil && j < r.first; j++ {
		w := r.earlierRows(j, b)
		r.opt.Space.Fetch(w)
		setColumn(y, j, r.l, w)
		r.drop(w)
	}
	return y
}

// earlierRows are those of a task in column j of what earlier reads have left.
func (r *reading) earlierRows(j int, b *csr.Block) []float64 {
	at := int64(j)*r.src.Rows() + b.FirstRow
	return r.earlier[at : at+int64(b.Rows())]
}

// inPlace is a task's rows of a block, nil without one.
func inPlace(x *mat.Dense, b *csr.Block) []float64 {
	if x == nil {
		return nil
	}
	raw := x.RawMatrix()
	return raw.Data[int(b.FirstRow)*raw.Cols:][:b.Rows()*raw.Cols]
}

// exchange hands a task's rows of A·X to RowsOut and returns those of RowsIn. Functions
// are called in the order of the tasks.
func (r *reading) exchange(worker int, u *task, y []float64) (z []float64, err error) {
	b, in, out := &u.block, r.pass.RowsIn.Func, r.pass.RowsOut.Func
	z = inPlace(r.pass.RowsIn.Block, b)
	if in != nil {
		z = r.rowsIn(worker, b.Rows(), r.l)
	}
	if !r.whole() {
		out = nil
	}
	if in == nil && out == nil {
		return z, nil
	}
	if !r.turn.enter(u.i) {
		return nil, context.Canceled // the pass has failed; eachTask returns the reason
	}
	if b.Rows() > 0 && in != nil {
		err = in(b.FirstRow, mat.NewDense(b.Rows(), r.l, z))
	}
	if b.Rows() > 0 && out != nil && err == nil {
		err = out(b.FirstRow, mat.NewDense(b.Rows(), r.l, y))
	}
	if err == nil {
		r.turn.leave(u.i)
	}
	return z, err
}

// evict says that rows of a task that lie in the Space need not stay in memory.
func (r *reading) evict(b *csr.Block) {
	if r.opt.Space == nil {
		return
	}
	r.drop(inPlace(r.pass.RowsIn.Block, b))
	r.drop(inPlace(r.pass.RowsOut.Block, b))
	for j := r.first; r.earlier != nil && !r.whole() && j < r.end; j++ {
		r.drop(r.earlierRows(j, b))
	}
}
