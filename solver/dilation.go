package solver

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// dilated is the operator H = [0 A; Aᵀ 0] of order N+n: the dilation trick of
// the paper (after its theorem on k-SVD). Vectors are pairs (u; v), the long
// half first.
//
// The paper calls H semidefinite, which it is not: its eigenvalues are ±σ. Yet
// gradient descent converges as on a semidefinite operator: the component of
// −σ is multiplied by 1 − η − ησ/σ₁ in a step, which lies between 1−2η and 1−η.
// The methods with momentum build on the same steps. The power method needs a
// shift; see shifted.
type dilated struct {
	a       Matrix
	rows, n int
}

var _ Operator = (*dilated)(nil)

func newDilated(a Matrix) (*dilated, error) {
	i := a.Info()
	if i.Rows > int64(math.MaxInt-i.Cols) {
		return nil, fmt.Errorf("use the dilation of order %d + %d: %w", i.Rows, i.Cols, ErrOperator)
	}
	return &dilated{a: a, rows: int(i.Rows), n: i.Cols}, nil
}

func (h *dilated) Dim() int       { return h.rows + h.n }
func (h *dilated) long() int      { return h.rows }
func (h *dilated) matrix() Matrix { return h.a }

func (h *dilated) Apply(ctx context.Context, dst, x *mat.Dense) error {
	n, l := x.Dims()
	half := func(m *mat.Dense, from, to int) *mat.Dense { return m.Slice(from, to, 0, l).(*mat.Dense) }
	_, err := h.a.Run(ctx, Pass{
		X: half(x, h.rows, n), RowsIn: Rows{Block: half(x, 0, h.rows)},
		RowsOut: Rows{Block: half(dst, 0, h.rows)}, Sum: half(dst, h.rows, n),
	})
	return err
}

// lower makes a search in the dilation one in the Gram operator, for the right
// halves of the vectors it has found. All k of them must be there.
func (f *factorisation) lower() {
	h, ok := f.op.(*dilated)
	if !ok {
		return
	}
	pairs := f.locked
	f.op, f.linear, f.n = gram{f.a}, false, h.n
	f.locked = f.arena.NewBasis(f.n, f.s.Rank)
	for i := range pairs.Len {
		v := f.locked.Next()
		f.arena.CopyVector(v, pairs.Vector(i)[h.long():])
		f.extend(v)
		f.locked.Push()
		f.values[i] *= math.Abs(f.values[i])
	}
	f.lambda1 *= f.lambda1
	f.noise, f.warm = 0, nil
	f.s.Deflation = Projected
	f.deflate(Projected)
}
