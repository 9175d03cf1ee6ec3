package main

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

const (
	streamLeft  = 1 << 40
	streamRight = 2 << 40
	streamDraw  = 3 << 40
)

// factored is the matrix M = UΣVᵀ, given by its factors.
type factored struct {
	triplets
	long, coefficients []float64
}

// newFactored returns an n×n matrix with the given values and uniformly distributed orthonormal vectors. Equal n and seed give
// equal vectors.
func newFactored(n int, seed uint64, sigma []float64) *factored {
	return &factored{triplets: triplets{haar(n, len(sigma), seed, streamLeft), haar(n, len(sigma), seed, streamRight), sigma}}
}

// haar returns d orthonormal vectors with n entries, uniformly distributed: the Q factor of a Gaussian block, with R of positive
// diagonal (Stewart, SIAM J. Numer. Anal. 17 (1980)).
func haar(n, d int, seed, stream uint64) *mat.Dense {
	q := mat.NewDense(n, d, nil)
	solver.Gaussian(q, 0, seed, stream)
	column := make([][]float64, d)
	for j := range d {
		column[j] = mat.Col(nil, j, q)
		for range 2 { // twice, to remove the rounding error of the first time
			for _, c := range column[:j] {
				floats.AddScaled(column[j], -floats.Dot(column[j], c), c)
			}
		}
		floats.Scale(1/floats.Norm(column[j], 2), column[j])
		q.SetCol(j, column[j])
	}
	return q
}

func (f *factored) Dim() int { n, _ := f.v.Dims(); return n }

// Apply sets dst = MᵀM·x, as a product with M and a product with Mᵀ.
func (f *factored) Apply(ctx context.Context, dst, x *mat.Dense) error {
	_, l := x.Dims()
	d := len(f.sigma)
	rows, _ := f.u.Dims()
	if len(f.long) != rows*l {
		f.long, f.coefficients = make([]float64, rows*l), make([]float64, d*l)
	}
	w := blas64.General{Rows: rows, Cols: l, Stride: l, Data: f.long}
	f.multiply(f.u, f.v, w, x.RawMatrix())
	f.multiply(f.v, f.u, dst.RawMatrix(), w)
	return ctx.Err()
}

func (f *factored) multiply(p, q *mat.Dense, y, x blas64.General) {
	c := blas64.General{Rows: len(f.sigma), Cols: x.Cols, Stride: x.Cols, Data: f.coefficients}
	product(blas.Trans, q.RawMatrix(), x, c)
	for i, s := range f.sigma {
		floats.Scale(s, c.Data[i*c.Stride:][:c.Cols])
	}
	product(blas.NoTrans, p.RawMatrix(), c, y)
}

func product(op blas.Transpose, a, x, y blas64.General) {
	if x.Cols == 1 && x.Stride == 1 && y.Stride == 1 {
		blas64.Gemv(op, 1, a, blas64.Vector{N: x.Rows, Inc: 1, Data: x.Data}, 0, blas64.Vector{N: y.Rows, Inc: 1, Data: y.Data})
		return
	}
	blas64.Gemm(op, blas.NoTrans, 1, a, x, 0, y)
}

// left returns M·v/σ̂, the left vectors that belong to computed right vectors.
func (f *factored) left(v *mat.Dense, sigma []float64) *mat.Dense {
	rows, _ := f.u.Dims()
	_, k := v.Dims()
	f.long, f.coefficients = nil, make([]float64, len(f.sigma)*k)
	u := mat.NewDense(rows, k, nil)
	f.multiply(f.u, f.v, u.RawMatrix(), mat.DenseCopyOf(v).RawMatrix())
	divideColumns(u, sigma)
	return u
}

// divideColumns divides the columns of M·v by the values, which gives left vectors. If a value is zero, the column becomes
// zero, which counts as an error of 1.
func divideColumns(u *mat.Dense, sigma []float64) {
	u.Apply(func(_, j int, x float64) float64 {
		if sigma[j] == 0 {
			return 0
		}
		return x / sigma[j]
	}, u)
}

// dense returns M as a matrix in memory with n² stored entries, for passes as over any other matrix.
func (f *factored) dense() (*stream.Matrix, error) {
	var us, m mat.Dense
	us.Apply(func(_, j int, x float64) float64 { return x * f.sigma[j] }, f.u)
	m.Mul(&us, f.v.T())
	rows, cols := m.Dims()
	ptr, col := make([]int, rows+1), make([]int, rows*cols)
	for i := range rows {
		ptr[i+1] = (i + 1) * cols
		for j := range cols {
			col[i*cols+j] = j
		}
	}
	return stream.FromSparse(sparse.NewCSR(rows, cols, ptr, col, m.RawMatrix().Data), stream.Options{})
}

// spectrum holds the singular values of one draw of a decay, and the drawn parameters.
type spectrum struct {
	sigma    []float64
	a, b     float64
	rejected int
}

// decays are the three distributions of singular values of the paper's table.
var decays = []struct {
	name string
	draw func(r *rand.Rand, d int) spectrum
}{
	{"exponential", func(r *rand.Rand, d int) spectrum {
		a := float64(2 + r.IntN(9))
		return spectrum{sigma: values(d, func(i float64) float64 { return math.Pow(a, -i) }), a: a}
	}},
	{"polynomial", func(_ *rand.Rand, d int) spectrum {
		return spectrum{sigma: values(d, func(i float64) float64 { return 1/i + 1 })}
	}},
	{"linear", func(r *rand.Rand, d int) spectrum {
		for rejected := 0; ; rejected++ {
			a, b := float64(1+r.IntN(10)), r.Float64()
			// a − b·i below zero is not a singular value: draw again.
			if s := values(d, func(i float64) float64 { return a - b*i }); s[d-1] > 0 {
				return spectrum{s, a, b, rejected}
			}
		}
	}},
}

func values(d int, f func(i float64) float64) []float64 {
	s := make([]float64, d)
	for i := range s {
		s[i] = f(float64(i + 1))
	}
	return s
}

func leading(m *mat.Dense, k int) *mat.Dense {
	rows, _ := m.Dims()
	return m.Slice(0, rows, 0, k).(*mat.Dense)
}
