package tallskinny

import "gonum.org/v1/gonum/mat"

// heap is an arena whose blocks lie in ordinary memory.
var heap *Arena

func gaussian(rows, cols int, first int64, seed, stream uint64) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	heap.Gaussian(d, first, seed, stream)
	return d
}
