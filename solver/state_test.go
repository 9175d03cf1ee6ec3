package solver

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestStates restores what was saved with one thing wrong: it must be refused, or be
// harmless. Parts that are missing, too many, or of another shape are refused.
func TestStates(t *testing.T) {
	const n = 24
	g := heap.GramOf(gaussian(60, n, 0, 1, 1))
	all := map[string]Method{
		"block": Block{Columns: 6}, "krylov": Krylov{Columns: 3, Basis: 12}, "full krylov": Krylov{Columns: 8},
		"polyak/0.5": Polyak{Beta: 0.5}, "nesterov/0.5": Nesterov{Beta: 0.5},
	}
	for _, m := range Methods() {
		all[m.Traits(1).Name+" as it is"] = m
	}
	for name, m := range all {
		for _, run := range []Run{{Rank: 3}, {Rank: 10}, {Rank: 3, Indefinite: true}} {
			if run.Indefinite && !m.Traits(3).Indefinite {
				continue
			}
			for _, passes := range []int{0, 1, 4, 5, 9} {
				saved := func() []Part {
					r := Started(m, run, gaussian(n, m.Traits(run.Rank).Width(1), 0, 1, 2))
					for range passes {
						absorb(r, g)
					}
					return Saved(r)
				}
				tryStates(t, fmt.Sprintf("%s, %+v after %d passes", name, run, passes), n, g, func() Recurrence { return m.New(run) }, saved)
			}
		}
	}
}

func tryStates(t *testing.T, name string, n int, g *mat.Dense, empty func() Recurrence, saved func() []Part) {
	t.Helper()
	if err := Restore(nil, empty(), n, saved()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	try := func(what string, refused bool, parts []Part) {
		t.Helper()
		r := empty()
		err := Restore(nil, r, n, parts)
		if err != nil {
			return
		}
		if refused {
			t.Errorf("%s, %s: accepted", name, what)
		}
		defer func() {
			if e := recover(); e != nil {
				t.Errorf("%s, %s: %v", name, what, e)
			}
		}()
		absorb(r, g)
	}
	with := func(i int, b *mat.Dense) []Part {
		s := saved()
		s[i].Block = b
		return s
	}
	for i, p := range saved() {
		rows, cols := p.Block.Dims()
		for _, c := range [][2]int{{0, 0}, {rows, cols + 1}, {rows + 1, cols}, {cols, rows}, {1, 1}} {
			b := new(mat.Dense)
			if c[0] > 0 && c[1] > 0 {
				b = mat.NewDense(c[0], c[1], nil)
			}
			try(fmt.Sprintf("%s of %d×%d", p.Name, c[0], c[1]), rows == n && c[0] != n, with(i, b))
		}
		try("no "+p.Name, true, slices.Delete(saved(), i, i+1))
		other := saved()
		other[i].Name += "'"
		try("no "+p.Name+" but another", true, other)
		if p.Block.IsEmpty() {
			continue
		}
		for _, v := range []float64{-1, 0, 0.5, 2, float64(n) + 1, 1e300, math.NaN(), math.Inf(1)} {
			b := mat.DenseCopyOf(p.Block)
			b.Set(0, 0, v)
			if rows == 1 {
				try(fmt.Sprintf("%s %g", p.Name, v), false, with(i, b))
			} else if !(math.Abs(v) <= math.MaxFloat64) {
				try(fmt.Sprintf("%s with %g", p.Name, v), true, with(i, b))
			}
		}
	}
	try("a part more", true, append(saved(), Part{Name: "more", Block: mat.NewDense(1, 1, nil)}))
	try("no parts", true, nil)
}

// absorb makes one pass.
func absorb(r Recurrence, g *mat.Dense) {
	var y mat.Dense
	y.Mul(g, r.Next())
	r.Absorb(&y)
}
