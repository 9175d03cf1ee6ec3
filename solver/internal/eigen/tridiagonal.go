package eigen

import (
	"math"
	"runtime"
	"slices"
	"sync"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gdsvd/gdsvd/solver/internal/panel"
)

const (
	epsilon = 0x1p-52
	// Entries beside the diagonal are zero if they are no larger, the largest entry
	// of the matrix being between ½ and 1.
	negligible = 0x1p-72
	// Sweeps for an eigenvalue: two or three are the rule.
	maxSweeps = 60
)

// diagonalise makes the tridiagonal matrix with diagonals d and e, of which the last
// entry is not used, diagonal, and applies its rotations to the rows of z. Blocks
// between zeros of e are taken one after the other from the end.
func diagonalise(d, e []float64, z blas64.General) {
	var done rotations
	from, to, step := len(d), len(d), 0 // of the block at work, and its direction
	for hi := len(d) - 1; hi > 0; {
		lo := hi
		for lo > 0 && !split(d, e, lo-1) {
			lo--
		}
		if lo == hi {
			hi--
			continue
		}
		if hi < from || lo > to || step == 0 {
			// Sweeps end where the small values are.
			if step = 1; math.Abs(d[lo]) < math.Abs(d[hi]) {
				step = -1
			}
		}
		from, to = lo, hi
		first := lo
		if step < 0 {
			first = hi
		}
		if len(done.sweeps) > maxSweeps*len(d) {
			panic("eigen: eigenvalues do not converge")
		}
		sweep(d, e, first, step, done.room(first, step, hi-lo))
	}
	done.apply(z)
}

// rotations are those of many sweeps, one after the other.
type rotations struct {
	cs     []float64
	sweeps []span
}

// span is a sweep of n rotations from row first on.
type span struct{ first, step, n int }

// room returns room for those of one more sweep.
func (r *rotations) room(first, step, n int) []float64 {
	r.sweeps = append(r.sweeps, span{first, step, n})
	at := len(r.cs)
	r.cs = slices.Grow(r.cs, 2*n)[:at+2*n]
	return r.cs[at:]
}

// Columns that are rotated at a time: they stay in the cache from sweep to sweep.
// Below so many rotations of a column another processor is not worth waking.
const slab, worthWaking = 32, 1 << 18

// apply applies them to the rows of z, in parallel to slabs of its columns.
func (r *rotations) apply(z blas64.General) {
	run := func(from, to int) {
		for ; from < to; from += slab {
			part := z
			part.Data, part.Cols = z.Data[from:], min(slab, to-from)
			at := 0
			for _, s := range r.sweeps {
				panel.Rotate(part, r.cs[at:at+2*s.n], s.first, s.step)
				at += 2 * s.n
			}
		}
	}
	slabs := (z.Cols + slab - 1) / slab
	workers := min(slabs, runtime.GOMAXPROCS(0), len(r.cs)*z.Cols/worthWaking+1)
	var wg sync.WaitGroup
	for w := 1; w < workers; w++ {
		wg.Go(func() { run(w*slabs/workers*slab, min(z.Cols, (w+1)*slabs/workers*slab)) })
	}
	if workers > 0 {
		run(0, min(z.Cols, slabs/workers*slab))
	}
	wg.Wait()
}

// split reports whether e[i] is next to nothing, and makes it zero then.
func split(d, e []float64, i int) bool {
	x := math.Abs(e[i])
	if x > negligible && x > epsilon*math.Sqrt(math.Abs(d[i]))*math.Sqrt(math.Abs(d[i+1])) {
		return false
	}
	e[i] = 0
	return true
}

// sweep is one of the QR algorithm, from first upwards, or of the QL algorithm, if
// step is -1: it brings e at the end of the block nearer to zero. It stores its
// rotations in cs.
func sweep(d, e []float64, first, step int, cs []float64) {
	n, beside := len(cs)/2, first
	if step < 0 {
		beside--
	}
	last := first + n*step
	end := &e[beside+(n-1)*step]
	// The shift of Wilkinson.
	g := (d[last-step] - d[last]) / (2 * *end)
	g = d[first] - d[last] + *end/(g+math.Copysign(math.Sqrt(g*g+1), g))
	c, s, p := 1.0, 1.0, 0.0
	for t := range n {
		i, j := first+t*step, beside+t*step
		f, b := s*e[j], c*e[j]
		var r float64
		if c, s, r = givens(g, f); t > 0 {
			e[j-step] = r
		}
		g = d[i] - p
		r = (d[i+step]-g)*s + 2*c*b
		p = s * r
		d[i] = g + p
		g = c*r - b
		cs[2*t], cs[2*t+1] = c, s
	}
	d[last] -= p
	*end = g
}

// givens returns the rotation that takes (a, b) to (r, 0).
func givens(a, b float64) (c, s, r float64) {
	if b == 0 {
		return 1, 0, a
	}
	unit := 1.0
	if max(math.Abs(a), math.Abs(b)) < 0x1p-400 {
		// Their squares leave the range.
		unit, a, b = 0x1p-600, a*0x1p600, b*0x1p600
	}
	r = math.Sqrt(a*a + b*b)
	return a / r, b / r, r * unit
}
