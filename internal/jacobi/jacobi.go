// Package jacobi computes the singular value decomposition of small dense matrices.
package jacobi

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

const rounding = 0x1p-52

// vector returns row i of x.
func vector(x blas64.General, i int) blas64.Vector {
	return blas64.Vector{N: x.Cols, Inc: 1, Data: x.Data[i*x.Stride:][:x.Cols]}
}

func square(k int) blas64.General {
	return blas64.General{Rows: k, Cols: k, Stride: k, Data: make([]float64, k*k)}
}

// Decompose returns the singular values of a k×k matrix of finite numbers in descending order, and the orthogonal k×k
// matrices whose rows are its left and right vectors: a = leftᵀ·diag(values)·right. mat.SVD takes fewer multiplications, but
// 200 kB of code.
func Decompose(a blas64.General) (values []float64, left, right blas64.General) {
	values, left, right = rotate(a)
	k, top := len(values), 0.0
	for i := range k {
		u := vector(left, i)
		norm := blas64.Nrm2(u)
		top = max(top, norm)
		if norm > rounding*float64(k)*top {
			blas64.Scal(1/norm, u)
			continue
		}
		for axis, done := 0, false; axis < k && !done; axis++ { // any vector orthogonal to the left vectors before it
			clear(u.Data)
			u.Data[axis] = 1
			for range 2 {
				for j := range i {
					blas64.Axpy(-blas64.Dot(u, vector(left, j)), vector(left, j), u)
				}
			}
			n := blas64.Nrm2(u)
			done = n*n*float64(2*k) > 1 // n² sums to k−i ≥ 1 over the axes
			blas64.Scal(1/n, u)
		}
	}
	return values, left, right
}

// Right returns the values and right vectors of Decompose, without computing the left vectors.
func Right(a blas64.General) (values []float64, right blas64.General) {
	values, _, right = rotate(a)
	return values, right
}

// rotate rotates pairs of rows of aᵀ until all are orthogonal (one-sided Jacobi: Golub, Van Loan, Matrix Computations,
// 8.6.3). A sweep over all pairs takes about 6·k³ multiplications. Row i of scaled is the i-th left vector times values[i]
// and a factor common to all rows.
//
// On a matrix with graded columns LAPACK's errors are relative to the largest value, so that the left vector of a value 10⁶
// times smaller is orthogonal to the leading one to ten digits only. Rotations that depend on two columns alone respect the
// scale of both (Demmel, Veselić 1992). If the columns are nearly orthogonal already, two or three sweeps suffice.
func rotate(a blas64.General) (values []float64, scaled, right blas64.General) {
	k := a.Rows
	const sweeps = 60
	tol := rounding * math.Sqrt(float64(k))
	w, v, norms := square(k), square(k), make([]float64, k)
	size := 0.0
	for i := range k {
		v.Data[i*k+i] = 1
		for j, x := range vector(a, i).Data {
			w.Data[j*k+i] = x
			size = max(size, math.Abs(x))
		}
	}
	_, exponent := math.Frexp(size) // squares of scaled numbers do not overflow
	for i, x := range w.Data {
		w.Data[i] = math.Ldexp(x, -exponent)
	}
	for i := range norms {
		norms[i] = blas64.Nrm2(vector(w, i))
	}
	for sweep, turned := 0, true; turned && sweep < sweeps; sweep++ {
		turned = false
		for p := range k {
			x := vector(w, p)
			for q := p + 1; q < k; q++ {
				y := vector(w, q)
				nx, ny, dot := norms[p], norms[q], blas64.Dot(x, y)
				if math.Abs(dot) <= tol*nx*ny {
					continue
				}
				turned = true
				// t is the tangent of the smaller angle that makes the rows orthogonal.
				zeta := (ny/nx - nx/ny) / (2 * (dot / nx / ny))
				t := math.Copysign(1, zeta) / (math.Abs(zeta) + math.Hypot(1, zeta))
				c := 1 / math.Hypot(1, t)
				blas64.Rot(x, y, c, -c*t)
				blas64.Rot(vector(v, p), vector(v, q), c, -c*t)
				norms[p], norms[q] = blas64.Nrm2(x), blas64.Nrm2(y)
			}
		}
	}
	order := make([]int, k)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(norms[j], norms[i]) })
	scaled, right = square(k), square(k)
	for to, from := range order {
		values = append(values, math.Ldexp(norms[from], exponent))
		blas64.Copy(vector(w, from), vector(scaled, to))
		blas64.Copy(vector(v, from), vector(right, to))
	}
	return values, scaled, right
}
