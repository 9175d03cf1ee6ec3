package tallskinny

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// Gaussian is Gaussian for a block of the arena.
func (a *Arena) Gaussian(dst *mat.Dense, first int64, seed, stream uint64) {
	n, cols := dst.Dims()
	hi, lo := mix.Next(seed), mix.Next(stream)
	a.EachChunk(n, uses{}.Writes(dst.RawMatrix()), func(_, at, rows int) {
		var pcg rand.PCG
		normal := rand.New(&pcg)
		for i := at; i < at+rows; i++ {
			pcg.Seed(hi, mix.Next(lo+uint64(first+int64(i))))
			row := dst.RawRowView(i)[:cols]
			for j := range row {
				row[j] = normal.NormFloat64()
			}
		}
	})
}
