package solver

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// epsilon is the distance from 1 to the next larger float64.
const epsilon = 0x1p-52

// column returns the only column of a block that owns its storage.
func column(x *mat.Dense) []float64 { return x.RawMatrix().Data }

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

func (a *Arena) dot(x, y []float64) (sum float64) {
	a.eachTile(len(x), reading(x, y), func(from, to int) { sum += blas64.Dot(vector(x[from:to]), vector(y[from:to])) })
	return sum
}

// norm2 returns ‖x‖, guarded against overflow and underflow.
func (a *Arena) norm2(x []float64) (norm float64) {
	a.eachTile(len(x), reading(x), func(from, to int) {
		part := blas64.Nrm2(vector(x[from:to]))
		if from == 0 {
			norm = part
		} else {
			norm = math.Hypot(norm, part)
		}
	})
	return norm
}

// addScaled sets y += f·x.
func (a *Arena) addScaled(y []float64, f float64, x []float64) {
	a.eachTile(len(x), reading(x, y).writing(y), func(from, to int) { blas64.Axpy(f, vector(x[from:to]), vector(y[from:to])) })
}

// copyVector copies x to dst, of the same length.
func (a *Arena) copyVector(dst, x []float64) {
	a.eachTile(len(x), reading(x).writing(dst), func(from, to int) { copy(dst[from:to], x[from:to]) })
}

// copyColumn copies column j of src, which has as many rows, to dst.
func (a *Arena) copyColumn(dst []float64, src *mat.Dense, j int) { a.columnOf(dst, src.RawMatrix(), j) }

// normalise sets dst = x/‖x‖, or to zero if x is zero.
func (a *Arena) normalise(dst, x []float64) {
	f := 0.0
	if norm := a.norm2(x); norm > 0 {
		f = 1 / norm
	}
	a.eachTile(len(x), reading(x).writing(dst), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f * x[i]
		}
	})
}

// distance returns ‖f·x − g·y‖.
func (a *Arena) distance(x []float64, f float64, y []float64, g float64) float64 {
	sum := 0.0
	a.eachTile(len(x), reading(x, y), func(from, to int) {
		for i := from; i < to; i++ {
			d := f*x[i] - g*y[i]
			sum += d * d
		}
	})
	return math.Sqrt(sum)
}

// ritz returns the Rayleigh quotient and the residual of the direction of x,
// given y = Mx. The difference is formed entry by entry: the difference of the
// squared norms would lose half of the digits.
func (a *Arena) ritz(x, y []float64) Candidate {
	c := Candidate{DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	xx := a.dot(x, x)
	if xx == 0 {
		return c
	}
	c.Value = a.dot(x, y) / xx
	c.Residual = a.distance(y, 1, x, c.Value) / math.Sqrt(xx)
	c.PaperValue = c.Value
	return c
}
