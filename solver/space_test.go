package solver_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestSpace checks that random runs with their vectors in a Space have the bits of runs in memory,
// do not use freed blocks, and leave no block but the result.
func TestSpace(t *testing.T) {
	for seed := range longtest.Pick(uint64(300), 25) {
		r := rand.New(rand.NewPCG(seed, 4))
		c := drawRun(r)
		c.set.MaxPasses = min(c.set.MaxPasses, 300)
		if c.set.Method.Traits(c.set.Rank).Check() == nil {
			t.Run(fmt.Sprint(seed, ": ", c), func(t *testing.T) { c.checkSpace(t, r) })
		}
	}
}

func (c anyRun) checkSpace(t *testing.T, r *rand.Rand) {
	same := func(what string, got, want outcome, space *spoiling) {
		if !got.same(want) {
			t.Errorf("%s: other bits: %v after %d passes, want %v after %d", what, got.Status, got.Stats.Passes, want.Status, want.Stats.Passes)
		}
		if space.Blocks() != 1 || !space.Holds(got.Right.RawMatrix().Data) {
			t.Errorf("%s: %d blocks are left", what, space.Blocks())
		}
	}
	want := factorise(t.Context(), t, newDense(c.a), c.set)
	space, saved, set := &spoiling{}, &checkpoints{}, c.set
	set.Space, set.Checkpointer = space, saved
	same("with a space", factorise(t.Context(), t, newDense(c.a), set), want, space)
	made := space.Made

	if n := len(saved.Saved); n > 0 {
		space, again := &spoiling{}, resumedFrom(t, c.set, saved.Saved[r.IntN(n)])
		again.Space = space
		same("resumed", factorise(t.Context(), t, newDense(c.a), again), want, space)
	}

	// If the Space runs out of room at any point, the run returns an error and no block is left.
	space = &spoiling{Limit: r.IntN(made)}
	if space.Limit == 0 {
		return
	}
	set.Space, set.Checkpointer = space, new(checkpoints)
	if !c.signed() {
		rows, _ := c.a.Dims()
		set.Left = solver.NewDenseRows(rows, set.Rank)
	}
	if _, err := solver.SVD(t.Context(), newDense(c.a), set); !errors.Is(err, errNoRoom) {
		t.Errorf("room for %d blocks of %d: %v", space.Limit, made, err)
	}
	if space.Blocks() > 0 {
		t.Errorf("%d blocks are left of a run that failed", space.Blocks())
	}
}

// faulty is a Space that fails after some calls as if it had lost data.
type faulty struct {
	spoiling
	after int
}

var errLost = errors.New("input/output error")

func (f *faulty) Err() error {
	if f.after--; f.after < 0 {
		return errLost
	}
	return nil
}

// TestSpaceThatLoses checks that an error of the Space ends the run.
func TestSpaceThatLoses(t *testing.T) {
	a := solvertest.WithValues(30, 20, 1, 9, 5, 4, 3, 2, 1)
	space := &faulty{after: 5}
	res, err := solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 3, Method: power.Iteration{}, Space: space})
	if !errors.Is(err, errLost) || res != nil {
		t.Errorf("%v, %v", res, err)
	}
	if space.Blocks() > 0 {
		t.Errorf("%d blocks are left", space.Blocks())
	}
}

// TestSpaceFootprint checks SpaceFootprint against RunFootprint, and that the part in memory hardly grows with n.
func TestSpaceFootprint(t *testing.T) {
	const n, k = 1 << 20, 3
	for _, m := range []method.Method{power.Iteration{}, block.Descent{}, lanczos.Krylov{Columns: 2, Basis: 12}} {
		outside, window, inside := solver.SpaceFootprint(m, n, k)
		all := solver.RunFootprint(m, n, k)
		if outside <= 0 || window <= 0 || inside <= 0 || outside > all || outside < all*9/10 {
			t.Errorf("%s: %d bytes outside, %d inside, of %d", m.Traits(1).Name, outside, inside, all)
		}
		// The part that stays in memory hardly grows.
		_, wider, more := solver.SpaceFootprint(m, 50*n, k)
		if wider != window || more > inside+16<<20 {
			t.Errorf("%s: %d and %d bytes inside for n = %d, %d and %d for 50 times as many", m.Traits(1).Name, window, inside, n, wider, more)
		}
	}
}
