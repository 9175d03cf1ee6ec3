package block_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/block"
)

// All vectors at once: the passes do not grow with their number.
func ExampleDescent() {
	a := solvertest.NewDense(solvertest.WithValues(60, 40, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1))
	res, err := solver.SVD(context.Background(), a, solver.Settings{Rank: 4, Method: block.Descent{Oversample: 4}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%v: σ = %.6f\n", res.Status, res.Sigma)
	// Output:
	// converged: σ = [9.000000 8.000000 7.000000 6.000000]
}
