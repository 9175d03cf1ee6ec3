package report

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/stream"
)

// TestWide: a small store that declares four billion columns exceeds the budget instead of allocating counts of columns.
func TestWide(t *testing.T) {
	store := csrtest.Build(t, csr.MaxCols, [][]csrtest.Entry{{{Col: 1, Val: 2}}}, csr.CreateOptions{})
	err := WriteStore(t.Context(), new(bytes.Buffer), store, Options{Memory: 128 << 20})
	if budget := (*stream.BudgetError)(nil); !errors.As(err, &budget) {
		t.Error(err)
	}
}
