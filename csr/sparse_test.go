package csr_test

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSparse writes and reads back matrices of every orientation.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	for _, c := range []struct {
		r, c       int
		transposed bool
	}{{30, 7, false}, {7, 30, true}, {9, 9, false}, {1, 50, true}, {50, 1, false}} {
		dok := sparse.NewDOK(c.r, c.c)
		for range c.r * c.c / 2 {
			dok.Set(rng.IntN(c.r), rng.IntN(c.c), rng.NormFloat64())
		}
		want := dok.ToDense()
		path := filepath.Join(t.TempDir(), "x.csr")
		must.Do(t, csr.FromSparse(path, dok.ToCSR(), csr.CreateOptions{}))
		requireSound(t, path)
		s := open(t, path)
		if s.Transposed() != c.transposed || s.Rows() != int64(max(c.r, c.c)) || s.Cols() != int64(min(c.r, c.c)) {
			t.Errorf("%d × %d: stored as %d × %d, transposed %v", c.r, c.c, s.Rows(), s.Cols(), s.Transposed())
		}
		got := must.Get(s.ToSparse())(t)
		if got.NNZ() != dok.NNZ() || !mat.Equal(got.ToDense(), want) {
			t.Errorf("%d × %d: came back different", c.r, c.c)
		}
	}
}

// TestFromSparseOrder checks that entries of a row may come in any order, and that duplicates and columns out of range
// are errors.
func TestFromSparseOrder(t *testing.T) {
	dir := t.TempDir()
	m := sparse.NewCSR(2, 3, []int{0, 3, 4}, []int{2, 0, 1, 1}, []float64{3, 1, 2, 4})
	for name, m := range map[string]*sparse.CSR{"rows": m, "wide": m.T().(*sparse.CSC).ToCSR()} {
		path := filepath.Join(dir, name)
		must.Do(t, csr.FromSparse(path, m, csr.CreateOptions{}))
		got, err := open(t, path).ToSparse()
		if err != nil || !mat.Equal(got, m) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
	for name, m := range map[string]*sparse.CSR{
		"twice":        sparse.NewCSR(3, 3, []int{0, 2, 2, 2}, []int{1, 1}, []float64{1, 1}),
		"beyond":       sparse.NewCSR(3, 3, []int{0, 1, 1, 1}, []int{3}, []float64{1}),
		"below":        sparse.NewCSR(3, 3, []int{0, 1, 1, 1}, []int{-1}, []float64{1}),
		"beyond, wide": sparse.NewCSR(1, 3, []int{0, 1}, []int{3}, []float64{1}),
		"below, wide":  sparse.NewCSR(1, 3, []int{0, 1}, []int{-1}, []float64{1}),
		"twice, wide":  sparse.NewCSR(2, 3, []int{0, 2, 2}, []int{1, 1}, []float64{1, 1}),
	} {
		err := csr.FromSparse(filepath.Join(dir, name), m, csr.CreateOptions{})
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if name == "twice, wide" && !strings.Contains(err.Error(), "transpose of a wide sparse matrix: write row 1: column 0 after 0") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
