package lanczos_test

import (
	"context"
	"fmt"
	"log"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// The fewest passes: a basis of all that has been multiplied, here at most 20
// vectors, from which it restarts.
func ExampleKrylov() {
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
