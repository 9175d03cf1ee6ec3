package solver_test

import (
	"context"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// cancelling is a matrix whose context is cancelled in a given product.
type cancelling struct {
	*denseMatrix
	left   int // products before the context is cancelled
	cancel func()
	at     func()
}

func (c *cancelling) Run(ctx context.Context, p solver.Pass) (solver.Cost, error) {
	if p.R != nil || p.RowsIn.Func != nil {
		return c.denseMatrix.Run(ctx, p)
	}
	if c.left--; c.left < 0 {
		c.cancel()
		c.at()
		return solver.Cost{}, ctx.Err()
	}
	return c.denseMatrix.Run(ctx, p)
}

// TestCancelledRunLeavesItsSpaceAlone checks that a run cancelled in a pass does not go over its vectors in a Space any more.
func TestCancelledRunLeavesItsSpaceAlone(t *testing.T) {
	sigma := make([]float64, 60)
	for i := range sigma {
		sigma[i] = 1 / float64(i+1)
	}
	a := solvertest.WithValues(90, 60, 3, sigma...)
	for _, method := range []method.Method{lanczos.Krylov{Columns: 1, Basis: 9}, lanczos.Krylov{Columns: 4}, block.Descent{}, power.Iteration{}, momentum.Nesterov{}} {
		for passes := range 12 {
			ctx, cancel := context.WithCancel(t.Context())
			space := &spoiling{}
			var dropped int
			m := &cancelling{denseMatrix: newDense(a), left: passes, cancel: cancel, at: func() { dropped = space.Dropped }}
			res, err := solver.SVD(ctx, m, solver.Settings{Rank: 3, Tol: 1e-14, Seed: 1, Method: method, Space: space, Left: solver.NewDenseRows(90, 3)})
			cancel()
			must.Do(t, err)
			if m.left >= 0 {
				continue // the run has converged before
			}
			if res.Status != solver.Cancelled || res.Right != nil || res.Certified || res.Converged != 0 || len(res.Sigma) != 3 || res.Residuals[2] != 1 {
				t.Errorf("%s, pass %d: %+v", method.Traits(1).Name, passes, res)
			}
			if n := space.Dropped - dropped; n > 0 {
				t.Errorf("%s, pass %d: went over %d numbers of its vectors after it was cancelled", method.Traits(1).Name, passes, n)
			}
			if space.Blocks() != 0 {
				t.Errorf("%s, pass %d: %d blocks are left", method.Traits(1).Name, passes, space.Blocks())
			}
		}
	}
}

// endingSpace is a Space that cancels the context of a run after a given number of evicted windows.
type endingSpace struct {
	spoiling
	windows, at int64 // evicted so far, and the window that cancels; 0: none
	cancel      func()
	after       int64       // float64s evicted after that, without those of checkpoints
	ended       atomic.Bool // the context has been cancelled
	saving      atomic.Bool
}

func (s *endingSpace) Evict(x []float64) {
	s.spoiling.Evict(x)
	switch {
	case atomic.AddInt64(&s.windows, 1) == s.at:
		s.cancel()
		s.ended.Store(true)
	case s.ended.Load() && !s.saving.Load():
		atomic.AddInt64(&s.after, int64(len(x)))
	}
}

// keeper keeps the last checkpoint of a run in an endingSpace.
type keeper struct {
	checkpoints
	space *endingSpace
}

func (k *keeper) Save(write func(io.Writer) error) error {
	k.space.saving.Store(true)
	defer k.space.saving.Store(false)
	return k.checkpoints.Save(write)
}

// TestCancelledSweepEnds checks that a run cancelled in a sweep over vectors in a Space ends after the windows
// its workers are in, at any window, and continues from its last checkpoint to the same bits.
func TestCancelledSweepEnds(t *testing.T) {
	const n, rank, columns, tile = 1 << 16, 3, 24, 1 << 14
	a := solvertest.Random(8, n, 5)
	a.Apply(func(i, _ int, x float64) float64 { return x / float64(int(1)<<i) }, a)
	run := func(set solver.Settings, at int64) (*solver.Result, *endingSpace, *keeper) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		space := &endingSpace{at: at, cancel: cancel}
		keep := &keeper{space: space}
		set.Space, set.Checkpointer, set.Left = space, keep, solver.NewDenseRows(8, rank)
		res, err := solver.SVD(ctx, newDense(a), set)
		if err != nil {
			t.Fatalf("cancelled in window %d: %v", at, err)
		}
		return res, space, keep
	}
	cases := []struct {
		method method.Method
		init   bool
		tries  int64
	}{
		{lanczos.Krylov{Columns: 2, Basis: 6}, false, 21}, {lanczos.Krylov{Columns: 2, Basis: 6}, true, 16},
		{block.Descent{Columns: 4}, false, 11}, {momentum.Nesterov{}, false, 6},
	}
	for _, c := range cases[:longtest.Pick(4, 1)] {
		set := solver.Settings{Rank: rank, Tol: 1e-4, Seed: 1, Method: c.method, Workers: 2}
		if c.init {
			set.Init = solvertest.Random(n, rank, 2)
		}
		if !longtest.On() {
			c.tries = 3
		}
		want, space, _ := run(set, 0)
		for try := range c.tries {
			at := 1 + (space.windows-1)*try/(c.tries-1)
			res, cut, keep := run(set, at)
			if most := int64(columns * tile); cut.after > most {
				t.Errorf("%s: cancelled in window %d of %d: went over %d numbers more, at most %d are in the windows", c.method.Traits(1).Name, at, space.windows, cut.after, most)
			}
			if try == c.tries-1 { // after the last loop
				continue
			}
			if res.Status != solver.Cancelled || res.Right != nil || cut.Blocks() != 0 {
				t.Fatalf("%s: cancelled in window %d of %d: %v, %d blocks are left", c.method.Traits(1).Name, at, space.windows, res.Status, cut.Blocks())
			}
			if len(keep.Saved) == 0 || try%5 != 0 {
				continue
			}
			saved := keep.Saved[len(keep.Saved)-1]
			if res, cut, again := run(resumedFrom(t, set, saved), 3); res.Status != solver.Cancelled || cut.after > columns*tile || len(again.Saved) > 0 || cut.Blocks() != 0 {
				t.Errorf("%s: cancelled while it reads a checkpoint: %v, %d numbers more, %d checkpoints, %d blocks are left", c.method.Traits(1).Name, res.Status, cut.after, len(again.Saved), cut.Blocks())
			}
			got, _, _ := run(resumedFrom(t, set, saved), 0)
			if !slices.Equal(got.Sigma, want.Sigma) || !mat.Equal(got.Right, want.Right) || got.Stats.Passes != want.Stats.Passes {
				t.Errorf("%s: cancelled in window %d of %d and continued: other bits", c.method.Traits(1).Name, at, space.windows)
			}
		}
	}
}

// TestCancelledSweepEndsEigen checks the same of Eigen, whose residuals are then NaN: it has no estimates.
func TestCancelledSweepEndsEigen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	space := &endingSpace{at: 99, cancel: cancel}
	res, err := solver.Eigen(ctx, solver.GramOf(newDense(solvertest.Random(8, 1<<16, 5))), solver.Settings{Rank: 3, Space: space})
	if err != nil || res.Status != solver.Cancelled || res.Vectors != nil || len(res.Values) != 3 || res.Seen[2] != 1 || !math.IsNaN(res.Residuals[0]) || space.Blocks() != 0 {
		t.Errorf("%+v, error %v, %d blocks are left", res, err, space.Blocks())
	}
}
