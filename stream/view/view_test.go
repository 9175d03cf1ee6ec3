package view

import (
	"fmt"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// stored returns a store of a matrix, or of its transpose.
func stored(t testing.TB, a *mat.Dense, transposed bool) *csr.Store {
	t.Helper()
	var m mat.Matrix = a
	if transposed {
		m = a.T()
	}
	rows, cols := m.Dims()
	entries := make([][]csrtest.Entry, rows)
	for i := range rows {
		for j := range cols {
			if v := m.At(i, j); v != 0 {
				entries[i] = append(entries[i], csrtest.Entry{Col: uint32(j), Val: v})
			}
		}
	}
	return csrtest.Build(t, int64(cols), entries, csr.CreateOptions{Transposed: transposed})
}

// inMemory returns a Source of a matrix, or of its transpose, in memory.
func inMemory(a *mat.Dense, transposed bool) stream.Source {
	var m mat.Matrix = a
	if transposed {
		m = a.T()
	}
	rows, cols := m.Dims()
	dok := sparse.NewDOK(rows, cols)
	for i := range rows {
		for j := range cols {
			if v := m.At(i, j); v != 0 {
				dok.Set(i, j, v)
			}
		}
	}
	return stream.InMemory(dok.ToCSR())
}

// matrixOf returns the view and the matrix of a pipeline over a store.
func matrixOf(t testing.TB, store *csr.Store, text string, o stream.Options) (*View, *stream.Matrix) {
	t.Helper()
	p := must.Get(Parse(text))(t)
	v, err := New(t.Context(), store, p, store.Transposed(), o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m := must.Get(stream.NewFrom(v, o))(t)
	return v, m
}

// dense returns the elements of a matrix, by its product with I, in the orientation of the user.
func dense(t testing.TB, m *stream.Matrix, transposed bool) *mat.Dense {
	t.Helper()
	n := m.Info().Cols
	one := mat.NewDense(n, n, nil)
	for i := range n {
		one.Set(i, i, 1)
	}
	b := mat.NewDense(int(m.Info().Rows), n, nil)
	must.Get(m.Run(t.Context(), solver.Pass{X: one, RowsOut: solver.Rows{Block: b}}))(t)
	if transposed {
		return mat.DenseCopyOf(b.T())
	}
	return b
}

// TestStepsAgreeWithOracles compares every step with the results of other programs, in both orientations.
func TestStepsAgreeWithOracles(t *testing.T) {
	a := denseOf(oracleMatrix)
	for _, transposed := range []bool{false, true} {
		store := stored(t, a, transposed)
		for text, rows := range oracles {
			t.Run(fmt.Sprintf("%s/%t", text, transposed), func(t *testing.T) {
				_, m := matrixOf(t, store, text, stream.Options{Workers: 2, Width: 8})
				want := denseOf(rows)
				if e := relative(dense(t, m, transposed), want); !(e < 1e-13) {
					t.Errorf("off by %g\n%.5v\n%.5v", e, mat.Formatted(dense(t, m, transposed)), mat.Formatted(want))
				}
				if transposed {
					want = mat.DenseCopyOf(want.T())
				}
				solvertest.CheckMatrix(t, m, want)
			})
		}
	}
}
