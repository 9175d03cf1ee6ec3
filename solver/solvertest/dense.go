package solvertest

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// Dense is a solver.Matrix in memory: the plainest correct one, to test methods
// with and to compare other implementations against.
type Dense struct {
	A *mat.Dense
	// Passes counts the passes begun.
	Passes int
	// Hook, unless nil, is called twice in every pass, before and between the
	// halves of it, with the number of the pass from 1. An error ends the
	// pass.
	Hook func(pass int) error
	// Chunk is the number of rows per call of a sink or source; 0 means 7.
	Chunk int

	scaled   *mat.Dense // 2^−exponent·A
	exponent int
}

var (
	_ solver.Matrix     = (*Dense)(nil)
	_ solver.Dilator    = (*Dense)(nil)
	_ solver.Multiplier = (*Dense)(nil)
)

// NewDense returns a as a solver.Matrix; a is not copied unless its norm is very
// large or small.
func NewDense(a *mat.Dense) *Dense {
	d := &Dense{A: a, scaled: a}
	if _, e := math.Frexp(mat.Norm(a, 2)); e < -100 || e > 100 {
		d.exponent, d.scaled = e&^1, mat.DenseCopyOf(a)
		d.scaled.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, -d.exponent) }, a)
	}
	return d
}

// Dim returns the number of columns.
func (d *Dense) Dim() int { _, n := d.A.Dims(); return n }

// Rows returns the number of rows.
func (d *Dense) Rows() int64 { n, _ := d.A.Dims(); return int64(n) }

// Exponent implements solver.Matrix: 0 for a norm from 2⁻¹⁰⁰ to 2¹⁰⁰.
func (d *Dense) Exponent() int { return d.exponent }

// Norm implements solver.Matrix.
func (d *Dense) Norm() float64 { return mat.Norm(d.scaled, 2) }

// Apply sets dst = AᵀA·x.
func (d *Dense) Apply(ctx context.Context, dst, x *mat.Dense) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	w := d.product(x)
	if err := d.half(ctx); err != nil {
		return err
	}
	multiply(dst, blas.Trans, d.scaled, w)
	return nil
}

// Project implements solver.Matrix.
func (d *Dense) Project(ctx context.Context, v *mat.Dense, sink func(int64, *mat.Dense) error) (atw, r *mat.Dense, err error) {
	if err := d.begin(ctx); err != nil {
		return nil, nil, err
	}
	n, k := v.Dims()
	w := d.product(v)
	if sink != nil {
		if err := d.chunks(w, sink); err != nil {
			return nil, nil, err
		}
	}
	if err := d.half(ctx); err != nil {
		return nil, nil, err
	}
	atw = mat.NewDense(n, k, nil)
	multiply(atw, blas.Trans, d.scaled, w)
	var qr mat.QR
	var full mat.Dense
	qr.Factorize(w)
	qr.RTo(&full)
	return atw, mat.DenseCopyOf(full.Slice(0, k, 0, k)), nil
}

// MulTrans implements solver.Matrix.
func (d *Dense) MulTrans(ctx context.Context, k int, source func(int64, *mat.Dense) error) (*mat.Dense, error) {
	if err := d.begin(ctx); err != nil {
		return nil, err
	}
	y := mat.NewDense(int(d.Rows()), k, nil)
	if err := d.chunks(y, source); err != nil {
		return nil, err
	}
	if err := d.half(ctx); err != nil {
		return nil, err
	}
	out := mat.NewDense(d.Dim(), k, nil)
	multiply(out, blas.Trans, d.scaled, y)
	return out, nil
}

// ApplyDilation implements solver.Dilator.
func (d *Dense) ApplyDilation(ctx context.Context, dstLong, dstShort, long, short *mat.Dense) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	multiply(dstLong, blas.NoTrans, d.scaled, short)
	if err := d.half(ctx); err != nil {
		return err
	}
	multiply(dstShort, blas.Trans, d.scaled, long)
	return nil
}

// Mul implements solver.Multiplier.
func (d *Dense) Mul(ctx context.Context, x *mat.Dense, sink func(int64, *mat.Dense) error) error {
	if err := d.begin(ctx); err != nil {
		return err
	}
	w := d.product(x)
	if err := d.half(ctx); err != nil {
		return err
	}
	return d.chunks(w, sink)
}

func (d *Dense) begin(ctx context.Context) error {
	d.Passes++
	return d.half(ctx)
}

func (d *Dense) half(ctx context.Context) error {
	if d.Hook != nil {
		if err := d.Hook(d.Passes); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *Dense) product(x *mat.Dense) *mat.Dense {
	_, k := x.Dims()
	w := mat.NewDense(int(d.Rows()), k, nil)
	multiply(w, blas.NoTrans, d.scaled, x)
	return w
}

// chunks calls f with consecutive rows of w.
func (d *Dense) chunks(w *mat.Dense, f func(int64, *mat.Dense) error) error {
	rows, k := w.Dims()
	step := d.Chunk
	if step == 0 {
		step = 7
	}
	for at := 0; at < rows; at += step {
		if err := f(int64(at), w.Slice(at, min(at+step, rows), 0, k).(*mat.Dense)); err != nil {
			return err
		}
	}
	return nil
}

// multiply sets dst = op(a)·x.
func multiply(dst *mat.Dense, t blas.Transpose, a, x *mat.Dense) {
	xr, dr := x.RawMatrix(), dst.RawMatrix()
	if xr.Cols == 1 {
		blas64.Gemv(t, 1, a.RawMatrix(), blas64.Vector{N: xr.Rows, Inc: xr.Stride, Data: xr.Data},
			0, blas64.Vector{N: dr.Rows, Inc: dr.Stride, Data: dr.Data})
		return
	}
	blas64.Gemm(t, blas.NoTrans, 1, a.RawMatrix(), xr, 0, dr)
}

// Singular returns all min(N,n) singular values of a, descending, by LAPACK's
// dense method as gonum has it.
func Singular(a *mat.Dense) []float64 {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		panic("solvertest: dense SVD failed")
	}
	return svd.Values(nil)
}
