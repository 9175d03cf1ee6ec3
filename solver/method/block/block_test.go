package block_test

import (
	"context"
	"fmt"
	"log"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/stream"
)

// All vectors at once: the passes do not grow with their number.
func ExampleDescent() {
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
