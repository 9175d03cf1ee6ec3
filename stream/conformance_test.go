package stream

import (
	"fmt"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
)

// sparseOf returns a as a sparse matrix in memory.
func sparseOf(a *mat.Dense) *sparse.CSR {
	r, c := a.Dims()
	dok := sparse.NewDOK(r, c)
	for i := range r {
		for j := range c {
			if v := a.At(i, j); v != 0 {
				dok.Set(i, j, v)
			}
		}
	}
	return dok.ToCSR()
}

// kinds returns matrices of all shapes, with few or no entries, of full and of lower rank.
func kinds() map[string]*mat.Dense {
	a := map[string]*mat.Dense{
		"random tall": solvertest.Random(60, 12, 1), "random wide": solvertest.Random(12, 60, 2), "square": solvertest.Random(8, 8, 3),
		"single row": solvertest.Random(1, 9, 4), "single column": solvertest.Random(9, 1, 5), "single number": solvertest.Diagonal(1, 1, -3),
		"identity": solvertest.Diagonal(9, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1), "zero": mat.NewDense(6, 4, nil), "zero row": mat.NewDense(1, 4, nil),
		"rank 3": solvertest.WithValues(80, 40, 6, 3, 2, 1), "twelve decades": solvertest.WithValues(30, 13, 7, 1, 1e-3, 1e-6, 1e-9, 1e-12),
		"200 of 210 columns": solvertest.Random(212, 210, 8),
	}
	empty := mat.NewDense(19, 11, nil) // every other row and column
	for i := range 9 {
		for j := range 5 {
			empty.Set(2*i+1, 2*j+1, float64(1+i*j))
		}
	}
	a["empty rows and columns"], a["single entry"] = empty, mat.NewDense(50, 40, nil)
	a["single entry"].Set(17, 23, -2)
	return a
}

// TestInMemoryConforms runs CheckMatrix on matrices in memory.
func TestInMemoryConforms(t *testing.T) {
	for name, a := range kinds() {
		t.Run(name, func(t *testing.T) {
			m := must.Get(FromSparse(sparseOf(a), Options{Workers: 2}))(t)
			solvertest.CheckMatrix(t, m, a)
		})
	}
}

// TestStreamingConforms runs CheckMatrix on matrices of many blocks, with several numbers of workers, within a
// budget, with vectors in a Space, some columns at a time, and on several machines.
func TestStreamingConforms(t *testing.T) {
	for _, shape := range [][2]int{{300, 40}, {20, 90}} {
		sparse := randomCSR(3, shape[0], shape[1], 0.2)
		a := sparse.ToDense()
		src := newDisk(sparse)
		most := Options{Workers: 1, Width: 20}
		streaming := mustNew(t, src, Options{Workers: 1, Width: 20, Once: true}).Plan().Total()
		for _, o := range []Options{
			most, {Workers: 2, Width: 20}, {Workers: 7, Width: 1, Rank: 20}, {Workers: 2, Width: 20, Memory: streaming + 1<<14},
			{Workers: 2, Width: 1, Rank: 20, Space: &memorySpace{}}, {Workers: 1, Width: 2, Rank: 20, Space: &memorySpace{}},
		} {
			t.Run(fmt.Sprintf("%v/%+v", shape, o), func(t *testing.T) {
				m := mustNew(t, src, o)
				solvertest.CheckMatrix(t, m, a)
				if s, ok := o.Space.(*memorySpace); ok && len(s.blocks) > 0 {
					t.Errorf("%d blocks are left in the space", len(s.blocks))
				}
			})
		}
		t.Run(fmt.Sprintf("%v on machines", shape), func(t *testing.T) {
			var m machines
			for from := 0; from < shape[0]; from += 10 {
				part := mat.DenseCopyOf(a.Slice(from, from+10, 0, shape[1]))
				m = append(m, mustNew(t, newInMemory(sparseOf(part), csr.BlockRows, csr.BlockNNZ), Options{Workers: 1}))
			}
			solvertest.CheckMatrix(t, m, a)
		})
	}
}
