package stream

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/solvertest"
)

// TestRange runs CheckMatrix on a range of blocks, the matrix of their rows, and checks that it keeps the norm of the whole.
func TestRange(t *testing.T) {
	sparse := randomCSR(5, 120, 30, 0.3)
	all := newDisk(sparse)
	a := sparse.ToDense()
	norm, _ := all.Norm()
	from, to := 1, all.NumBlocks()-1
	if to-from < 2 {
		t.Fatalf("%d blocks are too few for the test", all.NumBlocks())
	}
	first, end := int(all.Block(from).FirstRow), int(all.Block(to).FirstRow)
	r := Range(all, from, to)
	m := mustNew(t, r, Options{Workers: 2, Width: 20})
	if got, _ := r.Norm(); got != norm || r.Rows() != int64(end-first) {
		t.Errorf("norm %v and %d rows, want %v and %d", got, r.Rows(), norm, end-first)
	}
	want := mat.DenseCopyOf(a.Slice(first, end, 0, 30))
	m.info.Norm = mat.Norm(want, 2) // CheckMatrix expects the norm of want
	solvertest.CheckMatrix(t, m, want)
}
