package report

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/stream"
)

// A store of a few hundred bytes says that it has four billion columns: they are not counted beyond the budget.
func TestWide(t *testing.T) {
	store := csrtest.Build(t, csr.MaxCols, [][]csrtest.Entry{{{Col: 1, Val: 2}}}, csr.CreateOptions{})
	err := WriteStore(t.Context(), new(bytes.Buffer), store, Options{Memory: 128 << 20})
	if budget := (*stream.BudgetError)(nil); !errors.As(err, &budget) {
		t.Error(err)
	}
}
