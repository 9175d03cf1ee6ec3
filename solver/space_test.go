package solver_test

import (
	"errors"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// Wherever the vectors lie, runs of every kind have the same bits, do not use
// what they have given back, and leave nothing but the result.
func TestSpace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, cols := rapid.IntRange(1, 30).Draw(rt, "rows"), rapid.IntRange(1, 20).Draw(rt, "columns")
		value := rapid.OneOf(rapid.Float64Range(0.1, 10), rapid.SampledFrom([]float64{1, 2, 3})) // some repeated
		sigma := rapid.SliceOfN(value, 0, min(rows, cols)).Draw(rt, "sigma")
		a := solvertest.WithValues(rows, cols, rapid.Uint64().Draw(rt, "matrix"), sigma...)
		set := solver.Settings{
			Rank: rapid.IntRange(1, min(rows, cols)).Draw(rt, "rank"),
			Seed: rapid.Uint64Range(0, 1e6).Draw(rt, "seed"),
			Tol:  rapid.SampledFrom([]float64{1e-2, 1e-7, 1e-15}).Draw(rt, "tol"),
			Method: rapid.SampledFrom([]method.Method{
				gd.Descent{}, power.Iteration{}, momentum.Polyak{}, momentum.Nesterov{}, momentum.NesterovGeneral{},
				block.Descent{}, block.Descent{Columns: 2}, lanczos.Krylov{}, lanczos.Krylov{Columns: 1, Basis: 4},
			}).Draw(rt, "method"),
			Deflation: rapid.SampledFrom([]solver.Deflation{solver.Projected, solver.Plain}).Draw(rt, "deflation"),
			MaxPasses: rapid.IntRange(1, 300).Draw(rt, "limit"),
		}
		if set.Method.Traits(1).Indefinite && rapid.Bool().Draw(rt, "dilation") {
			set.Operator = solver.Dilation
		}
		if c := rapid.IntRange(0, cols).Draw(rt, "given"); c > 0 {
			set.Init = solvertest.Random(cols, c, set.Seed)
		}
		run := func(set solver.Settings) (*solver.Result, *mat.Dense) {
			left := solver.NewDenseRows(rows, set.Rank)
			set.Left = left
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(rt)
			return res, left.Dense
		}
		same := func(what string, res, want *solver.Result, u, wantU *mat.Dense, space *spoiling) {
			if !slices.Equal(res.Sigma, want.Sigma) || !slices.Equal(res.Residuals, want.Residuals) || !mat.Equal(res.Right, want.Right) || !mat.Equal(u, wantU) {
				rt.Errorf("%s: other bits", what)
			}
			if space.Blocks() != 1 || !space.Holds(res.Right.RawMatrix().Data) {
				rt.Errorf("%s: %d blocks are left", what, space.Blocks())
			}
			if res.Stats.Passes != want.Stats.Passes {
				rt.Errorf("%s: %d passes, want %d", what, res.Stats.Passes, want.Stats.Passes)
			}
		}
		want, wantU := run(set)
		space := &spoiling{}
		checkpoints := &checkpoints{}
		set.Space, set.Checkpointer = space, checkpoints
		res, u := run(set)
		same("with a space", res, want, u, wantU, space)
		made := space.Made
		set.Checkpointer = nil

		if n := len(checkpoints.Saved); n > 0 {
			at := rapid.IntRange(0, n-1).Draw(rt, "checkpoint")
			space = &spoiling{}
			again := set
			again.Space = space
			res, u = run(resumedFrom(t, again, checkpoints.Saved[at]))
			same("resumed", res, want, u, wantU, space)
		}

		// Wherever room runs out, that is an error and nothing is left.
		space = &spoiling{Limit: rapid.IntRange(1, made).Draw(rt, "room") - 1}
		if space.Limit == 0 {
			return
		}
		set.Space, set.Left = space, solver.NewDenseRows(rows, set.Rank)
		if _, err := solver.SVD(t.Context(), newDense(a), set); !errors.Is(err, errNoRoom) {
			rt.Errorf("room for %d blocks of %d: %v", space.Limit, made, err)
		}
		if space.Blocks() > 0 {
			rt.Errorf("%d blocks are left of a run that failed", space.Blocks())
		}
	})
}

// faulty is a Space that loses what is written to it.
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

// A Space that has lost something ends the run.
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

// Vectors longer than a tile and a window have the same bits, too, and sweeps say
// what they have passed.
func TestSpaceOfLongVectors(t *testing.T) {
	const n = 40000
	a := &weighed{n: n, blind: true}
	for _, m := range []method.Method{
		power.Iteration{}, momentum.Nesterov{}, momentum.NesterovGeneral{}, block.Descent{Columns: 5}, lanczos.Krylov{Columns: 2, Basis: 12},
	} {
		set := solver.Settings{Rank: 3, Method: m, MaxPasses: 25}
		want := must.Get(solver.SVD(t.Context(), a, set))(t)
		space := &spoiling{}
		set.Space = space
		got := must.Get(solver.SVD(t.Context(), a, set))(t)
		if !mat.Equal(got.Right, want.Right) || !slices.Equal(got.Sigma, want.Sigma) {
			t.Errorf("%s: other bits", m.Traits(1).Name)
		}
		if least := 25 * 2 * n; space.Dropped < least {
			t.Errorf("%s: %d numbers have been passed, of %d at least", m.Traits(1).Name, space.Dropped, least)
		}
	}
}

// SpaceFootprint is true to what a run makes, and bounds what it holds.
func TestSpaceFootprint(t *testing.T) {
	const n, k = 1 << 20, 3
	for _, m := range []method.Method{power.Iteration{}, block.Descent{}, lanczos.Krylov{Columns: 2, Basis: 12}} {
		outside, window, inside := solver.SpaceFootprint(m, n, k)
		all := solver.RunFootprint(m, n, k)
		if outside <= 0 || window <= 0 || inside <= 0 || outside > all || outside < all*9/10 {
			t.Errorf("%s: %d bytes outside, %d inside, of %d", m.Traits(1).Name, outside, inside, all)
		}
		// What stays in memory hardly grows.
		_, wider, more := solver.SpaceFootprint(m, 50*n, k)
		if wider != window || more > inside+16<<20 {
			t.Errorf("%s: %d and %d bytes inside for n = %d, %d and %d for 50 times as many", m.Traits(1).Name, window, inside, n, wider, more)
		}
	}
}
