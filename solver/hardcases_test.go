package solver_test

import (
	"math"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
)

// hardCase is one matrix of the suite.
type hardCase struct {
	Name string
	A    *mat.Dense
	K    int
	// Sigma holds the leading values if they are known exactly; nil: a dense SVD computes them.
	Sigma []float64
	// Rank is the number of values among the first K that are not roundoff.
	Rank int
	// Tol is the tolerance; 0 means the default.
	Tol float64
	// Unreachable marks a tolerance that products with the Gram operator cannot reach for the
	// smallest values: then the status may be Stagnated.
	Unreachable bool
}

// hardCases returns matrices that are hard for solvers, small enough for methods that find one
// vector at a time.
var hardCases = sync.OnceValue(func() []hardCase {
	n, many, of := longtest.Pick(100, 30), longtest.Pick(200, 50), longtest.Pick(210, 55)
	cases := []hardCase{
		{Name: "random tall", A: solvertest.Random(60, 12, 1), K: 4, Rank: 4},
		{Name: "random wide", A: solvertest.Random(12, 60, 2), K: 4, Rank: 4},
		{Name: "all of a tall one", A: solvertest.Random(20, 7, 3), K: 7, Rank: 7},
		{Name: "all of a wide one", A: solvertest.Random(7, 20, 4), K: 7, Rank: 7},
		{Name: "all of a square one", A: solvertest.WithValues(8, 8, 5, 8, 7, 6, 5, 4, 3, 2, 1), K: 8, Sigma: []float64{8, 7, 6, 5, 4, 3, 2, 1}, Rank: 8},
		{Name: "single entry", A: constant(1, 1, -3), K: 1, Sigma: []float64{3}, Rank: 1},
		{Name: "single row", A: solvertest.Random(1, 9, 6), K: 1, Rank: 1},
		{Name: "single column", A: solvertest.Random(9, 1, 7), K: 1, Rank: 1},
		{Name: "zero", A: mat.NewDense(6, 4, nil), K: 3, Sigma: []float64{0}, Rank: 0},
		{Name: "zero single row", A: mat.NewDense(1, 4, nil), K: 1, Sigma: []float64{0}, Rank: 0},
		{Name: "zero all", A: mat.NewDense(4, 4, nil), K: 4, Sigma: []float64{0}, Rank: 0},
		{Name: "identity", A: solvertest.Diagonal(9, 9, ones(9)...), K: 5, Sigma: ones(5), Rank: 5},
		{Name: "identity all", A: solvertest.Diagonal(6, 6, ones(6)...), K: 6, Sigma: ones(6), Rank: 6},
		{Name: "negative identity", A: solvertest.Diagonal(5, 5, -1, -1, -1, -1, -1), K: 5, Sigma: ones(5), Rank: 5},
		{Name: "ones", A: constant(5, 6, 1), K: 3, Sigma: []float64{math.Sqrt(30), 0, 0}, Rank: 1},
		{Name: "ones tall", A: constant(6, 5, 1), K: 3, Sigma: []float64{math.Sqrt(30), 0, 0}, Rank: 1},
		{Name: "ones square", A: constant(5, 5, 1), K: 3, Sigma: []float64{5, 0, 0}, Rank: 1},
		{Name: "ones all", A: constant(5, 6, 1), K: 5, Sigma: []float64{math.Sqrt(30)}, Rank: 1},
		{Name: "rank 3", A: solvertest.WithValues(80, 40, 8, 3, 2, 1), K: 6, Sigma: []float64{3, 2, 1}, Rank: 3},
		{Name: "rank 3 product", A: product(80, 3, 40), K: 5, Rank: 3},
		{Name: "repeated", A: solvertest.WithValues(30, 12, 9, 4, 4, 4, 2, 2, 1, 1, 1), K: 6, Sigma: []float64{4, 4, 4, 2, 2, 1}, Rank: 6},
		{Name: "repeated exactly", A: kronecker(), K: 8, Sigma: []float64{6, 6, 4, 4, 3, 3, 2, 2}, Rank: 8},
		{Name: "repeated at the edge", A: solvertest.WithValues(20, 20, 10, 5, 3, 3, 3, 3), K: 3, Sigma: []float64{5, 3, 3}, Rank: 3},
		{Name: "empty rows and columns", A: spread(solvertest.Random(9, 5, 11)), K: 7, Rank: 5},
		{Name: "single stored entry", A: oneEntry(), K: 3, Sigma: []float64{2}, Rank: 1},
		{Name: "six decades", A: solvertest.WithValues(20, 7, 12, decades(7)...), K: 7, Sigma: decades(7), Rank: 7},
		{Name: "twelve decades", A: solvertest.WithValues(30, 13, 13, decades(13)...), K: 13, Sigma: decades(13), Rank: 13, Unreachable: true},
		{Name: "twelve decades, leading four", A: solvertest.WithValues(30, 13, 13, decades(13)...), K: 4, Sigma: decades(4), Rank: 4},
		{Name: "powers of 100", A: solvertest.WithValues(12, 7, 18, powers(7)...), K: 7, Sigma: powers(7), Rank: 7, Unreachable: true},
		{Name: "powers of 100, leading three", A: solvertest.WithValues(12, 7, 18, powers(7)...), K: 3, Sigma: powers(3), Rank: 3},
		{Name: "Grcar", A: grcar(longtest.Pick(30, 15)), K: 4, Rank: 4},
		{Name: "bidiagonal", A: bidiagonal(20, 22), K: 3, Sigma: bidiagonalValues(3, 20), Rank: 3},
		{Name: "1 to n", A: solvertest.Diagonal(n, n, values(n, func(i float64) float64 { return i + 1 })...), K: 3, Sigma: []float64{float64(n), float64(n - 1), float64(n - 2)}, Rank: 3},
		{Name: "many equal ones", A: solvertest.WithValues(of+2, of, 19, ones(of)...), K: many, Sigma: ones(many), Rank: many},
		{Name: "Läuchli 1e-3", A: läuchli(6, 1e-3), K: 6, Sigma: lauchliValues(6, 1e-3), Rank: 6},
		{Name: "Läuchli 1e-6", A: läuchli(6, 1e-6), K: 6, Sigma: lauchliValues(6, 1e-6), Rank: 6},
		{Name: "Läuchli 1e-9", A: läuchli(6, 1e-9), K: 6, Sigma: lauchliValues(6, 1e-9), Rank: 6, Unreachable: true},
		{Name: "Hilbert", A: hilbert(10), K: 6, Rank: 6},
		{Name: "Hilbert all", A: hilbert(10), K: 10, Rank: 10, Unreachable: true},
		{Name: "Mikota", A: mikota(8), K: 8, Sigma: []float64{8, 7, 6, 5, 4, 3, 2, 1}, Rank: 8},
		{Name: "dominant then cluster", A: dominantThenCluster(24, 9, 14), K: 3, Rank: 3, Tol: 1e-6},
		{Name: "tolerance below roundoff", A: solvertest.WithValues(20, 9, 15, 5, 4, 3, 2, 1), K: 3, Sigma: []float64{5, 4, 3}, Rank: 3, Tol: 1e-18, Unreachable: true},
	}
	for i := range cases {
		if cases[i].Tol == 0 {
			cases[i].Tol = solver.DefaultTol
		}
	}
	return cases
})

// Values returns the leading values of the case.
func (c hardCase) Values() []float64 {
	if c.Sigma != nil {
		return c.Sigma
	}
	return solvertest.Singular(c.A)
}

func values(n int, f func(i float64) float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = f(float64(i))
	}
	return x
}

func ones(n int) []float64 { return values(n, func(float64) float64 { return 1 }) }

// powers returns 1, 0.01, 0.0001, …
func powers(n int) []float64 { return values(n, func(i float64) float64 { return math.Pow(0.01, i) }) }

// decades returns 1, 0.1, 0.01, …
func decades(n int) []float64 {
	return values(n, func(i float64) float64 { return math.Pow10(-int(i)) })
}

// bidiagonalValues returns the k leading values of bidiagonal with the given rows.
func bidiagonalValues(k, rows int) []float64 {
	return values(k, func(i float64) float64 { return math.Sqrt(5 + 4*math.Cos((i+1)*math.Pi/float64(rows+1))) })
}

func lauchliValues(n int, mu float64) []float64 {
	x := values(n, func(float64) float64 { return mu })
	x[0] = math.Sqrt(float64(n) + mu*mu)
	return x
}

// product returns a matrix that has rank r up to rounding.
func product(rows, r, cols int) *mat.Dense {
	var a mat.Dense
	a.Mul(solvertest.Random(rows, r, 16), solvertest.Random(r, cols, 17))
	return &a
}

// kronecker returns an integer matrix with the singular values 6, 4, 3, 2, each twice.
func kronecker() *mat.Dense {
	swap := mat.NewDense(2, 2, []float64{0, 1, -1, 0}) // singular values 1, 1
	return tensor(tensor(solvertest.Diagonal(2, 2, 3, 2), solvertest.Diagonal(3, 2, 2, 1)), swap)
}

func spread(a *mat.Dense) *mat.Dense {
	rows, cols := a.Dims()
	b := mat.NewDense(2*rows+1, 2*cols+1, nil)
	for i := range rows {
		for j := range cols {
			b.Set(2*i+1, 2*j+1, a.At(i, j))
		}
	}
	return b
}

func oneEntry() *mat.Dense {
	a := mat.NewDense(50, 40, nil)
	a.Set(17, 23, -2)
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

// hilbert returns the n×n matrix 1/(i+j+1), whose values fall from about 1 to
// below roundoff.
func hilbert(n int) *mat.Dense {
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

// dominantThenCluster returns a matrix with one value 31.6 and the others
// spread evenly over [1, 1.003], the hard case for deflation.
func dominantThenCluster(rows, cols int, seed uint64) *mat.Dense {
	sigma := make([]float64, min(rows, cols))
	sigma[0] = 31.6
	for i := 1; i < len(sigma); i++ {
		sigma[i] = 1.003 - 0.003*float64(i-1)/float64(max(len(sigma)-2, 1))
	}
	return solvertest.WithValues(rows, cols, seed, sigma...)
}

// TestHardCases compares singular values of the constructions with known values.
func TestHardCases(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *mat.Dense
		want []float64
		tol  float64
	}{
		{"Grcar", grcar(30), []float64{3.2215}, 5e-5},
		{"bidiagonal", bidiagonal(20, 22), bidiagonalValues(20, 20), 1e-14},
		{"Mikota", mikota(5), []float64{5, 4, 3, 2, 1}, 1e-14},
		{"Läuchli", läuchli(4, 0.5), lauchliValues(4, 0.5), 1e-14},
	} {
		got := solvertest.Singular(c.a)
		for i, w := range c.want {
			if math.Abs(got[i]-w) > c.tol*c.want[0] {
				t.Errorf("%s: σ[%d] = %.16g, want %.16g", c.name, i, got[i], w)
			}
		}
	}
}
