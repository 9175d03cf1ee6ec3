package solver

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestBlockStates restores what was saved with one thing wrong: it must be
// refused, or be harmless.
func TestBlockStates(t *testing.T) {
	const n = 24
	g := heap.gramOf(gaussian(60, n, 0, 1, 1))
	for name, m := range map[string]Method{
		"block": Block{Columns: 6}, "krylov": Krylov{Columns: 3, Basis: 12}.fit(3), "full krylov": Krylov{Columns: 8}.fit(10),
	} {
		for _, passes := range []int{0, 1, 4, 5, 9} {
			saved := func() State {
				r := m.Start(nil, gaussian(n, m.Width(1), 0, 1, 2), StopResidual)
				for range passes {
					absorb(r, g)
				}
				return r.Save()
			}
			good := saved()
			if _, err := m.Restore(nil, saved(), StopResidual); err != nil {
				t.Fatalf("%s after %d passes: %v", name, passes, err)
			}
			try := func(what string, spoil func(*State)) {
				s := saved()
				spoil(&s)
				r, err := m.Restore(nil, s, StopResidual)
				if err != nil {
					return
				}
				if rows, _ := r.Next().Dims(); rows != n {
					return // of another matrix
				}
				defer func() {
					if e := recover(); e != nil {
						t.Errorf("%s after %d passes, %s: %v", name, passes, what, e)
					}
				}()
				absorb(r, g)
			}
			for i, b := range good.Blocks {
				rows, cols := b.Dims()
				for _, c := range [][2]int{{0, 0}, {rows, cols + 1}, {rows + 1, cols}, {cols, rows}, {1, 1}} {
					try("another block", func(s *State) {
						s.Blocks[i] = new(mat.Dense)
						if c[0] > 0 && c[1] > 0 {
							s.Blocks[i] = mat.NewDense(c[0], c[1], nil)
						}
					})
				}
				try("a block less", func(s *State) { s.Blocks = slices.Delete(s.Blocks, i, i+1) })
			}
			for i := range good.Scalars {
				for _, v := range []float64{-1, 0, 0.5, 2, n + 1, 1e300, math.NaN()} {
					try("another scalar", func(s *State) { s.Scalars[i] = v })
				}
				try("a scalar less", func(s *State) { s.Scalars = slices.Delete(s.Scalars, i, i+1) })
			}
			try("a scalar more", func(s *State) { s.Scalars = append(s.Scalars, 1) })
			try("no scalars", func(s *State) { s.Scalars = nil })
		}
	}
}

// absorb makes one pass.
func absorb(r Recurrence, g *mat.Dense) {
	var y mat.Dense
	y.Mul(g, r.Next())
	r.Absorb(&y)
}
