package solvertest

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// split is a matrix on the given number of machines, with about equal shares of its rows.
func split(a *mat.Dense, machines int) Machines {
	n, _ := a.Dims()
	machines = min(machines, n)
	var m Machines
	for i := range machines {
		m = append(m, NewDense(mat.DenseCopyOf(rows(a, i*n/machines, (i+1)*n/machines))))
	}
	return m
}

// A matrix in memory and one on several machines are the matrices that they were made of.
func TestCheckMatrix(t *testing.T) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			CheckMatrix(t, NewDense(c.A), c.A)
			for _, machines := range []int{1, 3} {
				CheckMatrix(t, split(c.A, machines), c.A)
			}
		})
	}
}

// The methods do not see how a matrix is stored.
func TestMethodsOnMachines(t *testing.T) {
	for _, c := range Cases() {
		if c.K > 20 {
			continue
		}
		for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
			set := solver.Settings{Rank: c.K, Tol: c.Tol, Operator: operator, MaxPasses: 20_000}
			if operator == solver.Dilation {
				set.Method = momentum.Nesterov{}
			}
			n, _ := c.A.Dims()
			left := solver.NewDenseRows(n, c.K)
			set.Left = left
			res, err := solver.SVD(t.Context(), split(c.A, 3), set)
			if err != nil {
				t.Fatal(c.Name, err)
			}
			Check(t, c.A, set, res, left.Dense)
			CheckValues(t, res, c.Values(), c.Tol)
		}
	}
}
