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

func dot(x, y []float64) (sum float64) {
	eachTile(len(x), func(from, to int) { sum += blas64.Dot(vector(x[from:to]), vector(y[from:to])) })
	return sum
}

// norm2 returns ‖x‖, guarded against overflow and underflow.
func norm2(x []float64) (norm float64) {
	eachTile(len(x), func(from, to int) {
		part := blas64.Nrm2(vector(x[from:to]))
		if from == 0 {
			norm = part
		} else {
			norm = math.Hypot(norm, part)
		}
	})
	return norm
}

// addScaled sets y += a·x.
func addScaled(y []float64, a float64, x []float64) {
	eachTile(len(x), func(from, to int) { blas64.Axpy(a, vector(x[from:to]), vector(y[from:to])) })
}

// copyVector copies x to dst, of the same length.
func copyVector(dst, x []float64) {
	eachTile(len(x), func(from, to int) { copy(dst[from:to], x[from:to]) })
}

// copyColumn copies column j of src, which has as many rows, to dst.
func copyColumn(dst []float64, src *mat.Dense, j int) { columnOf(dst, src.RawMatrix(), j) }

// normalise sets dst = x/‖x‖, or to zero if x is zero.
func normalise(dst, x []float64) {
	f := 0.0
	if norm := norm2(x); norm > 0 {
		f = 1 / norm
	}
	eachTile(len(x), func(from, to int) {
		for i := from; i < to; i++ {
			dst[i] = f * x[i]
		}
	})
}

// distance returns ‖a·x − b·y‖.
func distance(x []float64, a float64, y []float64, b float64) float64 {
	sum := 0.0
	eachTile(len(x), func(from, to int) {
		for i := from; i < to; i++ {
			d := a*x[i] - b*y[i]
			sum += d * d
		}
	})
	return math.Sqrt(sum)
}

// ritz returns the Rayleigh quotient and the residual of the direction of x,
// given y = Mx. The difference is formed entry by entry: the difference of the
// squared norms would lose half of the digits.
func ritz(x, y []float64) Candidate {
	c := Candidate{DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	xx := dot(x, x)
	if xx == 0 {
		return c
	}
	c.Value = dot(x, y) / xx
	c.Residual = distance(y, 1, x, c.Value) / math.Sqrt(xx)
	c.PaperValue = c.Value
	return c
}
