package lanczos

import (
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// kept is how many Ritz vectors survive a restart: those that are wanted and a third
// of the room beyond, in whole panels. More would be formed more often, and with
// fewer passes are lost.
func (r *lanczos) kept() int {
	room := r.most - tallskinny.Width(r.X)
	kept := max(min(room, 1), min(room, r.want+(room-r.want)/3))
	return min(room, (kept+r.v.Wide-1)/r.v.Wide*r.v.Wide)
}

// restart makes the Ritz vectors [from, to) the basis.
func (r *lanczos) restart(from, to int) {
	r.solve()
	r.remember(from, to)
	if to == from {
		r.v.Clear()
		r.orth = orthogonality{arena: r.Arena}
	} else {
		part := r.ritz.Slice(from, to, 0, r.size).(*mat.Dense)
		gone := new(mat.Dense)
		if to < r.size {
			gone = r.ritz.Slice(to, r.size, 0, r.size).(*mat.Dense)
		}
		r.v.Rotate(part.RawMatrix())
		r.orth.rotate(part, gone)
	}
	if r.coupling != nil && to > from {
		// What the products of Ritz vectors have in the next block.
		r.coupling = r.Arena.Times(r.coupling, mat.DenseCopyOf(r.ritz.Slice(from, to, r.fresh, r.size)))
	} else {
		r.coupling = nil
	}
	r.size, r.fresh = to-from, 0
	if r.size == 0 {
		r.t = nil
	} else {
		r.t = shrunk(r.t, mat.DenseCopyOf(mat.NewDiagDense(r.size, r.theta[from:to])))
	}
	r.theta, r.ritz, r.tails, r.gone = nil, nil, nil, from
}

// mostCycles bounds the memory that evidence takes: each is a matrix of the order of the basis.
const mostCycles = 8

// remember keeps what a cycle that ends says about eigenvalues that have not been found.
func (r *lanczos) remember(from, to int) {
	if r.steps < 0 || len(r.past) == mostCycles || r.coupling == nil && !r.full {
		r.steps, r.past = -1, nil
		return
	}
	c := method.Cycle{Theta: slices.Clone(r.theta[:r.size]), First: mat.DenseCopyOf(r.ritz.Slice(0, r.size, 0, r.lead)), From: from, To: to}
	if r.full {
		c.To = r.size
	} else {
		c.Last = r.Arena.Times(mat.DenseCopyOf(r.ritz.Slice(0, r.size, r.fresh, r.size)), r.coupling)
	}
	r.past = append(r.past, c)
	r.lead = to - from + tallskinny.Width(r.X)
}

// Evidence implements Recurrence, for up to mostCycles restarts.
func (r *lanczos) Evidence(found int) (method.Evidence, bool) {
	if r.steps < 0 || found >= r.size || r.lead > r.size {
		return method.Evidence{}, false
	}
	r.solve()
	part := func(from, to int) *mat.Dense {
		return mat.DenseCopyOf(r.ritz.Slice(found, r.size, from, to))
	}
	last, leak := mat.NewDense(r.size-found, 1, nil), 0.0 // V is everything there is
	if r.coupling != nil {
		last = r.Arena.Times(part(r.fresh, r.size), r.coupling)
		if found > 0 {
			leak = mat.Norm(r.Arena.Times(mat.DenseCopyOf(r.ritz.Slice(0, found, r.fresh, r.size)), r.coupling), 2)
		}
	}
	return method.Evidence{Steps: r.steps, Theta: r.theta[found:], First: part(0, r.lead), Last: last, Past: r.past, Top: r.top, Leak: leak}, true
}

func (r *lanczos) Vectors() func(blas64.General) {
	if r.gone > 0 {
		return nil // the first ones are locked, and not in the basis
	}
	return func(dst blas64.General) {
		r.solve()
		s := r.ritz.Slice(0, dst.Cols, 0, r.size).(*mat.Dense)
		r.v.All().Multiply(r.Arena, dst, s.RawMatrix())
	}
}

func (r *lanczos) Vector(dst []float64, j int) {
	j -= r.gone
	if j < 0 || j >= r.size {
		clear(dst) // locked
		return
	}
	r.solve()
	r.v.All().Multiply(r.Arena, tallskinny.Single(dst), r.ritz.Slice(j, j+1, 0, r.size).(*mat.Dense).RawMatrix())
}

// Lock takes the first j Ritz vectors out of the basis.
func (r *lanczos) Lock(j int) bool {
	to := min(r.size, r.most-tallskinny.Width(r.X))
	if r.full || j >= to {
		return false
	}
	r.restart(j, to)
	return true
}
