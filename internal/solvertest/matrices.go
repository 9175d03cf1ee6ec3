package solvertest

import (
	"math"

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

// constant returns an N×n matrix with every entry v: rank one, σ = |v|√(Nn).
func constant(rows, cols int, v float64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			a.Set(i, j, v)
		}
	}
	return a
}

// tensor returns the Kronecker product of a and b, whose singular values are
// all products of those of a and b. Integer factors make it exact.
func tensor(a, b mat.Matrix) *mat.Dense {
	var k mat.Dense
	k.Kronecker(a, b)
	return &k
}

// läuchli returns the (n+1)×n matrix with ones in its first row and mu on the
// diagonal below: σ₁ = √(n+mu²), all others are mu.
func läuchli(n int, mu float64) *mat.Dense {
	a := mat.NewDense(n+1, n, nil)
	for j := range n {
		a.Set(0, j, 1)
		a.Set(j+1, j, mu)
	}
	return a
}

// Hilbert returns the n×n matrix 1/(i+j+1), whose values fall from about 1 to
// below roundoff.
func Hilbert(n int) *mat.Dense {
	a := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			a.Set(i, j, 1/float64(i+j+1))
		}
	}
	return a
}

// grcar returns the n×n matrix of Grcar: -1 below the diagonal, 1 on it and on
// three diagonals above. It is far from normal; its values are well separated
// from 0 but close to one another. σ₁ = 3.2215 for n = 30.
func grcar(n int) *mat.Dense {
	a := mat.NewDense(n, n, nil)
	for i := range n {
		if i > 0 {
			a.Set(i, i-1, -1)
		}
		for j := i; j <= min(i+3, n-1); j++ {
			a.Set(i, j, 1)
		}
	}
	return a
}

// bidiagonal returns the matrix with 1 on its diagonal and 2 above it. If it has
// more columns than rows, A·Aᵀ is the tridiagonal Toeplitz matrix (2, 5, 2), with
// σ_j² = 5 + 4cos(jπ/(rows+1)).
func bidiagonal(rows, cols int) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	for i := range rows {
		if i < cols {
			a.Set(i, i, 1)
		}
		if i+1 < cols {
			a.Set(i, i+1, 2)
		}
	}
	return a
}

// mikota returns a square root of the vibration chain of Mikota as an n×n
// matrix: its values are 1, 2, …, n.
func mikota(n int) *mat.Dense {
	// K = LᵀL with the bidiagonal L below, mass 1/(i+1) at place i; σ² are the
	// eigenvalues i² of M^{-½} K M^{-½}.
	a := mat.NewDense(n, n, nil)
	for i := range n {
		stiff := math.Sqrt(float64(n - i))
		a.Set(i, i, stiff*math.Sqrt(float64(i+1)))
		if i > 0 {
			a.Set(i, i-1, -stiff*math.Sqrt(float64(i)))
		}
	}
	return a
}

// DominantThenCluster returns a matrix with one value 31.6 and the others
// spread evenly over [1, 1.003], the hard case for deflation.
func DominantThenCluster(rows, cols int, seed uint64) *mat.Dense {
	sigma := make([]float64, min(rows, cols))
	sigma[0] = 31.6
	for i := 1; i < len(sigma); i++ {
		sigma[i] = 1.003 - 0.003*float64(i-1)/float64(max(len(sigma)-2, 1))
	}
	return WithValues(rows, cols, seed, sigma...)
}
