package csrtest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
)

func TestBuild(t *testing.T) {
	want := [][]csrtest.Entry{{{Col: 1, Val: 2}, {Col: 3, Val: -1}}, nil, {{Col: 0, Val: 2}}}
	if diff := cmp.Diff(want, csrtest.Rows(t, csrtest.Build(t, 4, want, csr.CreateOptions{}))); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	dense := mat.NewDense(3, 4, []float64{0, 2, 0, -1, 0, 0, 0, 0, 2, 0, 0, 0})
	if diff := cmp.Diff(want, csrtest.Rows(t, csrtest.FromDense(t, dense, csr.CreateOptions{}))); diff != "" {
		t.Errorf("from dense (-want +got):\n%s", diff)
	}
}
