package recommend_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/stream/view"
)

// Southern women (Davis, Gardner and Gardner, Deep South, 1941): which of 14 social events each woman attended. These
// are 8 of the 18 women, of two groups.
var women = []string{"Evelyn", "Laura", "Theresa", "Brenda", "Katherine", "Sylvia", "Nora", "Helen"}

var events = [][]int{
	{1, 2, 3, 4, 5, 6, 8, 9},
	{1, 2, 3, 5, 6, 7, 8},
	{2, 3, 4, 5, 6, 7, 8, 9},
	{1, 3, 4, 5, 6, 7, 8},
	{8, 9, 10, 12, 13, 14},
	{7, 8, 9, 10, 12, 13, 14},
	{6, 7, 9, 10, 11, 12, 13, 14},
	{7, 8, 10, 11, 12},
}

// The store of attendances is factorised. Each woman is recommended the missed event with the best score; then the women
// most similar to Evelyn are listed.
func Example() {
	work, err := os.MkdirTemp("", "recommend")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(work)
	ctx, path := context.Background(), filepath.Join(work, "women.csr")
	ptr, cols, ones := []int{0}, []int{}, []float64{}
	for _, row := range events {
		for _, e := range row {
			cols, ones = append(cols, e-1), append(ones, 1)
		}
		ptr = append(ptr, len(cols))
	}
	if err := csr.FromSparse(path, sparse.NewCSR(len(events), 14, ptr, cols, ones), csr.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	store, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	recsys, err := view.Parse("recsys")
	if err != nil {
		log.Fatal(err)
	}
	r, err := factor.Run(ctx, store, factor.Options{Rank: 2, View: recsys, Dir: filepath.Join(work, "women.svd")})
	if err != nil {
		log.Fatal(err)
	}
	f, err := recommend.Of(r)
	if err != nil {
		log.Fatal(err)
	}
	_, err = recommend.Rows(ctx, f, store, recommend.Options{N: 1}, func(row int64, items []recommend.Item) error {
		_, err := fmt.Printf("%s: event %d, %.2f\n", women[row], items[0].Index+1, items[0].Score)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	err = recommend.Similar(ctx, f.Lines(), recommend.SimilarOptions{N: 2, Of: []int64{0}}, func(row int64, _ bool, items []recommend.Item) error {
		_, err := fmt.Printf("like %s: %s and %s\n", women[row], women[items[0].Index], women[items[1].Index])
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// Evelyn: event 7, 0.72
	// Laura: event 4, 0.79
	// Theresa: event 1, 0.84
	// Brenda: event 2, 0.79
	// Katherine: event 7, 0.62
	// Sylvia: event 11, 0.64
	// Nora: event 8, 0.77
	// Helen: event 13, 0.61
	// like Evelyn: Laura and Brenda
}
