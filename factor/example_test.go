package factor_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
)

// factorise is the program in docs/library.md. Change both together.
func factorise(ctx context.Context, path, dir string, k int) (*factor.Result, error) {
	store, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return factor.Run(ctx, store, factor.Options{
		Rank: k, Dir: dir,
		Memory: 256 << 20, // of the whole process; vectors that have no room are kept in files
		Resume: true,      // go on from the checkpoint of a run that was interrupted
	})
}

// A store is factorised within a memory budget and with checkpoints. The result is then opened,
// read and verified.
func Example() {
	work, err := os.MkdirTemp("", "factor")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(work)
	path, dir := filepath.Join(work, "diagonal.csr"), filepath.Join(work, "diagonal.svd")
	diagonal := sparse.NewCSR(4, 3, []int{0, 1, 2, 3, 3}, []int{0, 1, 2}, []float64{1, 3, 2})
	if err := csr.FromSparse(path, diagonal, csr.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if _, err := factorise(ctx, path, dir, 2); err != nil {
		log.Fatal(err)
	}

	r, err := factor.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	u := mat.NewDense(int(r.Rows), r.K, nil)
	if err := r.ReadU(0, u); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: σ = %.4f, certified: %v, |u₂₁| = %.4f\n", r.Status, r.Sigma, r.Certified, u.At(1, 0))
	report, err := check.Result(ctx, dir, check.Options{Store: path})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("as good as it states:", report.Err() == nil)
	// Output:
	// converged: σ = [3.0000 2.0000], certified: true, |u₂₁| = 1.0000
	// as good as it states: true
}
