package solver

import (
	"math/rand/v2"

	"github.com/gdsvd/gdsvd/internal/mix"
	"gonum.org/v1/gonum/mat"
)

// Streams of random numbers of one run. The low 32 bits number the block.
const (
	streamStart   uint64 = iota << 32 // start blocks, by number of the start
	streamRight                       // completion of right vectors, by index
	streamLeft                        // completion of left vectors
	streamProbe                       // test of symmetry
	streamOutside                     // scouts, by number of the start
)

// Gaussian fills dst with independent standard normal numbers that depend on
// seed, stream, and position only: row i of dst is row first+i of a block
// without end, so the block is the same however it is cut into chunks and by
// whichever worker it is filled.
//
// Row r of a stream is the beginning of the ziggurat normal sequence of
// math/rand/v2 driven by a PCG generator seeded with
//
//	mix(seed), mix(mix(stream) + r)
//
// where mix is mix.Next, a step of SplitMix64 (Steele, Lea, Flood 2014). Column j
// is the j-th number of the sequence: a wider block begins with the narrower.
func Gaussian(dst *mat.Dense, first int64, seed, stream uint64) {
	(*Arena)(nil).gaussian(dst, first, seed, stream)
}

// gaussian is Gaussian for a block of the arena.
func (a *Arena) gaussian(dst *mat.Dense, first int64, seed, stream uint64) {
	n, cols := dst.Dims()
	hi, lo := mix.Next(seed), mix.Next(stream)
	a.eachChunk(n, uses{}.writes(dst.RawMatrix()), func(_, at, rows int) {
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
