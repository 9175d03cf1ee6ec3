package view_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// wide returns a store of a few hundred bytes with the largest possible number of columns.
func wide(t *testing.T, transposed bool) *csr.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wide.csr")
	w, err := csr.Create(path, csr.CreateOptions{Cols: csr.MaxCols, Transposed: transposed, Values: csr.Values{Coding: csr.Constant, Table: []float64{2}}})
	must.Do(t, err)
	for range 3 {
		err = errors.Join(err, w.AppendRow([]uint32{7}, []float64{2}))
	}
	must.Do(t, errors.Join(err, w.Commit()))
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// TestWide checks that no memory proportional to the columns is allocated beyond the budget, and that no loop goes over
// all columns.
func TestWide(t *testing.T) {
	o := stream.Options{Memory: 128 << 20, Workers: 2}
	refused := func(what string, err error) {
		t.Helper()
		if budget := (*stream.BudgetError)(nil); !errors.As(err, &budget) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, transposed := range []bool{false, true} {
		src := wide(t, transposed)
		v := view.Identity(src, transposed)
		_, err := v.Summarise(t.Context(), o, func([]view.Numbers) error { return nil })
		refused("Summarise", err)
		took := time.Hour // the best of three: the machine may be busy
		for range 3 {
			start := time.Now()
			lines, err := v.FirstRows(t.Context(), o, 3, 5)
			if transposed {
				refused("FirstRows", err)
			} else if len(lines) != 3 || err != nil || lines[2].Empty != csr.MaxCols-1 || !slices.Equal(lines[2].Entries, []view.Entry{{Col: 7, Value: 2}}) {
				t.Errorf("%+v, %v", lines, err)
			}
			for _, text := range []string{"center=columns", "tfidf", "center=rows"} {
				p := must.Get(view.Parse(text))(t)
				refused(text, view.Plan(src, p, transposed).Measure(t.Context(), o))
			}
			took = min(took, time.Since(start))
		}
		if took > time.Second {
			t.Errorf("it takes %v", took)
		}
	}
}

// TestLongRow checks that a short block with a row of millions of entries is not decoded beyond the budget.
func TestLongRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.csr")
	const n = 1 << 22
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: n, Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}}))(t)
	cols, vals := make([]uint32, n), make([]float64, n)
	for i := range cols {
		cols[i], vals[i] = uint32(i), 1
	}
	must.Do(t, errors.Join(w.AppendRow(cols, vals), w.Commit()))
	s := csrtest.Open(t, path, csr.OpenOptions{})
	_, err := view.Identity(s, false).FirstRows(t.Context(), stream.Options{Memory: 32 << 20, Workers: 1}, 1, 1)
	if budget := (*stream.BudgetError)(nil); !errors.As(err, &budget) {
		t.Errorf("%d entries of %d bytes: %v", n, s.Size(), err)
	}
}
