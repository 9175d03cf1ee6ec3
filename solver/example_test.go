package solver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/solvertest"
)

// The two leading triplets of a matrix in memory, by gradient descent.
func ExampleGradientDescent() {
	a := solvertest.NewDense(solvertest.Diagonal(6, 4, 3, 2, 1))
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: solver.GradientDescent{Eta: 0.5},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f, energy %.1f %%\n", res.Status, res.Sigma, 100*res.Energy)
	// Output:
	// converged: σ = [3.000000 2.000000], energy 92.9 %
}

// The same by the power method, keeping the left vectors.
func ExamplePower() {
	a := solvertest.NewDense(solvertest.Diagonal(6, 4, 3, 2, 1))
	left := solver.NewDenseRows(6, 2)
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: solver.Power{},
		Left:   left,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f, u₁₁ = %.6f, v₁₁ = %.6f\n",
		res.Status, res.Sigma, left.Dense.At(0, 0), res.Right.At(0, 0))
	// Output:
	// converged: σ = [3.000000 2.000000], u₁₁ = 1.000000, v₁₁ = 1.000000
}

// Eigenvectors as found with the deflation of the paper: what the deflated
// operator sees of their error, and what it is.
func ExampleEigen() {
	a := solvertest.NewDense(solvertest.DominantThenCluster(30, 12, 1))
	res, err := solver.Eigen(context.Background(), solver.GramOf(a), solver.Settings{
		Rank:      2,
		Method:    solver.GradientDescent{},
		Tol:       1e-6,
		Deflation: solver.Plain,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: seen %.0e, true residual over 100 times as large: %t\n",
		res.Status, res.Seen[1], res.Residuals[1] > 100*res.Seen[1])
	// Output:
	// stagnated: seen 5e-07, true residual over 100 times as large: true
}
