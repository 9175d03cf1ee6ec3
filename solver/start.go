package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
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
