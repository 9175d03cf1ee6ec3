package solver

import (
	"context"
	"testing"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// counted counts the vectors that are formed one at a time.
type counted struct {
	lanczos.Krylov
	formed *int
}

func (c counted) New(r method.Run) method.Recurrence { return countedRun{c.Krylov.New(r), c.formed} }

type countedRun struct {
	method.Recurrence
	formed *int
}

func (c countedRun) Vector(dst []float64, j int) {
	*c.formed++
	c.Recurrence.Vector(dst, j)
}

// TestEstimatesAreFormedTogether checks that the estimates of an interrupted run are formed
// together: forming one vector alone goes over the whole basis.
func TestEstimatesAreFormedTogether(t *testing.T) {
	const n, rank = 200, 12
	ctx, cancel := context.WithCancel(t.Context())
	vectors := 0
	op := make(diagonalOperator, n)
	for i := range op {
		op[i] = float64(n - i)
	}
	res, err := Eigen(ctx, op, Settings{
		Rank: rank, Seed: 1, Method: counted{lanczos.Krylov{Columns: 3, Basis: 60}, &vectors},
		Observer: func(e Event) error {
			if e.Pass == 9 {
				cancel()
			}
			return nil
		},
	})
	if err != nil || res.Status != Cancelled || vectors > 0 {
		t.Fatalf("%v, error %v, %d vectors formed alone", res, err, vectors)
	}
	if g := heap.GramOf(res.Vectors); !(tallskinny.Orthogonality(g) < 1e-13) || res.Values[0] > n || !(res.Values[0] > 0.9*n) || !(res.Seen[0] < 0.1) {
		t.Errorf("%v seen within %v, orthonormal to %v", res.Values, res.Seen, tallskinny.Orthogonality(g))
	}
}
