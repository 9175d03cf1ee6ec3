package solver_test

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/solvertest"
)

// cancelling is a matrix whose context ends in a certain product.
type cancelling struct {
	*solvertest.Dense
	left   int // products until then
	cancel func()
	at     func()
}

func (c *cancelling) Apply(ctx context.Context, dst, x *mat.Dense) error {
	if c.left--; c.left < 0 {
		c.cancel()
		c.at()
		return ctx.Err()
	}
	return c.Dense.Apply(ctx, dst, x)
}

// A run with vectors in files that is cancelled in a pass goes over none of them any more.
func TestCancelledRunLeavesItsSpaceAlone(t *testing.T) {
	sigma := make([]float64, 60)
	for i := range sigma {
		sigma[i] = 1 / float64(i+1)
	}
	a := solvertest.WithValues(90, 60, 3, sigma...)
	for _, method := range []solver.Method{solver.Krylov{Columns: 1, Basis: 9}, solver.Krylov{Columns: 4}, solver.Block{}, solver.Power{}, solver.Nesterov{}} {
		for passes := range 12 {
			ctx, cancel := context.WithCancel(t.Context())
			space := &solvertest.Space{}
			var dropped int
			m := &cancelling{Dense: solvertest.NewDense(a), left: passes, cancel: cancel, at: func() { dropped = space.Dropped }}
			res, err := solver.SVD(ctx, m, solver.Settings{Rank: 3, Tol: 1e-14, Seed: 1, Method: method, Space: space, Left: solver.NewDenseRows(90, 3)})
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			if m.left >= 0 {
				continue // it has converged before
			}
			if res.Status != solver.Cancelled || res.Right != nil || res.Certified || res.Converged != 0 || len(res.Sigma) != 3 || res.Residuals[2] != 1 {
				t.Errorf("%s, pass %d: %+v", method.Name(), passes, res)
			}
			if n := space.Dropped - dropped; n > 0 {
				t.Errorf("%s, pass %d: went over %d numbers of its vectors after it was cancelled", method.Name(), passes, n)
			}
			if space.Blocks() != 0 {
				t.Errorf("%s, pass %d: %d blocks are left", method.Name(), passes, space.Blocks())
			}
		}
	}
}
