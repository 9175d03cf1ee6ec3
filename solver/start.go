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

// start returns the next start block, of unit columns. warm says that all of
// them were given.
func (r *run) start() (z *mat.Dense, warm bool) {
	l := r.startWidth()
	z = r.arena.Dense(r.n, l)
	r.arena.Gaussian(z, 0, r.s.Seed, streamStart|r.starts)
	r.starts++
	if warm, r.taken = true, 0; len(r.warm) == 0 && !r.anyStart() && r.locked.Complement(z.RawMatrix()) {
		return z, false
	}
	block, x := z.RawMatrix(), tallskinny.Column(r.arena.Dense(r.n, 1))
	defer r.arena.Release(x)
	for j := range l {
		if !r.takeWarm(x) {
			warm = false
			r.arena.ColumnOf(x, block, j)
			r.prepare(x, streamStart|1<<31|r.starts)
		} else {
			r.taken++
		}
		r.arena.SetColumn(block, j, x)
	}
	return z, warm
}

// takeWarm stores the next usable given vector in x.
func (r *run) takeWarm(x []float64) bool {
	for len(r.warm) > 0 {
		r.arena.CopyVector(x, r.warm[0])
		r.arena.Release(r.warm[0])
		r.warm[0], r.warm = nil, r.warm[1:] // its memory is free
		if r.arena.Shorten(x) > 0 && r.locked.Orthonormalise(x) {
			return true
		}
	}
	return false
}

// anyStart reports whether start vectors need not be orthogonal to those locked.
// Algorithms 1 and 2 start from any unit vector; the projected operator wants one in its
// domain, and so does a method of one space, which counts the dimensions that are left.
func (r *run) anyStart() bool { return r.s.Deflation == Plain && r.about.Copies == 0 }

// prepare makes a random vector a start vector.
func (r *run) prepare(x []float64, stream uint64) {
	if r.anyStart() {
		r.locked.Normalise(x)
	} else if !r.locked.Orthonormalise(x) {
		r.locked.Random(x, r.s.Seed, stream)
	}
}

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
