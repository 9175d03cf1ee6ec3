package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
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
	(*tallskinny.Arena)(nil).Gaussian(dst, first, seed, stream)
}
