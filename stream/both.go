package stream

import (
	"context"
	"fmt"

	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// MulBoth computes A·x (N×l, x n×l) and Aᵀ·Y (n×l, Y N×l), which it returns, in one
// pass. each is called with the rows of A·x in ascending order, one call at a time,
// and fills y with the same rows of Y; both are valid during the call only. The blocks
// x and the result are in memory whatever Options.Space says.
func (m *Matrix) MulBoth(ctx context.Context, x *mat.Dense, each func(first int64, ax, y *mat.Dense) error) (*mat.Dense, error) {
	l, err := m.checkWidth("MulBoth", x, m.opt.Rank)
	if err != nil {
		return nil, err
	}
	xs, acc := m.begin(ctx, x)
	turn := newTurnstile(inOrder)
	ys := make([][]float64, m.plan.Workers)
	err = m.eachUnit(ctx, inOrder, append(acc.turns, turn), func(worker int, u *unit) error {
		b := &u.block
		ax, y := m.products(worker, b.Rows(), l), sized(&ys[worker], b.Rows()*l, m.plan.rows*l)
		kernel.Mul(ax, xs, l, rowsOf(b))
		if !turn.enter(u.i) {
			return context.Canceled // the pass has failed; eachUnit returns the reason
		}
		if b.Rows() > 0 {
			if err := each(b.FirstRow, mat.NewDense(b.Rows(), l, ax), mat.NewDense(b.Rows(), l, y)); err != nil {
				return err
			}
		}
		turn.leave(u.i)
		return acc.transposed(worker, u, y)
	})
	if err != nil {
		return nil, fmt.Errorf("multiply by the matrix and its transpose: %w", err)
	}
	dst := mat.NewDense(m.Dim(), l, nil)
	m.sumInto(ctx, dst, acc)
	return dst, m.kept()
}

// BothBuffers is the memory that MulBoth needs beyond the Plan, for so many workers and
// columns: the rows of Y of the blocks in flight.
func BothBuffers(src Source, workers, columns int) int64 {
	return 8 * int64(workers) * src.MaxBlock().Rows * int64(columns)
}
