package method

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// State is a recurrence between two passes, part by part under names.
// Recurrence.State goes over all of them in either direction: it saves what its
// arguments point to, or sets it to what has been saved. What does not fit is
// refused; from then on nothing is set.
type State struct {
	Parts     []Part
	arena     *tallskinny.Arena
	n         int // length of vectors
	restoring bool
	used      int
	err       error
}

// Part is a block with a name, or numbers as a block of one row. It may be empty
// (mat.Dense{}).
type Part struct {
	Name  string
	Block *mat.Dense
}

// Restore restores a recurrence that has been made by New from the parts of one with
// vectors of length n, which it owns from then on.
func Restore(a *tallskinny.Arena, r Recurrence, n int, parts []Part) error {
	s := &State{Parts: parts, arena: a, n: n, restoring: true}
	r.State(s)
	if s.err == nil && s.used != len(parts) {
		s.Refuse("has %d parts, want %d", len(parts), s.used)
	}
	return s.err
}

// Restoring reports whether parts are set, not saved.
func (s *State) Restoring() bool { return s.restoring }

// OK reports whether nothing has been refused.
func (s *State) OK() bool { return s.err == nil }

// Refuse says what is wrong with a state that was saved: "has 3 columns".
func (s *State) Refuse(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("state "+format, args...)
	}
}

// Tall saves or restores a block of vectors. Below 0 it may have any number of
// columns but 0.
func (s *State) Tall(name string, x **mat.Dense, cols int) bool {
	if !s.restoring {
		return s.save(name, *x)
	}
	if s.shaped(name, s.n, cols) {
		*x = s.block(name)
	}
	return s.OK()
}

// Small saves or restores a block that does not grow with n. It may be nil.
func (s *State) Small(name string, x **mat.Dense, rows, cols int) bool {
	if !s.restoring {
		return s.save(name, *x)
	}
	if b := s.find(name); b != nil && b.IsEmpty() {
		s.used++
		*x = nil
	} else if s.shaped(name, rows, cols) {
		*x = s.block(name)
	}
	return s.OK()
}

// Floats saves or restores numbers, of which there may be none.
func (s *State) Floats(name string, x *[]float64) bool {
	if !s.restoring {
		b := &mat.Dense{}
		if len(*x) > 0 {
			b = mat.NewDense(1, len(*x), slices.Clone(*x))
		}
		return s.save(name, b)
	}
	if b := s.find(name); b != nil && b.IsEmpty() {
		s.used++
		*x = nil
	} else if s.shaped(name, 1, -1) {
		*x = slices.Clone(s.take(name).RawRowView(0))
	}
	return s.OK()
}

// Float saves or restores a number.
func (s *State) Float(name string, x *float64) bool {
	if !s.restoring {
		return s.save(name, mat.NewDense(1, 1, []float64{*x}))
	}
	if s.shaped(name, 1, 1) {
		*x = s.take(name).At(0, 0)
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

func (s *State) save(name string, x *mat.Dense) bool {
	if x == nil {
		x = &mat.Dense{}
	}
	s.Parts = append(s.Parts, Part{name, x})
	return true
}

func (s *State) find(name string) *mat.Dense {
	if i := slices.IndexFunc(s.Parts, func(p Part) bool { return p.Name == name }); i >= 0 {
		return s.Parts[i].Block
	}
	return nil
}

// shaped reports whether there is a part of that name and shape, and refuses the state
// if not. A number below 0 asks for any but 0.
func (s *State) shaped(name string, rows, cols int) bool {
	b := s.find(name)
	if b == nil {
		s.Refuse("has no %s", name)
		return false
	}
	r, c := b.Dims()
	if b.IsEmpty() || rows >= 0 && r != rows || cols >= 0 && c != cols {
		s.Refuse("has a %s of %d×%d, want %d×%d", name, r, c, rows, cols)
	}
	return s.OK()
}

// take returns a part that is there.
func (s *State) take(name string) *mat.Dense {
	s.used++
	return s.find(name)
}

// block is take for a block, in storage of its own, and refuses what is not finite.
func (s *State) block(name string) *mat.Dense {
	b := s.take(name)
	if g := b.RawMatrix(); g.Stride != g.Cols {
		b = mat.DenseCopyOf(b)
	}
	if !s.arena.Finite(b) {
		s.Refuse("has a %s that is not finite", name)
	}
	return b
}
