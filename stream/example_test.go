package stream_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/stream"
)

// factorise is the program in docs/library.md: changes belong there, too.
func factorise(ctx context.Context, path string, k int) (*solver.Result, error) {
	store, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	const width = 4 // columns of a pass; more save passes and cost time
	a, err := stream.New(store, stream.Options{Memory: 256 << 20, Width: width, Rank: k})
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return solver.SVD(ctx, a, solver.Settings{Rank: k, Method: lanczos.Krylov{Columns: width}})
}

// Example opens a store, streams it within a budget, and factorises it.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "diagonal.csr")
	diagonal := sparse.NewCSR(4, 3, []int{0, 1, 2, 3, 3}, []int{0, 1, 2}, []float64{1, 3, 2})
	if err := csr.FromSparse(path, diagonal, csr.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	res, err := factorise(context.Background(), path, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f %v\n", res.Sigma, res.Status)
	// Output: [3.0000 2.0000] converged
}
