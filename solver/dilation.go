package solver

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
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

// deflatedDilation takes found pairs w = (u; v)/√2 out of the dilation, with
// −σ and (u; −v)/√2, which are known with them: it is the dilation of the
// deflated A, so what is left after the last pair is zero and no method is
// drawn to the negative end. Projected is the dilation of (I−UUᵀ)A(I−VVᵀ),
// restricted to pairs from the complements as the projected Gram operator is;
// Plain is that of A − UΣVᵀ.
type deflatedDilation struct {
	op     *dilated
	w      *tallskinny.Basis // cut
	values []float64
	rule   Deflation
	coef   []float64 // scratch
}

var _ Operator = (*deflatedDilation)(nil)

func (d *deflatedDilation) Dim() int { return d.op.Dim() }

func (d *deflatedDilation) Apply(ctx context.Context, dst, x *mat.Dense) error {
	if err := d.op.Apply(ctx, dst, x); err != nil || d.w.Len == 0 {
		return err
	}
	n, cut := d.op.Dim(), d.w.Cut
	u, v := d.w.Part(0, cut), d.w.Part(cut, n)
	if d.rule == Plain {
		d.subtract(rows(dst, 0, cut), u, v, rows(x, cut, n))
		d.subtract(rows(dst, cut, n), v, u, rows(x, 0, cut))
		return nil
	}
	d.subtract(rows(dst, 0, cut), u, u, rows(dst, 0, cut))
	d.subtract(rows(dst, cut, n), v, v, rows(dst, cut, n))
	return nil
}

// subtract sets dst −= 2·leftᵀ·(right·x), with Σ in between for Plain. The
// rows of left and right are vectors of norm 1/√2.
func (d *deflatedDilation) subtract(dst, left, right, x blas64.General) {
	if need := d.w.Len * x.Cols; cap(d.coef) < need {
		d.coef = make([]float64, len(d.w.Coef)*x.Cols)
	}
	c := blas64.General{Rows: d.w.Len, Cols: x.Cols, Stride: x.Cols, Data: d.coef[:d.w.Len*x.Cols]}
	tallskinny.Multiply(c, 2, blas.NoTrans, right, x, 0)
	if d.rule == Plain {
		for i := range c.Rows {
			blas64.Scal(d.values[i], tallskinny.Vector(c.Data[i*c.Stride:][:c.Cols]))
		}
	}
	tallskinny.Multiply(dst, -1, blas.Trans, left, c, 1)
}

func rows(x *mat.Dense, from, to int) blas64.General {
	_, l := x.Dims()
	return x.Slice(from, to, 0, l).(*mat.Dense).RawMatrix()
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
		if !f.locked.Orthonormalise(v) {
			f.locked.Random(v, f.s.Seed, streamRight|uint64(i))
		}
		f.locked.Push()
		f.values[i] *= math.Abs(f.values[i])
	}
	f.lambda1 *= f.lambda1
	f.noise, f.warm = 0, nil
	f.s.Deflation = Projected
	f.deflate(Projected)
}
