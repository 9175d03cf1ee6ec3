package momentum_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// ten has the values 10, 9.9, … a small gap for each of them.
func ten() *solvertest.Dense {
	sigma := make([]float64, 30)
	for i := range sigma {
		sigma[i] = 10 - 0.1*float64(i)
	}
	return solvertest.NewDense(solvertest.WithValues(60, 30, 1, sigma...))
}

// Momentum found automatically, against none.
func ExampleNesterov() {
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

// The heavy ball with the momentum and the stop rule of the paper.
func ExamplePolyak() {
	a := solvertest.NewDense(solvertest.Diagonal(6, 4, 3, 2, 1))
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

// The scheme of the paper's theorem, with μ a quarter of the relative gap 1 − 4/9
// of the first pair; that of the second is larger.
func ExampleNesterovGeneral() {
	a := solvertest.NewDense(solvertest.Diagonal(6, 4, 3, 2, 1))
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
