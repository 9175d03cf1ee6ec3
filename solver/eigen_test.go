package solver_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

func TestEigen(t *testing.T) {
	for _, c := range hardCases() {
		if c.Unreachable {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			d := newDense(c.A)
			res := must.Get(solver.Eigen(t.Context(), solver.GramOf(d), solver.Settings{Rank: c.K, Method: power.Iteration{}, Tol: c.Tol, MaxPasses: 200_000}))(t)
			if res.Stats.Passes != d.Passes {
				t.Errorf("%d passes counted, there were %d", res.Stats.Passes, d.Passes)
			}
			want := c.Values()
			g := gram(c.A)
			converged := 0
			for i, l := range res.Values {
				w := 0.0
				if i < len(want) {
					w = want[i]
				}
				// The bound is linear in the residual; the error itself is not.
				top := want[0] * want[0]
				bound := 2*c.Tol*math.Max(w, 1e-8*want[0])*want[0] + 1e-14*top
				if math.Abs(l-w*w) > bound {
					t.Errorf("λ[%d] = %.15g, want %.15g", i, l, w*w)
				}
				var x mat.VecDense
				v := res.Vectors.ColView(i)
				x.MulVec(g, v)
				x.AddScaledVec(&x, -l, v)
				if r := mat.Norm(&x, 2); r > 2*res.Residuals[i]*math.Sqrt(math.Max(l, 0)*top)+2e-15*top && l > 1e-12*top {
					t.Errorf("pair %d: residual %.3g·λ₁ is reported as %.3g", i, r/top, res.Residuals[i])
				}
				if res.Residuals[i] <= c.Tol {
					converged++
				}
			}
			if res.Converged != converged || (res.Status == solver.Converged) != (converged == c.K) {
				t.Errorf("%v, converged %d, want %d", res.Status, res.Converged, converged)
			}
		})
	}
}

func TestEigenEnds(t *testing.T) {
	a := solvertest.WithValues(20, 10, 1, 4, 2, 1)
	for limit := 1; limit < 30; limit++ {
		d := newDense(a)
		res, err := solver.Eigen(t.Context(), solver.GramOf(d), solver.Settings{Rank: 3, Method: gd.Descent{}, MaxPasses: limit})
		if err != nil || d.Passes != limit || res.Status != solver.PassLimit {
			t.Fatalf("limit %d: %v after %d passes, %v", limit, res.Status, d.Passes, err)
		}
		for _, r := range res.Residuals {
			if math.IsNaN(r) {
				t.Errorf("limit %d: residuals %g", limit, res.Residuals)
			}
		}
	}
	full := must.Get(solver.Eigen(t.Context(), solver.GramOf(newDense(a)), solver.Settings{Rank: 3, Method: gd.Descent{}}))(t)
	for _, at := range []int{1, 5, full.Stats.Passes} {
		fault := errors.New("fault")
		ctx, cancel := context.WithCancel(t.Context())
		for _, c := range []struct {
			hook func(int) error
			want error
		}{
			{failAt(at, fault), fault},
			{cancelAt(at, cancel), nil},
		} {
			d := newDense(a)
			d.Hook = c.hook
			res, err := solver.Eigen(ctx, solver.GramOf(d), solver.Settings{Rank: 3, Method: gd.Descent{}})
			if !errors.Is(err, c.want) {
				t.Errorf("pass %d: got %v, want %v", at, err, c.want)
			}
			if c.want == nil && (res.Status != solver.Cancelled || !math.IsNaN(res.Residuals[0]) || len(res.Values) != 3) {
				t.Errorf("cancelled in pass %d: %+v", at, res)
			}
		}
		cancel()
		o := func(e solver.Event) error {
			if e.Pass == at {
				return fault
			}
			return nil
		}
		if _, err := solver.Eigen(t.Context(), solver.GramOf(newDense(a)), solver.Settings{Rank: 3, Method: gd.Descent{}, Observer: o}); !errors.Is(err, fault) {
			t.Errorf("observer at pass %d: got %v", at, err)
		}
	}
}
