package evaluate

import (
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/stream"
)

// TestWide: small stores that declare four billion columns exceed the budget instead of allocating sums of the columns.
func TestWide(t *testing.T) {
	rows := [][]csrtest.Entry{{{Col: 1, Val: 2}}, {{Col: 1, Val: 2}}}
	for _, transposed := range []bool{false, true} {
		store := csrtest.Build(t, csr.MaxCols, rows, csr.CreateOptions{Transposed: transposed})
		_, err := Run(t.Context(), store, store, Options{Ranks: []int{1}, Metrics: []Metric{{Kind: RMSE}}, Dir: t.TempDir(), Memory: 128 << 20})
		if budget := (*stream.BudgetError)(nil); !errors.As(err, &budget) {
			t.Error(err)
		}
	}
}
