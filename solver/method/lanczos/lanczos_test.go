package lanczos_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/internal/solvertest"
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

// TestKrylovRepeated hides copies of values: more than the block is wide, in a
// space far too large for breakdown to bring them to light.
func TestKrylovRepeated(t *testing.T) {
	sigma := []float64{10, 10, 10, 10, 10, 9, 9, 9, 8, 7, 7, 6}
	for i := range 100 {
		sigma = append(sigma, 5.5-0.05*float64(i))
	}
	a := solvertest.WithValues(140, 120, 1, sigma...)
	for _, b := range []int{1, 2, 3, 5} {
		for _, k := range []int{1, 2, 3, 6, 9, 11, 12} {
			for seed := range uint64(3) {
				set := solver.Settings{Rank: k, Seed: seed, Method: lanczos.Krylov{Columns: b}}
				res, err := solver.SVD(t.Context(), solvertest.NewDense(a), set)
				if err != nil {
					t.Fatal(err)
				}
				solvertest.Check(t, a, set, res, nil)
				solvertest.CheckValues(t, res, sigma, set.Tol)
				if res.Status != solver.Converged {
					t.Errorf("%d columns, k %d, seed %d: %v", b, k, seed, res.Status)
				}
			}
		}
	}
}
