// Package deflation deflates an operator by the vectors that have been found.
package deflation

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// Operator is a symmetric operator known through products: see solver.Operator.
type Operator interface {
	Dim() int
	Apply(ctx context.Context, dst, x *mat.Dense) error
}

// Deflated is an operator G deflated by the unit vectors V that have been found.
//
// Projected, it is (I−VVᵀ)G(I−VVᵀ) for an orthonormal V, restricted to the complement of V: recurrences start in the
// complement and every product is projected, so the factor on the right changes nothing and is left out. Rounding adds
// components in V of size ε·‖x‖; the next product is projected again, so they do not grow.
//
// Plain, it is G − VΛVᵀ of Algorithms 1 and 2, where V is only as orthogonal as it was found.
//
// From a dilation it removes the pairs σ, (u; v)/√2 that are found, and with them the pairs −σ, (u; −v)/√2. It is the
// dilation of the deflated A: after the last pair it is zero, and no method is drawn to the negative end. Projected, it is
// the dilation of (I−UUᵀ)A(I−VVᵀ), restricted to pairs from the complements; plain, it is the dilation of A − UΣVᵀ.
type Deflated struct {
	Operator
	Found *found.Pairs // V and Λ
	Plain bool         // not projected
	coef  []float64    // scratch
}

// Apply sets dst to the product of the deflated operator with x.
func (d *Deflated) Apply(ctx context.Context, dst, x *mat.Dense) error {
	v := d.Found.Basis
	if err := d.Operator.Apply(ctx, dst, x); err != nil || v.Len == 0 {
		return err
	}
	if v.Cut == 0 {
		d.subtract(dst, x, 0, v.N, 0, v.N)
		return nil
	}
	d.subtract(dst, x, 0, v.Cut, v.Cut, v.N)
	d.subtract(dst, x, v.Cut, v.N, 0, v.Cut)
	return nil
}

// subtract subtracts V·(Vᵀdst) from the rows [begin, end) of dst, or for Plain V·(ΛVᵀx), with the rows [from, to) of x.
func (d *Deflated) subtract(dst, x *mat.Dense, begin, end, from, to int) {
	if !d.Plain {
		x, from, to = dst, begin, end
	}
	l, v := tallskinny.Width(x), d.Found.Basis
	if need := v.Len * l; cap(d.coef) < need {
		d.coef = make([]float64, len(v.Coef)*l)
	}
	c := tallskinny.Zeros(d.coef, v.Len, l)
	part, of := tallskinny.RowsOf(dst.RawMatrix(), begin, end-begin), tallskinny.RowsOf(x.RawMatrix(), from, to-from)
	if v.Cut == 0 {
		v.Products(c, 1, from, to, of)
	} else {
		tallskinny.Multiply(c, 2, blas.NoTrans, v.Part(from, to), of, 0) // 2, because the halves of vectors have norm 1/√2
	}
	if d.Plain {
		for i := range c.Rows {
			blas64.Scal(d.Found.Values[i], tallskinny.Vector(c.Data[i*c.Stride:][:l]))
		}
	}
	if v.Cut == 0 {
		v.Subtract(part, begin, end, c)
	} else {
		tallskinny.Multiply(part, -1, blas.Trans, v.Part(begin, end), c, 1)
	}
}
