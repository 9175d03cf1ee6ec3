package method

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// State is the state of a recurrence, or of a run, between two passes, as parts with names. Recurrence.State
// calls its methods for all parts, to save or to restore: a method saves the variable that its argument points
// to, or sets the variable to the saved part. A part that does not fit is refused, and after that no variable is
// set.
type State struct {
	Parts     []Part
	arena     *tallskinny.Arena
	n         int // length of vectors
	restoring bool
	places    map[string]int // indices of the parts to restore, by name
	used      int            // parts restored so far
	err       error
}

// Part is a block with a name, or numbers as a block of one row. It may be empty
// (mat.Dense{}).
type Part struct {
	Name  string
	Block *mat.Dense
}

// Restore calls state, the State method of a recurrence made by New, with the parts of a saved recurrence with
// vectors of length n. The recurrence owns the parts from then on.
func Restore(m Memory, n int, parts []Part, state func(*State)) error {
	s := &State{Parts: parts, n: n, restoring: true, places: make(map[string]int, len(parts))}
	s.arena, _ = m.(*tallskinny.Arena)
	for i, p := range parts {
		s.places[p.Name] = i
	}
	if len(s.places) != len(parts) {
		s.Refuse("has %d parts of %d names", len(parts), len(s.places))
	}
	state(s)
	if s.err == nil && s.used != len(parts) {
		s.Refuse("has %d parts, want %d", len(parts), s.used)
	}
	return s.err
}

// Restoring reports whether the state is restored, not saved.
func (s *State) Restoring() bool { return s.restoring }

// OK reports whether nothing has been refused.
func (s *State) OK() bool { return s.err == nil }

// Refuse records what is wrong with a saved state, for example "has 3 columns". Later calls have no effect.
func (s *State) Refuse(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("state "+format, args...)
	}
}

// Tall saves or restores a block of vectors. If cols is below 0 the block may have any number of columns but 0.
func (s *State) Tall(name string, x **mat.Dense, cols int) bool {
	return s.part(name, x, s.n, cols, false) && s.owned(name, x)
}

// Small saves or restores a block that does not grow with n. The block may be nil. If rows or cols is below 0 the
// block may have any number of them but 0.
func (s *State) Small(name string, x **mat.Dense, rows, cols int) bool {
	return s.part(name, x, rows, cols, true) && s.owned(name, x)
}

// Floats saves or restores a slice of numbers, which may be empty.
func (s *State) Floats(name string, x *[]float64) bool {
	var b *mat.Dense
	if len(*x) > 0 {
		b = mat.NewDense(1, len(*x), slices.Clone(*x))
	}
	if s.part(name, &b, 1, -1, true); s.restoring && s.OK() {
		*x = nil
		if b != nil {
			*x = slices.Clone(b.RawRowView(0))
		}
	}
	return s.OK()
}

// Pairs saves or restores Ritz pairs, whose number may be 0.
func (s *State) Pairs(x *[]RitzPair) {
	var b *mat.Dense
	if n := len(*x); n > 0 {
		b = mat.NewDense(n, 2, nil)
	}
	for i, c := range *x {
		b.SetRow(i, []float64{c.Value, c.Residual})
	}
	if !s.Small("Ritz pairs", &b, -1, 2) || !s.restoring {
		return
	}
	*x = nil
	if b != nil {
		for i := range b.RawMatrix().Rows {
			*x = append(*x, NewRitzPair(b.At(i, 0), b.At(i, 1)))
		}
	}
}

// Float saves or restores a number.
func (s *State) Float(name string, x *float64) bool {
	b := mat.NewDense(1, 1, []float64{*x})
	if s.part(name, &b, 1, 1, false) {
		*x = b.At(0, 0)
	}
	return s.OK()
}

// Int saves or restores an integer from low to high.
func (s *State) Int(name string, x *int, low, high int) bool {
	v := float64(*x)
	if s.Float(name, &v); s.restoring && s.OK() {
		if !(v >= float64(low) && v <= float64(high)) || v != float64(int(v)) {
			s.Refuse("has %s %g, want an integer from %d to %d", name, v, low, high)
			return false
		}
		*x = int(v)
	}
	return s.OK()
}

// Flag saves or restores a flag.
func (s *State) Flag(name string, x *bool) bool {
	v := 0
	if *x {
		v = 1
	}
	if s.Int(name, &v, 0, 1) {
		*x = v == 1
	}
	return s.OK()
}

// part saves or restores a block without copying it. If rows or cols is below 0 the block may have any number of
// them but 0. An optional block may be empty: then it is restored as nil.
func (s *State) part(name string, x **mat.Dense, rows, cols int, optional bool) bool {
	if !s.restoring {
		b := *x
		if b == nil {
			b = &mat.Dense{}
		}
		s.Parts = append(s.Parts, Part{name, b})
		return true
	}
	i, ok := s.places[name]
	if !ok {
		s.Refuse("has no %s", name)
		return false
	}
	b := s.Parts[i].Block
	if r, c := b.Dims(); b.IsEmpty() && optional {
		b = nil
	} else if b.IsEmpty() || rows >= 0 && r != rows || cols >= 0 && c != cols {
		s.Refuse("has a %s of %d×%d, want %d×%d", name, r, c, rows, cols)
	}
	if s.OK() {
		s.used++
		*x = b
	}
	return s.OK()
}

// owned copies a restored block that is not contiguous, and refuses a restored block that is not finite.
func (s *State) owned(name string, x **mat.Dense) bool {
	if !s.restoring || *x == nil {
		return true
	}
	if g := (*x).RawMatrix(); g.Stride != g.Cols {
		*x = mat.DenseCopyOf(*x)
	}
	if !s.arena.Finite(*x) {
		s.Refuse("has a %s that is not finite", name)
	}
	return s.OK()
}
