package lanczos

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

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
	r.timing.state(s)
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

// columns saves or restores the basis, and reports whether that can be one.
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

// cycles saves or restores those before restarts, and reports whether they can be some.
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
