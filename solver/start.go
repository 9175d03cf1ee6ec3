package solver

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/outside"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Streams of random numbers of one run. The low 32 bits number the block.
const (
	streamStart   uint64 = iota << 32 // start blocks, by number of the start
	streamRight                       // completion of right vectors, by index
	streamLeft                        // completion of left vectors
	streamProbe                       // test of symmetry
	streamOutside                     // scouts, by number of the start
	streamMixed                       // the random part of a block of given vectors, and their weights
)

// randomKey returns the seed of the random numbers of a run: the seed of the settings or, for a matrix with an ID
// (Info), the first 8 bytes, little-endian, of SHA-256 over the text
//
//	gdsvd-start/1\n seed in decimal \n ID
//
// So no matrix can be constructed whose leading vectors are orthogonal to the start block of a given seed: the
// constructed matrix has another ID and hence another start block.
func randomKey(seed uint64, id string) uint64 {
	if id == "" {
		return seed
	}
	h := sha256.Sum256(fmt.Appendf(nil, "gdsvd-start/1\n%d\n%s", seed, id))
	return binary.LittleEndian.Uint64(h[:])
}

// startWidth returns the width of the start block of the next recurrence.
func (r *run) startWidth() int {
	t := r.about
	if t.Copies > 0 && r.enough() { // random vectors look for more copies of values, and few are enough for few triplets
		most := r.n - r.found.Len()
		if r.s.Energy > 0 {
			most = min(most, max(t.Copies, r.found.Len()))
		}
		return min(t.Probe, most)
	}
	return min(t.Width(max(r.missing(nil), 1)), r.n-r.found.Len())
}

// joined reports whether the next recurrence is the first, and of a method that takes all given vectors at once:
// the given vectors and random columns form its start block.
func (r *run) joined() bool {
	ok := r.about.Copies > 0 || r.about.Width(r.s.Rank) >= r.s.Rank+outside.Few(r.s.Rank)
	return ok && r.starts.drawn == 0 && r.found.Len() == 0
}

// start returns the next start block, whose columns have unit norm, and the description of the block.
func (r *run) start() (z *mat.Dense, from outside.Block) {
	from.Before = r.found.Len()
	mixed := r.about.Copies > 0 && len(r.starts.warm) > 0 && r.joined()
	l := r.startWidth()
	z = r.arena.Dense(r.n, l)
	if mixed && Mixes(r.s.Method, r.s.Rank, r.s.Tol) {
		from.Part = r.mix(z)
		return z, from
	}
	if mixed {
		r.starts.drop(r.arena)
	}
	r.arena.Gaussian(z, 0, r.key, streamStart|r.starts.drawn)
	r.starts.drawn++
	if len(r.starts.warm) == 0 && !r.anyStart() && r.found.Basis.Complement(z.RawMatrix()) {
		return z, from
	}
	block, x := z.RawMatrix(), tallskinny.Column(r.arena.Dense(r.n, 1))
	defer r.arena.Release(x)
	for j := range l {
		if r.takeWarm(x) {
			from.Given++
		} else {
			r.arena.ColumnOf(x, block, j)
			r.prepare(x, streamStart|1<<31|r.starts.drawn)
		}
		r.arena.SetColumn(block, j, x)
	}
	return z, from
}

// Mixes reports whether a run for k triplets to the tolerance tol uses given vectors. A method whose
// Traits.Copies is 0 always does. Other methods mix them into their single start block, and only if tol is below
// 10⁻⁶: at coarser tolerances the evidence that no larger value is missing takes as long as the vectors, and
// random start vectors give it sooner. Then the run ignores the given vectors.
func Mixes(m method.Method, k int, tol float64) bool {
	const coarse = 1e-6
	return m.Traits(k).Copies == 0 || tol < coarse
}

// mix fills the start block z with random combinations of the g given vectors, the columns of W, and a random
// part,
//
//	X = W·C + ε·Ω,  C of variance 1/g, Ω of variance 1/n,
//
// scales its columns to unit norm, and returns ε/‖X‖. A space that grows from X is as wide as one from random
// vectors, and components outside the span of W, which need not be found again, are smaller by the factor ε from
// the beginning. For a unit vector w the entries of wᵀX are independent and normal, of variance |Wᵀw|²/g + ε²/n;
// the evidence follows from that (outside.Block.Part). C and Ω are drawn with a seed that depends on every bit of W, so
// that no W can be constructed for a given seed.
func (r *run) mix(z *mat.Dense) (part float64) {
	const epsilon = 0.1
	n, l := z.Dims()
	given, hash := r.starts.warm, sha256.New()
	fmt.Fprintf(hash, "gdsvd-mixed/1\n%d\n", r.key)
	uses := tallskinny.Reads(z.RawMatrix()).Writes(z.RawMatrix())
	var bits []byte
	for _, x := range given {
		r.found.Basis.Normalise(x)
		uses = uses.Read(tallskinny.Single(x))
		r.arena.EachTile(n, tallskinny.Reading(x), func(from, to int) {
			bits = bits[:0]
			for _, v := range x[from:to] {
				bits = binary.LittleEndian.AppendUint64(bits, math.Float64bits(v))
			}
			hash.Write(bits)
		})
	}
	key := binary.LittleEndian.Uint64(hash.Sum(nil))
	weights := mat.NewDense(len(given), l, nil)
	Gaussian(weights, 0, key, streamMixed|1)
	weights.Scale(1/math.Sqrt(float64(len(given))), weights)
	r.arena.Gaussian(z, 0, key, streamMixed)
	r.starts.drawn++
	r.arena.EachChunk(n, uses, func(_, first, rows int) {
		for i := first; i < first+rows; i++ {
			row := tallskinny.Vector(z.RawRowView(i))
			blas64.Scal(epsilon/math.Sqrt(float64(n)), row)
			for j, x := range given {
				blas64.Axpy(x[i], tallskinny.Vector(weights.RawRowView(j)), row)
			}
		}
	})
	r.starts.drop(r.arena)
	var sums tallskinny.Sums
	gram := r.arena.Cross(&sums, z.RawMatrix(), z.RawMatrix())
	for j := range l {
		if norm := gram.Data[j*gram.Stride+j]; norm > 0 {
			r.arena.ScaleColumn(z, j, 1/math.Sqrt(norm))
		}
	}
	values, _ := tallskinny.RayleighRitz(new(eigen.Solver), gram, 1)
	return epsilon / math.Sqrt(values[0])
}

// drop frees the given vectors that have not been used.
func (s *starts) drop(a *tallskinny.Arena) {
	for _, x := range s.warm {
		a.Release(x)
	}
	s.warm = nil
}

// takeWarm stores the next usable given vector in x. It returns false if none is left.
func (r *run) takeWarm(x []float64) bool {
	for s := &r.starts; len(s.warm) > 0; {
		r.arena.CopyVector(x, s.warm[0])
		r.arena.Release(s.warm[0])
		s.warm[0], s.warm = nil, s.warm[1:] // the vector has been released
		if r.arena.Shorten(x) > 0 && r.found.Basis.Orthonormalise(x) {
			return true
		}
	}
	return false
}

// anyStart reports whether start vectors need not be orthogonal to the locked vectors. Algorithms 1 and 2 start
// from any unit vector; the projected operator needs a start vector in its domain.
func (r *run) anyStart() bool { return r.s.Deflation == Plain }

// prepare scales a random vector to unit norm and, unless anyStart, makes it orthogonal to the locked vectors.
func (r *run) prepare(x []float64, stream uint64) {
	if r.anyStart() {
		r.found.Basis.Normalise(x)
	} else if !r.found.Basis.Orthonormalise(x) {
		r.found.Basis.Random(x, r.key, stream)
	}
}

// Gaussian fills dst with independent standard normal numbers that depend on
// seed, stream, and position only: row i of dst is row first+i of an infinite
// block, which does not depend on the chunks and workers that fill it.
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
