package solver_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// ExampleSVD computes the two leading triplets of a matrix in memory by gradient descent.
func ExampleSVD() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: gd.Descent{Eta: 0.5},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f, energy %.1f %%\n", res.Status, res.Sigma, 100*res.Energy)
	// Output:
	// converged: σ = [3.000000 2.000000], energy 92.9 %
}

// ExampleSettings_left uses the power method and keeps the left vectors.
func ExampleSettings_left() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	left := solver.NewDenseRows(6, 2)
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: power.Iteration{},
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

// ExampleEigen uses the deflation of the paper and compares the residuals that the deflated
// operator shows with the true ones.
func ExampleEigen() {
	// The diagonal matrix of 31.6 and eleven values from 1.003 down to 1.
	m := sparse.NewDOK(30, 12)
	m.Set(0, 0, 31.6)
	for i := 1; i < 12; i++ {
		m.Set(i, i, 1.003-0.0003*float64(i-1))
	}
	a, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.Eigen(context.Background(), solver.GramOf(a), solver.Settings{
		Rank:      2,
		Method:    gd.Descent{},
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

// ExampleSettings_dilation has values whose squares are below the rounding errors of the Gram
// operator, which finds them only up to those errors; the dilation converges.
func ExampleSettings_dilation() {
	m := sparse.NewCSR(20, 4, append([]int{0, 1, 2, 3}, slices.Repeat([]int{4}, 17)...), []int{0, 1, 2, 3}, []float64{1, 1e-4, 1e-8, 1e-10})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
		res, err := solver.SVD(context.Background(), a, solver.Settings{Rank: 4, Method: gd.Descent{}, Operator: operator, Tol: 1e-14})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v: %v, σ = %.3g\n", operator, res.Status, res.Sigma)
	}
	// Output:
	// gram: stagnated, σ = [1 0.0001 1e-08 1e-10]
	// dilation: converged, σ = [1 0.0001 1e-08 1e-10]
}

// ExampleSettings_symmetric computes eigenpairs of a symmetric positive semidefinite matrix, here a kernel.
func ExampleSettings_symmetric() {
	m := sparse.NewDOK(8, 8)
	for i := range 8 {
		for j := range 8 {
			m.Set(i, j, 1/float64(i+j+1))
		}
	}
	kernel, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer kernel.Close()
	res, err := solver.SVD(context.Background(), kernel, solver.Settings{
		Rank:     2,
		Method:   momentum.Nesterov{},
		Operator: solver.Symmetric,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: λ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: λ = [1.695939 0.298125]
}
