package tallskinny

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Epsilon is the distance from 1 to the next larger float64.
const Epsilon = 0x1p-52

// FloorFactor·ε·‖M‖ bounds the error of a product with M and a unit vector: below it
// neither a residual nor a product means anything.
const FloorFactor = 4

// Column returns the only column of a block that owns its storage.
func Column(x *mat.Dense) []float64 { return x.RawMatrix().Data }

func Vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func (a *Arena) Dot(x, y []float64) (sum float64) {
	a.EachTile(len(x), Reading(x, y), func(from, to int) { sum += blas64.Dot(Vector(x[from:to]), Vector(y[from:to])) })
	return sum
}

// Norm2 returns ‖x‖, guarded against overflow and underflow.
func (a *Arena) Norm2(x []float64) (norm float64) {
	a.EachTile(len(x), Reading(x), func(from, to int) {
		part := blas64.Nrm2(Vector(x[from:to]))
		if from == 0 {
			norm = part
		} else {
			norm = math.Hypot(norm, part)
		}
	})
	return norm
}

// AddScaled sets y += f·x.
func (a *Arena) AddScaled(y []float64, f float64, x []float64) {
	a.EachTile(len(x), Reading(x, y).Writing(y), func(from, to int) { blas64.Axpy(f, Vector(x[from:to]), Vector(y[from:to])) })
}

// CopyVector copies x to dst, of the same length.
func (a *Arena) CopyVector(dst, x []float64) {
	a.EachTile(len(x), Reading(x).Writing(dst), func(from, to int) { copy(dst[from:to], x[from:to]) })
}

// CopyColumn copies column j of src, which has as many rows, to dst.
func (a *Arena) CopyColumn(dst []float64, src *mat.Dense, j int) { a.ColumnOf(dst, src.RawMatrix(), j) }

// Normalise sets dst = x/‖x‖, or to zero if x is zero.
func (a *Arena) Normalise(dst, x []float64) {
	f := 0.0
	if norm := a.Norm2(x); norm > 0 {
		f = 1 / norm
	}
	a.EachTile(len(x), Reading(x).Writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f * x[i]
		}
	})
}

// Distance returns ‖f·x − g·y‖.
func (a *Arena) Distance(x []float64, f float64, y []float64, g float64) float64 {
	sum := 0.0
	a.EachTile(len(x), Reading(x, y), func(from, to int) {
		for i := from; i < to; i++ {
			d := f*x[i] - g*y[i]
			sum += d * d
		}
	})
	return math.Sqrt(sum)
}

// Combine sets dst = f·x + g·y.
func (a *Arena) Combine(dst []float64, f float64, x []float64, g float64, y []float64) {
	a.EachTile(len(x), Reading(x, y).Writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f*x[i] + g*y[i]
		}
	})
}

// Shorten multiplies a vector that is so long or short that its norm, or the
// inverse of it, is no float64, by a power of two. It returns the norm from before.
func (a *Arena) Shorten(x []float64) (norm float64) {
	norm = a.Norm2(x)
	_, e := math.Frexp(norm)
	if math.IsInf(norm, 0) {
		e = 1024
	}
	if -500 <= e && e <= 500 {
		return norm
	}
	a.EachTile(len(x), Reading(x).Writing(x), func(from, to int) {
		for i := from; i < to; i++ {
			x[i] = math.Ldexp(x[i], -e)
		}
	})
	return norm
}

// Multiply sets dst = β·dst + α·op(a)·x, by the faster routine for one column.
func Multiply(dst blas64.General, alpha float64, t blas.Transpose, a, x blas64.General, beta float64) {
	if x.Cols == 1 {
		column := func(g blas64.General) blas64.Vector {
			return blas64.Vector{N: g.Rows, Inc: g.Stride, Data: g.Data}
		}
		blas64.Gemv(t, alpha, a, column(x), beta, column(dst))
		return
	}
	blas64.Gemm(t, blas.NoTrans, alpha, a, x, beta, dst)
}
