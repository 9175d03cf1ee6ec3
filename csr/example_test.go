package csr_test

import (
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/gdsvd/gdsvd/csr"
)

// Example writes a store row by row and reads it block by block.
func Example() {
	dir, err := os.MkdirTemp("", "csr")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "ratings.csr")

	var stats csr.ValueStats // a first pass over the values, in any order
	for _, v := range []float64{5, 3.5, 4} {
		stats.Add(v)
	}
	w, err := csr.Create(path, csr.CreateOptions{Cols: 4, Values: stats.Values()})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Abort() // does nothing after Commit
	if err := w.AppendRow([]uint32{0, 3}, []float64{5, 3.5}); err != nil {
		log.Fatal(err)
	}
	if err := w.AppendRow([]uint32{2}, []float64{4}); err != nil {
		log.Fatal(err)
	}
	if err := w.Commit(); err != nil {
		log.Fatal(err)
	}

	s, err := csr.Open(path, csr.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Printf("%d × %d, %d entries as %v, ‖A‖ = %.4g\n", s.Rows(), s.Cols(), s.NNZ(), s.Values().Coding, math.Ldexp(s.Norm()))
	var b csr.Block
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, &b); err != nil {
			log.Fatal(err)
		}
		for r := range b.Rows() {
			for col, v := range b.Row(r) {
				fmt.Println("row", b.FirstRow+int64(r), "column", col, "is", v)
			}
		}
	}
	// Output:
	// 2 × 4, 3 entries as dict4, ‖A‖ = 7.297
	// row 0 column 0 is 5
	// row 0 column 3 is 3.5
	// row 1 column 2 is 4
}
