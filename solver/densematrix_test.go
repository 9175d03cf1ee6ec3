package solver_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

// denseMatrix is a solver.Matrix in memory, a simple reference for tests of methods.
type denseMatrix struct {
	A *mat.Dense
	// Passes counts the passes begun.
	Passes int
	// Hook, unless nil, is called twice in every pass, before its first and its second half, with
	// the number of the pass from 1. An error ends the pass.
	Hook func(pass int) error
	// Chunk is the number of rows per call of a function of Rows; 0 means 7.
	Chunk int
	// ID is the ID of Info.
	ID string

	scaled   *mat.Dense // 2^−exponent·A
	exponent int
	norm     float64 // of scaled
}

// defaultChunk is the number of rows for Chunk 0.
const defaultChunk = 7

var _ solver.Matrix = (*denseMatrix)(nil)

// newDense returns a as a solver.Matrix; a is not copied unless its norm is very
// large or small.
func newDense(a *mat.Dense) *denseMatrix {
	d := &denseMatrix{A: a, scaled: a}
	if _, e := math.Frexp(mat.Norm(a, 2)); e < -100 || e > 100 {
		d.exponent, d.scaled = e&^1, mat.DenseCopyOf(a)
		d.scaled.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, -d.exponent) }, a)
	}
	d.norm = mat.Norm(d.scaled, 2)
	return d
}

// failAt returns a Hook by which a pass fails.
func failAt(at int, fault error) func(pass int) error {
	return func(pass int) error {
		if pass == at {
			return fault
		}
		return nil
	}
}

// cancelAt returns a Hook by which a pass calls cancel.
func cancelAt(at int, cancel func()) func(pass int) error {
	return func(pass int) error {
		if pass == at {
			cancel()
		}
		return nil
	}
}

// Info implements solver.Matrix. All entries are stored; Exponent is 0 for a norm from
// 2⁻¹⁰⁰ to 2¹⁰⁰.
func (d *denseMatrix) Info() solver.Info {
	rows, cols := d.A.Dims()
	return solver.Info{
		Rows: int64(rows), Cols: cols, NNZ: int64(rows) * int64(cols),
		Exponent: d.exponent, Norm: d.norm, ID: d.ID,
	}
}

func (d *denseMatrix) Run(ctx context.Context, p solver.Pass) (solver.Cost, error) {
	l := p.Columns(d.Info())
	if err := d.begin(ctx); err != nil {
		return solver.Cost{}, err
	}
	var y *mat.Dense
	if p.X != nil {
		y = d.product(p.X)
	}
	z, err := d.exchange(p, y, l)
	if err != nil {
		return solver.Cost{}, err
	}
	if err := d.half(ctx); err != nil {
		return solver.Cost{}, err
	}
	if p.Sum != nil {
		multiply(p.Sum, blas.Trans, d.scaled, z)
	}
	if p.R != nil {
		factor(p.R, y)
	}
	return solver.Cost{}, nil
}

// exchange hands the rows of y to RowsOut and returns the rows of RowsIn, or y if p has no RowsIn.
func (d *denseMatrix) exchange(p solver.Pass, y *mat.Dense, l int) (z *mat.Dense, err error) {
	n, _ := d.A.Dims()
	z = y
	if p.RowsIn.Func != nil {
		z = mat.NewDense(n, l, nil)
	} else if p.RowsIn.Block != nil {
		z = p.RowsIn.Block
	}
	if p.RowsOut.Block != nil {
		p.RowsOut.Block.Copy(y)
	}
	step := d.Chunk
	if step == 0 {
		step = defaultChunk
	}
	for at := 0; at < n; at += step {
		to := min(at+step, n)
		if p.RowsIn.Func != nil {
			err = p.RowsIn.Func(int64(at), rows(z, at, to))
		}
		if err == nil && p.RowsOut.Func != nil {
			err = p.RowsOut.Func(int64(at), rows(y, at, to))
		}
		if err != nil {
			return nil, err
		}
	}
	return z, nil
}

func factor(r, y *mat.Dense) {
	var qr mat.QR
	var full mat.Dense
	n, k := y.Dims()
	if n < k {
		y = mat.DenseCopyOf(y.Grow(k-n, 0))
	}
	qr.Factorize(y)
	qr.RTo(&full)
	r.Copy(full.Slice(0, k, 0, k))
}

func rows(x *mat.Dense, from, to int) *mat.Dense {
	_, k := x.Dims()
	return x.Slice(from, to, 0, k).(*mat.Dense)
}

func (d *denseMatrix) begin(ctx context.Context) error {
	d.Passes++
	return d.half(ctx)
}

func (d *denseMatrix) half(ctx context.Context) error {
	if d.Hook != nil {
		if err := d.Hook(d.Passes); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *denseMatrix) product(x *mat.Dense) *mat.Dense {
	_, k := x.Dims()
	n, _ := d.A.Dims()
	w := mat.NewDense(n, k, nil)
	multiply(w, blas.NoTrans, d.scaled, x)
	return w
}

func multiply(dst *mat.Dense, t blas.Transpose, a, x *mat.Dense) {
	xr, dr := x.RawMatrix(), dst.RawMatrix()
	if xr.Cols == 1 {
		blas64.Gemv(t, 1, a.RawMatrix(), blas64.Vector{N: xr.Rows, Inc: xr.Stride, Data: xr.Data},
			0, blas64.Vector{N: dr.Rows, Inc: dr.Stride, Data: dr.Data})
		return
	}
	blas64.Gemm(t, blas.NoTrans, 1, a.RawMatrix(), xr, 0, dr)
}

// TestDenseMatrix runs CheckMatrix on newDense for every hard case.
func TestDenseMatrix(t *testing.T) {
	for _, c := range hardCases() {
		t.Run(c.Name, func(t *testing.T) { solvertest.CheckMatrix(t, newDense(c.A), c.A) })
	}
}
