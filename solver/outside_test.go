package solver

import (
	"context"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/outside"
)

// diagonalOperator is the operator of a diagonal matrix.
type diagonalOperator []float64

func (d diagonalOperator) Dim() int { return len(d) }

func (d diagonalOperator) Apply(ctx context.Context, dst, x *mat.Dense) error {
	for i, v := range d {
		for j, y := range x.RawRowView(i) {
			dst.Set(i, j, v*y)
		}
	}
	return ctx.Err()
}

// TestLeadingIsOneRule checks that Outside.Leading and the status Converged of a run from given
// vectors agree, for bounds around the threshold 2·Tol·σ₁.
func TestLeadingIsOneRule(t *testing.T) {
	const tol = 1e-4
	sigma := []float64{10, 4, 2}
	for _, linear := range []bool{false, true} {
		for _, c := range []struct {
			above float64 // the bound minus the least value, in units of Tol·σ₁
			known bool
			want  bool
		}{{-1, true, true}, {0.5, true, true}, {1.5, true, true}, {1.99, true, true}, {2.1, true, false}, {100, true, false}, {0, false, false}} {
			r := &run{
				s: Settings{Rank: len(sigma), Tol: tol, Stop: StopResidual}, n: 50, found: &found.Pairs{Linear: linear},
			}
			r.found.Lambda1 = r.found.Eigenvalue(sigma[0])
			value := r.found.Eigenvalue(sigma[2] + c.above*tol*sigma[0])
			r.outside = outside.Watch{
				Bound: outside.Bound{Known: c.known, Steps: 5, Value: value, Probability: outside.Probability},
				Found: r.found, Wanted: true, Rank: len(sigma), Tol: tol,
			}
			f := &factorisation{run: r}
			r.cert = &certificate.Certificate{Sigma: sigma, Norm: sigma[0], Frobenius: 20, Rank: 3, Residuals: make([]float64, 3), Floor: make([]float64, 3)}
			o := r.beyond(sigma, 20)
			if o.Leading != c.want || (f.outcome(PassLimit, false) == Converged) != c.want {
				t.Errorf("linear %v, %g·Tol·σ₁ above the least value, known %v: %+v, %v", linear, c.above, c.known, o, f.outcome(PassLimit, false))
			}
		}
	}
}
