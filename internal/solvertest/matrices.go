// Package solvertest holds what tests of solvers and of matrices share: matrices with known
// singular values, and independent checks of triplets (CheckTriplets) and of a solver.Matrix
// (CheckMatrix). The suite that every method must pass is in suite_test.go of solver.
package solvertest

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// Random returns an N×n matrix of independent standard normal entries.
func Random(rows, cols int, seed uint64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	solver.Gaussian(a, 0, seed, 1<<60)
	return a
}

// WithValues returns an N×n matrix whose singular values are sigma, at most
// min(N,n) of them, and zeros: H₁H₂·diag(sigma)·H₃H₄ with random Householder
// reflections H, exact up to the rounding of their application.
func WithValues(rows, cols int, seed uint64, sigma ...float64) *mat.Dense {
	a := Diagonal(rows, cols, sigma...)
	w := mat.NewDense(4, max(rows, cols), nil)
	solver.Gaussian(w, 0, seed, 1<<61)
	reflect(a, w.RawRowView(0)[:rows])
	reflect(a, w.RawRowView(1)[:rows])
	b := mat.DenseCopyOf(a.T())
	reflect(b, w.RawRowView(2)[:cols])
	reflect(b, w.RawRowView(3)[:cols])
	return mat.DenseCopyOf(b.T())
}

// reflect sets a = (I − 2wwᵀ/wᵀw)·a.
func reflect(a *mat.Dense, w []float64) {
	v := mat.NewVecDense(len(w), w)
	var c mat.VecDense
	c.MulVec(a.T(), v)
	a.RankOne(a, -2/mat.Dot(v, v), v, &c)
}

// Diagonal returns an N×n matrix with d on its diagonal and zeros elsewhere.
func Diagonal(rows, cols int, d ...float64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	for i, v := range d {
		a.Set(i, i, v)
	}
	return a
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
