package stream

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// Products as passes.

// rowFunc takes or fills rows of a block.
type rowFunc = func(first int64, rows *mat.Dense) error

// apply sets dst = AᵀA·x.
func (m *Matrix) apply(ctx context.Context, dst, x *mat.Dense) error {
	_, err := m.Run(ctx, solver.Pass{X: x, Sum: dst})
	return err
}

// project returns AᵀA·v and the R factor of A·v, and hands the rows of A·v to sink unless it is nil.
func (m *Matrix) project(ctx context.Context, v *mat.Dense, sink rowFunc) (atw, r *mat.Dense, err error) {
	n, k := v.Dims()
	atw, r = randomDense(1, n, k), randomDense(2, k, k) // to be overwritten
	_, err = m.Run(ctx, solver.Pass{X: v, RowsOut: solver.Rows{Func: sink}, Sum: atw, R: r})
	return atw, r, err
}

// mul hands the rows of A·x to sink.
func (m *Matrix) mul(ctx context.Context, x *mat.Dense, sink rowFunc) error {
	_, err := m.Run(ctx, solver.Pass{X: x, RowsOut: solver.Rows{Func: sink}})
	return err
}

// mulTrans returns Aᵀ·Y for the Y of k columns that source fills.
func (m *Matrix) mulTrans(ctx context.Context, k int, source rowFunc) (*mat.Dense, error) {
	dst := randomDense(3, m.info.Cols, k)
	_, err := m.Run(ctx, solver.Pass{RowsIn: solver.Rows{Func: source}, Sum: dst})
	return dst, err
}

// dilate sets dstLong = A·short and dstShort = Aᵀ·long.
func (m *Matrix) dilate(ctx context.Context, dstLong, dstShort, long, short *mat.Dense) error {
	_, err := m.Run(ctx, solver.Pass{
		X: short, RowsIn: solver.Rows{Block: long}, RowsOut: solver.Rows{Block: dstLong}, Sum: dstShort,
	})
	return err
}

// mulBoth returns Aᵀ·Y: each takes rows of A·x and fills the rows of Y.
func (m *Matrix) mulBoth(ctx context.Context, x *mat.Dense, each func(first int64, ax, y *mat.Dense) error) (*mat.Dense, error) {
	n, l := x.Dims()
	sum := randomDense(4, n, l)
	var in *mat.Dense
	_, err := m.Run(ctx, solver.Pass{
		X: x, Sum: sum,
		RowsIn:  solver.Rows{Func: func(_ int64, rows *mat.Dense) error { in = rows; return nil }},
		RowsOut: solver.Rows{Func: func(first int64, rows *mat.Dense) error { return each(first, rows, in) }},
	})
	return sum, err
}
