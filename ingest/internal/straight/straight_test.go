package straight

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestEmptyRowsEndWithContext: a cancelled context ends the writing of empty rows; few bytes can declare billions.
func TestEmptyRowsEndWithContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	staging := must.Get(csr.Stage(vfs.OS(), path, false))(t)
	ctx, cancel := context.WithCancel(t.Context())
	w, err := Create(ctx, path, csr.CreateOptions{
		FS: vfs.OS(), Cols: 1, Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}, Staging: staging, Source: map[string]any{},
	})
	must.Do(t, err)
	if err := errors.Join(w.End(10), w.End(10), w.Row(12, []uint32{0}, []float64{1}), w.End(20)); err != nil || w.Rows() != 20 {
		t.Errorf("%d rows, %v", w.Rows(), err)
	}
	cancel()
	for _, err := range []error{w.End(30), w.Row(40, []uint32{0}, []float64{1})} {
		if !errors.Is(err, context.Canceled) || w.Rows() != 20 {
			t.Errorf("%d rows, %v", w.Rows(), err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
}
