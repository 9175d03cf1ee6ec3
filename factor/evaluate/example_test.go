package evaluate_test

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/james-bowman/sparse"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/evaluate"
	"github.com/gdsvd/gdsvd/stream/view"
)

// write writes a store of rows × cols with the entry 1 where there is true, and opens it.
func write(path string, rows, cols int, there func(i, j int) bool) *csr.Store {
	ptr, at, ones := []int{0}, []int{}, []float64{}
	for i := range rows {
		for j := range cols {
			if there(i, j) {
				at, ones = append(at, j), append(ones, 1)
			}
		}
		ptr = append(ptr, len(at))
	}
	if err := csr.FromSparse(path, sparse.NewCSR(rows, cols, ptr, at, ones), csr.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	store, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return store
}

// Users of four groups have a third of the items of their group, of which a fifth is held out. The view recsys finds the
// groups; popularity does not use them.
func Example() {
	work, err := os.MkdirTemp("", "evaluate")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(work)
	r := rand.New(rand.NewPCG(1, 2))
	const users, items = 200, 80
	var held [users][items]int // 1: training, 2: test
	for i := range users {
		for j := range items {
			if i%4 == j%4 && r.IntN(3) == 0 {
				if held[i][j] = 1; r.IntN(5) == 0 {
					held[i][j] = 2
				}
			}
		}
	}
	train := write(filepath.Join(work, "train.csr"), users, items, func(i, j int) bool { return held[i][j] == 1 })
	defer train.Close()
	test := write(filepath.Join(work, "test.csr"), users, items, func(i, j int) bool { return held[i][j] == 2 })
	defer test.Close()

	metrics, err := evaluate.ParseMetrics("recall@15,coverage")
	if err != nil {
		log.Fatal(err)
	}
	recsys, err := view.Parse("recsys")
	if err != nil {
		log.Fatal(err)
	}
	report, err := evaluate.Run(context.Background(), train, test, evaluate.Options{
		Views: []evaluate.View{{Name: "recsys", Pipeline: recsys}}, Ranks: []int{4}, Metrics: metrics, Dir: work,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range report.Models {
		fmt.Printf("%s: %s %.2f (%.2f to %.2f), %s %.2f\n", m.Name, m.Scores[0].Metric, m.Scores[0].Value, m.Scores[0].Low, m.Scores[0].High, m.Scores[1].Metric, m.Scores[1].Value)
	}
	// Output:
	// popularity: recall@15 0.18 (0.14 to 0.24), coverage@15 0.25
	// recsys, k = 4: recall@15 0.96 (0.93 to 0.98), coverage@15 1.00
}
