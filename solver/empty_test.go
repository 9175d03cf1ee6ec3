package solver_test

import (
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/all"
)

// TestEmptyColumns checks that right vectors and eigenvectors are 0 in columns without entries, for
// every method and a coarse tolerance, although the start vectors are not.
func TestEmptyColumns(t *testing.T) {
	rows := solvertest.Random(60, 40, 3)
	empty := []int{0, 17, 18, 39}
	for _, j := range empty {
		for i := range 60 {
			rows.Set(i, j, 0)
		}
	}
	var symmetric mat.Dense
	symmetric.Mul(rows.T(), rows)
	for _, m := range all.Methods() {
		name := m.Traits(3).Name
		for _, which := range append(whiches, solver.Semidefinite) {
			set, a := solver.Settings{Rank: 3, Tol: 1e-3, Method: m, Which: which, Operator: solver.Symmetric}, &symmetric
			if which == solver.SmallestAlgebraic {
				a = mat.DenseCopyOf(a)
				a.Scale(-1, a)
			}
			var u *mat.Dense
			if which == solver.Semidefinite {
				a, set.Operator = rows, solver.Gram
				left := solver.NewDenseRows(60, 3)
				set.Left, u = left, left.Dense
			}
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
			if which == solver.Semidefinite {
				checkResult(t, a, set, res, u)
			}
			for _, j := range empty {
				if x := floats.Norm(res.Right.RawRowView(j), 2); x != 0 || res.OrthRight > 1e-14 {
					t.Errorf("%s, %v: %.3g in column %d, orthogonal to %.3g", name, which, x, j, res.OrthRight)
				}
			}
		}
	}
}
