package eigen

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/gdsvd/gdsvd/internal/panel"
	"github.com/gdsvd/gdsvd/internal/parallel"
)

const (
	epsilon = 0x1p-52
	// Off-diagonal entries up to negligible count as zero; the largest entry of the matrix is between ½ and 1.
	negligible = 0x1p-72
	// Largest number of sweeps per eigenvalue, on average; two or three are the rule.
	maxSweeps = 60
)

// rotations holds the rotations of several sweeps.
type rotations struct {
	sweeps []span
	cs     []float64 // c and s of each rotation, sweep by sweep
}

// span is a sweep of count rotations of neighbouring rows, from row first on.
type span struct{ first, step, count int }

// diagonalise makes the tridiagonal matrix with diagonal d and off-diagonal e, whose last entry is not used, diagonal, and
// keeps the rotations in r. It works on one block between zeros of e after the other, from the end. It reports whether the
// eigenvalues have converged; for finite numbers they do.
func (r *rotations) diagonalise(d, e []float64) bool {
	r.sweeps, r.cs = r.sweeps[:0], r.cs[:0]
	from, to, step := len(d), len(d), 0 // range of the current block; direction of its sweeps, 0: none yet
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
			step = 1
			if math.Abs(d[lo]) < math.Abs(d[hi]) {
				step = -1
			}
		}
		from, to = lo, hi
		if len(r.sweeps) == maxSweeps*len(d) {
			return false
		}
		first := lo
		if step < 0 {
			first = hi
		}
		at := len(r.cs)
		r.cs = slices.Grow(r.cs, 2*(hi-lo))[:at+2*(hi-lo)]
		r.sweeps = append(r.sweeps, span{first, step, hi - lo})
		sweep(d, e, first, step, r.cs[at:])
	}
	return true
}

// strip is the number of columns of a matrix that all rotations are applied to at a time: enough columns that no rotation
// waits for the one before it, and few enough that they stay in the first-level cache.
const strip = 32

func (r *rotations) apply(most int, z blas64.General) {
	const alone = 1 << 18 // rotated pairs of numbers that are worth another goroutine
	strips := (z.Cols + strip - 1) / strip
	workers := min(most, 1+len(r.cs)/2*z.Cols/alone)
	parallel.Each(workers, strips, func(_, i int) {
		part, cs := z, r.cs
		part.Data, part.Cols = z.Data[i*strip:], min(strip, z.Cols-i*strip)
		for _, s := range r.sweeps {
			panel.Rotate(part, cs[:2*s.count], s.first, s.step)
			cs = cs[2*s.count:]
		}
	})
}

// split reports whether e[i] is negligible, and if so sets it to zero.
func split(d, e []float64, i int) bool {
	x := math.Abs(e[i])
	if x > negligible && x*x > epsilon*epsilon*math.Abs(d[i]*d[i+1]) {
		return false
	}
	e[i] = 0
	return true
}

// sweep makes a sweep of the QR algorithm, upwards from first, or of the QL algorithm if step is -1. It brings the entry of
// e at the end of the block nearer to zero. It stores its rotations in cs.
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
		c, s, r = givens(g, f)
		if t > 0 {
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
		// Their squares would underflow.
		unit, a, b = 0x1p-600, a*0x1p600, b*0x1p600
	}
	r = math.Sqrt(a*a + b*b)
	return a / r, b / r, r * unit
}

// room is memory for matrices. All of it is freed by reset, the latest part by setting used back to an earlier value.
type room struct {
	data []float64
	used int // numbers in use, possibly more than len(data)
	most int
}

func (w *room) reset() {
	w.used = 0
	if w.most > len(w.data) {
		w.data = make([]float64, w.most)
	}
}

func (w *room) zeros(rows, cols int) blas64.General {
	x := blas64.General{Rows: rows, Cols: cols, Stride: max(1, cols)}
	from, size := w.used, rows*cols
	w.used += size
	w.most = max(w.most, w.used)
	if w.used > len(w.data) {
		x.Data = make([]float64, size)
		return x
	}
	x.Data = w.data[from:w.used:w.used]
	clear(x.Data)
	return x
}
