package solver

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// start returns the next start block, of unit columns. warm says that all of
// them were given.
func (r *run) start() (z *mat.Dense, warm bool) {
	l := r.startWidth()
	z = r.arena.Dense(r.n, l)
	r.arena.gaussian(z, 0, r.s.Seed, streamStart|r.starts)
	r.starts++
	if warm, r.taken = true, 0; len(r.warm) == 0 && r.s.Deflation != Plain && r.locked.complement(z.RawMatrix()) {
		return z, false
	}
	block, x := z.RawMatrix(), column(r.arena.Dense(r.n, 1))
	defer r.arena.release(x)
	for j := range l {
		if !r.takeWarm(x) {
			warm = false
			r.arena.columnOf(x, block, j)
			r.prepare(x, streamStart|1<<31|r.starts)
		} else {
			r.taken++
		}
		r.arena.setColumn(block, j, x)
	}
	return z, warm
}

// complement makes columns of x, independent standard normal numbers, unit vectors
// orthogonal to a basis that is not empty, all at once: one after the other they take
// ten times as many loops over x. It reports false, with x in the same span, where what
// the basis leaves of a column is too short for one projection to do, and where the
// basis is cut.
func (b *basis) complement(x blas64.General) bool {
	short := 0.1 * math.Sqrt(float64(x.Rows))
	if b.len == 0 || b.cut > 0 || x.Cols == 1 {
		return false
	}
	b.projectAll(x)
	var s sums
	gram, scale := b.arena.cross(&s, x, x), zeros(make([]float64, x.Cols*x.Cols), x.Cols, x.Cols)
	for j := range x.Cols {
		norm := math.Sqrt(gram.Data[j*gram.Stride+j])
		if !(norm > short) {
			return false
		}
		scale.Data[j*scale.Stride+j] = 1 / norm
	}
	b.arena.turn(x, scale)
	return true
}

// takeWarm stores the next usable given vector in x.
func (r *run) takeWarm(x []float64) bool {
	for len(r.warm) > 0 {
		r.arena.copyVector(x, r.warm[0])
		r.arena.release(r.warm[0])
		r.warm[0], r.warm = nil, r.warm[1:] // its memory is free
		if r.arena.shorten(x) > 0 && r.locked.orthonormalise(x) {
			return true
		}
	}
	return false
}

// shorten multiplies a vector that is so long or short that its norm, or the
// inverse of it, is no float64, by a power of two. It returns the norm from before.
func (a *Arena) shorten(x []float64) (norm float64) {
	norm = a.norm2(x)
	_, e := math.Frexp(norm)
	if math.IsInf(norm, 0) {
		e = 1024
	}
	if -500 <= e && e <= 500 {
		return norm
	}
	a.eachTile(len(x), reading(x).writing(x), func(from, to int) {
		for i := from; i < to; i++ {
			x[i] = math.Ldexp(x[i], -e)
		}
	})
	return norm
}

// prepare makes a random vector a start vector. Algorithms 1 and 2 start from
// any unit vector; the projected operator wants one in its domain.
func (r *run) prepare(x []float64, stream uint64) {
	if r.s.Deflation == Plain {
		r.locked.normalise(x)
	} else if !r.locked.orthonormalise(x) {
		r.locked.random(x, r.s.Seed, stream)
	}
}
