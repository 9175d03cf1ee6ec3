package all_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

var arena *tallskinny.Arena

func gaussian(rows, cols int, stream uint64) *mat.Dense {
	d := mat.NewDense(rows, cols, nil)
	arena.Gaussian(d, 0, 1, stream)
	return d
}

// TestStates restores saved states with one thing wrong: a missing, renamed or extra part, a tall part of another
// height and NaN in a tall part must be refused; anything else must be refused or be harmless.
func TestStates(t *testing.T) {
	const n = 24
	g := arena.GramOf(gaussian(60, n, 1))
	tried := map[string]method.Method{
		"block": block.Descent{Columns: 6}, "krylov": lanczos.Krylov{Columns: 3, Basis: 12}, "full krylov": lanczos.Krylov{Columns: 8},
		"polyak/0.5": momentum.Polyak{Beta: 0.5}, "nesterov/0.5": momentum.Nesterov{Beta: 0.5},
	}
	for _, m := range all.Methods() {
		tried[m.Traits(1).Name+" as it is"] = m
	}
	for name, m := range tried {
		for _, run := range []method.Run{{Rank: 3}, {Rank: 10}, {Rank: 3, Indefinite: true}} {
			if run.Indefinite && !m.Traits(3).Indefinite {
				continue
			}
			for _, passes := range longtest.Pick([]int{0, 1, 4, 5, 9}, []int{5}) {
				saved := func() []method.Part {
					r := m.New(run)
					r.Start(gaussian(n, m.Traits(run.Rank).Width(1), 2))
					for range passes {
						absorb(r, g)
					}
					var s method.State
					r.State(&s)
					return s.Parts
				}
				tryStates(t, fmt.Sprintf("%s, %+v after %d passes", name, run, passes), n, g, func() method.Recurrence { return m.New(run) }, saved)
			}
		}
	}
}

func tryStates(t *testing.T, name string, n int, g *mat.Dense, empty func() method.Recurrence, saved func() []method.Part) {
	t.Helper()
	if err := method.Restore(nil, n, saved(), empty().State); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	try := func(what string, refused bool, parts []method.Part) {
		t.Helper()
		r := empty()
		err := method.Restore(nil, n, parts, r.State)
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
	with := func(i int, b *mat.Dense) []method.Part {
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
	try("a part more", true, append(saved(), method.Part{Name: "more", Block: mat.NewDense(1, 1, nil)}))
	try("no parts", true, nil)
}

// absorb makes one pass over g.
func absorb(r method.Recurrence, g *mat.Dense) {
	var y mat.Dense
	y.Mul(g, r.Next())
	r.Absorb(&y)
}
