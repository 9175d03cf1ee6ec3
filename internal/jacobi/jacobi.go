// Package jacobi is the singular value decomposition of small dense matrices.
package jacobi

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Decompose returns the singular values of a k×k matrix of finite numbers, descending, and the orthogonal k×k matrices of
// which rows are its left and right vectors: a = leftᵀ·diag(values)·right. It rotates pairs of rows of aᵀ until all are
// orthogonal (one-sided Jacobi: Golub, Van Loan, Matrix Computations, 8.6.3). It takes about 60·k³ multiplications; mat.SVD
// takes fewer, and 200 kB of a program.
func Decompose(a mat.Matrix) (values []float64, left, right *mat.Dense) {
	k, _ := a.Dims()
	const rounding, sweeps = 0x1p-52, 60
	w, v := mat.DenseCopyOf(a.T()), mat.NewDense(k, k, nil)
	size := 0.0
	for _, x := range w.RawMatrix().Data {
		size = max(size, math.Abs(x))
	}
	_, exponent := math.Frexp(size) // squares of scaled numbers do not overflow
	w.Apply(func(_, _ int, x float64) float64 { return math.Ldexp(x, -exponent) }, w)
	for i := range k {
		v.Set(i, i, 1)
	}
	vector := func(m *mat.Dense, i int) blas64.Vector { return blas64.Vector{N: k, Inc: 1, Data: m.RawRowView(i)} }
	for sweep, turned := 0, true; turned && sweep < sweeps; sweep++ {
		turned = false
		for p := range k {
			for q := p + 1; q < k; q++ {
				x, y := vector(w, p), vector(w, q)
				nx, ny, dot := blas64.Nrm2(x), blas64.Nrm2(y), blas64.Dot(x, y)
				if math.Abs(dot) <= rounding*float64(k)*nx*ny {
					continue
				}
				turned = true
				zeta := (ny - nx) * (ny + nx) / (2 * dot)
				t := math.Copysign(1/(math.Abs(zeta)+math.Hypot(1, zeta)), zeta)
				c := 1 / math.Hypot(1, t)
				blas64.Rot(x, y, c, -c*t)
				blas64.Rot(vector(v, p), vector(v, q), c, -c*t)
			}
		}
	}
	order, norms := make([]int, k), make([]float64, k)
	for i := range k {
		order[i], norms[i] = i, blas64.Nrm2(vector(w, i))
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(norms[j], norms[i]) })
	left, right = mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
	for to, from := range order {
		values = append(values, math.Ldexp(norms[from], exponent))
		right.SetRow(to, v.RawRowView(from))
		u := vector(left, to)
		if norms[from] > rounding*float64(k)*norms[order[0]] {
			copy(u.Data, w.RawRowView(from))
			blas64.Scal(1/norms[from], u)
			continue
		}
		for axis, done := 0, false; axis < k && !done; axis++ { // any vector orthogonal to those before
			clear(u.Data)
			u.Data[axis] = 1
			for range 2 {
				for i := range to {
					blas64.Axpy(-blas64.Dot(u, vector(left, i)), vector(left, i), u)
				}
			}
			n := blas64.Nrm2(u)
			done = n*n*float64(2*k) > 1 // one axis has at least its share of what is left
			blas64.Scal(1/n, u)
		}
	}
	return values, left, right
}
