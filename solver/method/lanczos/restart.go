package lanczos

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// kept returns the number of Ritz vectors that a restart keeps: the wanted ones and a third of the room beyond,
// in whole panels. More vectors would have to be formed more often, and fewer vectors lose passes.
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
		// The components of the products of Ritz vectors in the next block.
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

// mostCycles bounds the memory of evidence: each cycle has a matrix of the order of the basis.
const mostCycles = 8

// remember stores the evidence, about eigenvalues that have not been found, of the cycle that ends. After
// mostCycles cycles, or without the coupling, no evidence is left.
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
	last, leak := mat.NewDense(r.size-found, 1, nil), 0.0 // zero if V spans the whole space
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
		return nil // the first Ritz vectors are locked, and not in the basis
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
	r.timing.passes = 0 // the Ritz pairs of the last report are locked, so the next pass needs new ones
	return true
}

func (r *lanczos) Free() {
	r.Arena.Free(r.X)
	r.v.Free()
}

func (r *lanczos) State(s *method.State) {
	if !r.Block.State(s) {
		return
	}
	n, w := r.X.Dims()
	s.Int("most columns", &r.most, 0, n)
	s.Int("triplets", &r.want, 1, math.MaxInt32)
	s.Int("block", &r.block, 1, n)
	s.Int("fresh", &r.fresh, 0, n)
	s.Int("gone", &r.gone, 0, n)
	s.Flag("full", &r.full)
	s.Float("norm", &r.top)
	s.Float("dropped", &r.orth.dropped)
	s.Int("origin", &r.origin, 0, n)
	s.Int("lead", &r.lead, 0, n)
	s.Int("steps", &r.steps, -1, math.MaxInt32)
	s.Int("waiting", &r.timing.passes, 0, maxWait)
	s.Int("waited", &r.timing.since, 0, math.MaxInt32)
	s.Float("gap", &r.timing.gap)
	s.Pairs(&r.pairs)
	if !s.OK() || !r.columns(s, n) || !r.cycles(s) {
		return
	}
	size := r.size
	if size > 0 {
		s.Small("T", &r.t, size, size)
		s.Small("orthogonality", &r.orth.basis, size, size)
		s.Small("orthogonality of next", &r.orth.next, size, w)
		s.Small("removed", &r.orth.removed, size, size)
		s.Small("coupling", &r.coupling, w, size-r.fresh)
	}
	switch {
	case !tallskinny.AllFinite([]float64{r.top, r.orth.dropped, r.timing.gap}):
		s.Refuse("has values that are not finite")
	case size > 0 && (r.t == nil || r.orth.basis == nil || r.orth.removed == nil):
		s.Refuse("is of a basis of %d columns without T", size)
	case r.timing.passes > 0 && len(r.pairs) == 0:
		s.Refuse("has no Ritz pairs")
	case r.steps > 0 && (r.lead > size+w || r.lead < 1):
		s.Refuse("is of a basis of %d columns that began with %d", size, r.origin)
	case size > r.most || r.fresh > size || w > r.most || r.full && w > size || r.fresh > 0 && !r.full && r.coupling == nil:
		s.Refuse("is of a basis of %d of %d columns with blocks of %d", size, r.most, w)
	}
}

// columns saves or restores the basis, and reports whether the saved panels are valid.
func (r *lanczos) columns(s *method.State, n int) bool {
	count := len(r.v.List)
	s.Int("panels", &count, 0, n)
	if s.Restoring() {
		r.v = r.Arena.NewPanels(n, r.block)
	}
	for i := range count {
		var x *mat.Dense
		if !s.Restoring() {
			x = r.v.List[i].Room.Slice(0, n, 0, r.v.List[i].X.Cols).(*mat.Dense)
		}
		if !s.Tall(fmt.Sprintf("panel %d", i), &x, -1) {
			return false
		}
		if w := tallskinny.Width(x); w > r.v.Wide {
			s.Refuse("has a panel of %d columns, want at most %d", w, r.v.Wide)
			return false
		}
		if s.Restoring() {
			r.v.Append(x)
		}
	}
	if s.Restoring() {
		r.size = r.v.Size()
	}
	return s.OK()
}

// cycles saves or restores the cycles before restarts, and reports whether they are valid.
func (r *lanczos) cycles(s *method.State) bool {
	count, lead := len(r.past), r.origin
	s.Int("cycles", &count, 0, mostCycles)
	if s.Restoring() {
		r.past = make([]method.Cycle, count)
	}
	for i := range count {
		c := &r.past[i]
		name := fmt.Sprintf("cycle %d ", i)
		s.Int(name+"from", &c.From, 0, r.most)
		s.Int(name+"to", &c.To, c.From, r.most)
		s.Floats(name+"values", &c.Theta)
		s.Small(name+"first", &c.First, len(c.Theta), lead)
		s.Small(name+"last", &c.Last, len(c.Theta), -1)
		if !s.OK() {
			return false
		}
		if c.First == nil || c.To > len(c.Theta) || c.Last == nil && c.To != len(c.Theta) || !tallskinny.AllFinite(c.Theta) {
			s.Refuse("has a cycle of %d values that cannot be one", len(c.Theta))
			return false
		}
		lead = c.To - c.From
		if c.Last != nil {
			lead += tallskinny.Width(c.Last)
		}
	}
	if count > 0 && lead != r.lead {
		s.Refuse("has cycles that end with %d columns, want %d", lead, r.lead)
	}
	return s.OK()
}
