package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

func (r *reading) visit(worker int, u *task) error {
	own := r.pass.RowsIn.None() // Sum is of the rows of A·X
	if own && r.x != nil && !r.wantsRows() {
		return r.sums.gram(worker, u, r.x, columnsOf(r.low, r.first, r.end))
	}
	var w, y []float64 // rows of A·X: the columns of this read, and all
	if r.whole() {
		y = r.rowsOut(worker, &u.block)
	}
	if r.x != nil {
		w = r.multiply(worker, u, y)
	}
	if own {
		// Before RowsOut has them, which may change them.
		err := r.add(worker, u, w)
		if err != nil {
			return err
		}
	}
	z, err := r.exchange(worker, u, y)
	if err == nil && !own {
		err = r.add(worker, u, r.some(worker, z))
	}
	if err == nil && r.factors != nil {
		err = r.factors.add(worker, u.i, y)
	}
	r.evict(&u.block)
	return err
}

// add adds the task's share of Aᵀ·W to the sums, if there are any.
func (r *reading) add(worker int, u *task, w []float64) error {
	if r.sums == nil {
		return nil
	}
	return r.sums.transposed(worker, u, w)
}

// multiply computes the columns of this read of a task's rows of A·X and returns them. If
// this read is to have all columns, in y, they are there as well.
func (r *reading) multiply(worker int, u *task, y []float64) []float64 {
	b, l := &u.block, r.columns()
	w := y
	switch {
	case r.earlier != nil && !r.whole():
		w = r.earlierRows(r.first, b)
	case l < r.l || y == nil:
		w = r.part(worker, b.Rows()*l)
	}
	kernel.Mul(w, r.x, l, rowsOf(b))
	u.sides.finish(w, l, columnsOf(r.low, r.first, r.end))
	if l < r.l && y != nil {
		setColumns(y, r.first, r.l, w, l)
	}
	return w
}

func (r *reading) some(worker int, z []float64) []float64 {
	l := r.columns()
	if l == r.l {
		return z
	}
	w := r.part(worker, len(z)/r.l*l)
	for i := range len(z) / r.l {
		copy(w[i*l:(i+1)*l], z[i*r.l+r.first:])
	}
	return w
}

// setColumns copies the row-major block w of width columns to those of y, of stride l, from first on.
func setColumns(y []float64, first, l int, w []float64, width int) {
	for i := range len(w) / width {
		copy(y[i*l+first:], w[i*width:(i+1)*width])
	}
}

// rowsOut is where the rows of A·X of a task go: into RowsOut or into scratch. Columns of
// earlier reads are there already.
func (r *reading) rowsOut(worker int, b *csr.Block) []float64 {
	y := inPlace(r.pass.RowsOut.Block, b)
	if y == nil {
		y = r.products(worker, b.Rows(), r.l)
	}
	for first := 0; r.earlier != nil && first < r.first; first += r.group {
		w := r.earlierRows(first, b)
		if len(w) == 0 {
			continue
		}
		r.opt.Space.Fetch(w)
		setColumns(y, first, r.l, w, r.group)
		r.drop(w)
	}
	return y
}

// earlierRows are those of a task in what the read of the columns from first on has left.
func (r *reading) earlierRows(first int, b *csr.Block) []float64 {
	at := int64(first)*r.src.Rows() + b.FirstRow*int64(r.group)
	return r.earlier[at : at+int64(b.Rows()*r.group)]
}

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
	if r.earlier != nil && !r.whole() {
		r.drop(r.earlierRows(r.first, b))
	}
}
