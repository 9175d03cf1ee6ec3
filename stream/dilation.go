package stream

import (
	"context"
	"fmt"

	"github.com/gdsvd/gdsvd/stream/internal/kernel"
	"gonum.org/v1/gonum/mat"
)

// ApplyDilation multiplies by the dilation H = [0 A; Aᵀ 0] in one pass:
// dstLong = A·short (N×l) and dstShort = Aᵀ·long (n×l). No two of the blocks
// may overlap, except that long and short may be the same.
func (m *Matrix) ApplyDilation(ctx context.Context, dstLong, dstShort, long, short *mat.Dense) error {
	l, err := m.checkWidth("ApplyDilation", short, m.opt.Width)
	if err != nil {
		return err
	}
	for _, b := range []struct {
		m    *mat.Dense
		rows int64
	}{{dstLong, m.Rows()}, {dstShort, m.src.Cols()}, {long, m.Rows()}} {
		if r, c := b.m.Dims(); int64(r) != b.rows || c != l {
			panic("stream: ApplyDilation: a block has the wrong shape")
		}
	}
	out := dstLong
	if dstLong.RawMatrix().Stride != l {
		out = mat.NewDense(int(m.Rows()), l, nil)
	}
	ws, ls := contiguous(out), contiguous(long)
	ss, acc := m.begin(ctx, short)
	// The rows of A·short belong to one unit each: no order among workers.
	err = m.eachUnit(ctx, len(acc.lane), acc.turns, func(worker int, u *unit) error {
		b := &u.block
		from, to := int(b.FirstRow)*l, (int(b.FirstRow)+len(b.RowPtr)-1)*l
		kernel.Mul(ws[from:to], ss, l, rowsOf(b))
		err := acc.transposed(worker, u, ls[from:to])
		m.passed(ws[from:to])
		m.passed(ls[from:to])
		return err
	})
	if err != nil {
		return fmt.Errorf("multiply by the dilation: %w", err)
	}
	m.sumInto(ctx, dstShort, acc)
	if out != dstLong {
		dstLong.Copy(out)
	}
	return m.kept()
}
