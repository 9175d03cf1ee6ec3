package complete_test

import (
	"context"
	"fmt"
	"log"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/factor/complete"
	"github.com/gdsvd/gdsvd/stream"
)

// The table a_ij = i·j, i and j from 1 to 6, has rank 1. Every third entry is missing and predicted.
func Example() {
	ptr, cols, values := []int{0}, []int{}, []float64{}
	for i := range 6 {
		for j := range 6 {
			if (i+2*j)%3 > 0 {
				cols, values = append(cols, j), append(values, float64((i+1)*(j+1)))
			}
		}
		ptr = append(ptr, len(cols))
	}
	src := stream.InMemory(sparse.NewCSR(6, 6, ptr, cols, values))
	o := complete.Options{Rank: 2, Lambda: .01, Tol: 1e-12, Rounds: 5000}
	ctx := context.Background()
	fit, err := complete.Fit(ctx, src, o)
	if err != nil {
		log.Fatal(err)
	}
	var u []float64
	z, err := fit.Factors(ctx, src, o, func(_ int64, rows *mat.Dense, _ []float64) error {
		for i := range rows.RawMatrix().Rows {
			u = append(u, rows.RawRowView(i)...)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	k := len(z.Sigma)
	at := func(i, j int) float64 {
		p := fit.Mean
		for s, sigma := range z.Sigma {
			p += u[(i-1)*k+s] * sigma * z.V.At(j-1, s)
		}
		return p
	}
	fmt.Printf("4·4 is predicted as %.1f, 1·1 as %.1f\n", at(4, 4), at(1, 1))
	// Output: 4·4 is predicted as 16.0, 1·1 as 1.0
}
