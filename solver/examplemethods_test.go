package solver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/stream"
)

// The examples of the methods are in this package, not in those of the methods: a test of a package that solver
// imports, which itself imports solver, would make go compile solver and its users once more.

// ten returns a matrix with the values 10, 9.9, …, with a small gap after each.
func ten() solver.Matrix {
	m := sparse.NewDOK(60, 30)
	for i := range 30 {
		m.Set(i, i, 10-0.1*float64(i))
	}
	a, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

// ExampleSVD_nesterov compares automatic momentum with gradient descent without momentum.
func ExampleSVD_nesterov() {
	passes := func(m method.Method) int {
		res, err := solver.SVD(context.Background(), ten(), solver.Settings{Rank: 3, Method: m})
		if err != nil {
			log.Fatal(err)
		}
		return res.Stats.Passes
	}
	with, without := passes(momentum.Nesterov{}), passes(gd.Descent{})
	fmt.Printf("a fifth of the passes or less: %t\n", 5*with <= without)
	// Output:
	// a fifth of the passes or less: true
}

// ExampleSVD_polyak uses the heavy ball with the momentum and the stop rule of the paper.
func ExampleSVD_polyak() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:      2,
		Method:    momentum.Polyak{Beta: 0.4},
		Stop:      solver.StopPaper,
		Deflation: solver.Plain,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [3.000000 2.000000]
}

// ExampleSVD_nesterovGeneral uses the scheme of the paper's theorem, with μ a quarter of the
// relative gap 1 − 4/9 of the first pair; the gap of the second is larger.
func ExampleSVD_nesterovGeneral() {
	// The diagonal matrix of 3, 2 and 1, 6×4.
	m := sparse.NewCSR(6, 4, []int{0, 1, 2, 3, 3, 3, 3}, []int{0, 1, 2}, []float64{3, 2, 1})
	a, err := stream.FromSparse(m, stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{
		Rank:   2,
		Method: momentum.NesterovGeneral{Mu: 0.13},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [3.000000 2.000000]
}

// ExampleSVD_krylov uses the method with the fewest passes: a basis of all multiplied vectors, here
// at most 20, from which it restarts.
func ExampleSVD_krylov() {
	// The diagonal matrix of 9, 8, … 1.
	m := sparse.NewDOK(60, 40)
	for i := range 9 {
		m.Set(i, i, float64(9-i))
	}
	a, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{Rank: 4, Method: lanczos.Krylov{Columns: 2, Basis: 20}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f after %d passes\n", res.Status, res.Sigma, res.Stats.Passes)
	// Output:
	// converged: σ = [9.000000 8.000000 7.000000 6.000000] after 7 passes
}

// ExampleSVD_block finds all vectors at once: the passes do not grow with their number.
func ExampleSVD_block() {
	// The diagonal matrix of 9, 8, … 1.
	m := sparse.NewDOK(60, 40)
	for i := range 9 {
		m.Set(i, i, float64(9-i))
	}
	a, err := stream.FromSparse(m.ToCSR(), stream.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	res, err := solver.SVD(context.Background(), a, solver.Settings{Rank: 4, Method: block.Descent{Oversample: 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [9.000000 8.000000 7.000000 6.000000]
}
