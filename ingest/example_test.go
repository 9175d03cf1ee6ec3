package ingest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/gdsvd/gdsvd/ingest"
)

func Example() {
	dir, err := os.MkdirTemp("", "ingest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ratings := "1::1193::5::978300760\n1::661::3::978302109\n2::1193::4.5::978298413\n"
	rep, err := ingest.Ingest(context.Background(), []string{"-"}, filepath.Join(dir, "ratings.csr"), ingest.Options{
		Stdin:  strings.NewReader(ratings),
		Memory: 128 << 20,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d × %d, %d ratings, format %v\n", rep.Rows, rep.Cols, rep.NNZ, rep.Format)
	// Output: 2 × 2, 3 ratings, format movielens
}
