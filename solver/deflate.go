package solver

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// projected is the operator (I−VVᵀ)G(I−VVᵀ) for an orthonormal basis V,
// restricted to the complement of V: recurrences start there and every product
// is projected, so the factor on the right changes nothing and is left out.
// Rounding lets components of size ε·‖x‖ in; the next product is projected
// again, so they do not grow.
type projected struct {
	arena *tallskinny.Arena
	op    Operator
	v     *tallskinny.Basis
	coef  []float64 // scratch
}

var _ Operator = (*projected)(nil)

func (p *projected) Dim() int { return p.op.Dim() }

func (p *projected) Apply(ctx context.Context, dst, x *mat.Dense) error {
	if err := p.op.Apply(ctx, dst, x); err != nil {
		return err
	}
	if p.v.Len == 0 {
		return nil
	}
	c := coefficients(&p.coef, p.v, dst)
	p.v.Subtract(dst.RawMatrix(), 0, p.v.N, c)
	return nil
}

// plain is the operator G − VΛVᵀ of Algorithms 1 and 2, for unit vectors V that
// are as orthogonal as they were found.
type plain struct {
	arena  *tallskinny.Arena
	op     Operator
	v      *tallskinny.Basis
	values []float64 // Λ, one per vector of v
	coef   []float64 // scratch
}

var _ Operator = (*plain)(nil)

func (p *plain) Dim() int { return p.op.Dim() }

func (p *plain) Apply(ctx context.Context, dst, x *mat.Dense) error {
	if err := p.op.Apply(ctx, dst, x); err != nil {
		return err
	}
	if p.v.Len == 0 {
		return nil
	}
	c := coefficients(&p.coef, p.v, x)
	for i := range c.Rows {
		blas64.Scal(p.values[i], blas64.Vector{N: c.Cols, Inc: 1, Data: c.Data[i*c.Stride:]})
	}
	p.v.Subtract(dst.RawMatrix(), 0, p.v.N, c)
	return nil
}

// coefficients returns Vᵀx, len×l, in scratch.
func coefficients(scratch *[]float64, v *tallskinny.Basis, x *mat.Dense) blas64.General {
	_, l := x.Dims()
	if need := v.Len * l; cap(*scratch) < need {
		*scratch = make([]float64, len(v.Coef)*l)
	}
	c := blas64.General{Rows: v.Len, Cols: l, Stride: l, Data: (*scratch)[:v.Len*l]}
	v.Products(c, 1, 0, v.N, x.RawMatrix())
	return c
}
