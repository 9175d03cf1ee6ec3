package plan

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestTotal: the temporary bytes of the total are the largest sum of kept and temporary bytes of a step, less those kept.
func TestTotal(t *testing.T) {
	got := total([]Step{
		{Seconds: Exactly(1), Kept: Exactly(100), Temporary: Exactly(500), Memory: Exactly(7)},
		{Seconds: Exactly(2), Kept: Exactly(10), Temporary: Exactly(30), Memory: Range{1, 2, 9}},
		{Seconds: Range{0, 1, 2}, Kept: Exactly(1)},
	})
	want := Step{
		Name: "total", Seconds: Range{3, 4, 5}, Kept: Exactly(111), Temporary: Exactly(600 - 111), Memory: Range{7, 7, 9}, Commands: [][]string{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestEstimated: estimated sizes give ordered ranges; a budget that is too small is refused with the least one.
func TestEstimated(t *testing.T) {
	e := Estimate{
		Path: filepath.Join(t.TempDir(), "a.csr"), Rows: Range{4000, 5000, 9000}, Cols: Range{1500, 2000, 2500}, Entries: 1_000_000,
		Transposes: func(rows, cols int64) bool { return rows < cols }, Store: 3 << 20, Spool: 8 << 20, Peak: 64 << 20, Least: 46 << 20, Seconds: 2,
	}
	in := Expected(e, 1<<30)
	if in.SureRank() != 1500 || !in.Estimated() {
		t.Errorf("rank %d, estimated %t", in.SureRank(), in.Estimated())
	}
	o := Options{Factor: factor.Options{Rank: 10, Tol: 1e-8, Memory: 1 << 30}, Format: "npy"}
	w, err := in.Way(t.Context(), o)
	must.Do(t, err)
	if len(w.Steps) != 3 || w.Steps[0].Name != "ingest" || w.Steps[1].Name != "svd" || w.Steps[2].Name != "export" || w.K != 10 || w.Free == nil {
		t.Errorf("%+v", w)
	}
	for _, s := range append(w.Steps, w.Total) {
		for _, r := range []Range{s.Seconds, s.Kept, s.Temporary, s.Memory, w.Passes, w.Least.SVD} {
			if !(0 <= r.Low && r.Low <= r.Likely && r.Likely <= r.High) {
				t.Errorf("%s: %+v", s.Name, r)
			}
		}
	}
	o.Factor.Memory = 1 << 20
	_, err = in.Way(t.Context(), o)
	var small *MemoryError
	if !errors.As(err, &small) || small.Ingest != e.Least || w.Least.Ingest != e.Least || small.Run != int64(w.Least.SVD.Likely) {
		t.Errorf("%v; the least is %+v", err, w.Least)
	}
}

// TestExportMemory: the memory that exports of U took when measured lies within the planned range.
func TestExportMemory(t *testing.T) {
	for _, c := range []struct {
		rows, cols, mib float64
		format          string
	}{
		{590770, 299457, 99.4, "parquet"}, {590770, 299457, 57, "csv"}, {590770, 299457, 54.5, "mtx"}, {590770, 299457, 22.5, "npy"}, {60000, 784, 45.9, "parquet"},
		{60000, 784, 55.9, "csv"}, {60000, 784, 56.8, "mtx"}, {6040, 3706, 19.4, "parquet"}, {6040, 3706, 36.6, "csv"}, {6040, 3706, 37, "mtx"},
	} {
		in := Expected(Estimate{Path: filepath.Join(t.TempDir(), "a.csr"), Rows: Exactly(c.rows), Cols: Exactly(c.cols), Entries: 1e6, Exact: true, ShapeKnown: true,
			Transposes: func(rows, cols int64) bool { return rows < cols }, Store: 3 << 20, Peak: 64 << 20, Least: 46 << 20, Seconds: 2}, 1<<30)
		w := must.Get(in.Way(t.Context(), Options{Factor: factor.Options{Rank: 50, Tol: 1e-8, Memory: 1 << 30}, Format: c.format}))(t)
		if m := w.Steps[2].Memory; w.Steps[2].Name != "export" || m.Low > c.mib*(1<<20) || m.High < c.mib*(1<<20) || m.High > 90<<20+m.Low {
			t.Errorf("%+v: %+v", c, m)
		}
	}
}

// TestTransposed: the plan of an input that is stored transposed is that of its transpose.
func TestTransposed(t *testing.T) {
	of := func(rows, cols float64, vectors factor.Vectors) *Way {
		in := Expected(Estimate{
			Path: filepath.Join(t.TempDir(), "a.csr"), Rows: Exactly(rows), Cols: Exactly(cols), Entries: 1_000_000, Exact: true, ShapeKnown: true,
			Transposes: func(rows, cols int64) bool { return rows < cols }, Store: 3 << 20, Peak: 64 << 20, Least: 46 << 20, Seconds: 2,
		}, 1<<30)
		return must.Get(in.Way(t.Context(), Options{Factor: factor.Options{Rank: 10, Tol: 1e-8, Memory: 1 << 30, Vectors: vectors}, Format: "npy"}))(t)
	}
	tall, wide := of(500_000, 200, factor.Left), of(200, 500_000, factor.Right)
	if tall.Least != wide.Least || tall.Passes != wide.Passes || !slices.Equal(tall.Flags, wide.Flags) {
		t.Errorf("%+v, %v %v; transposed %+v, %v %v", tall.Least, tall.Passes, tall.Flags, wide.Least, wide.Passes, wide.Flags)
	}
	for i, s := range tall.Steps {
		if o := wide.Steps[i]; s.Kept != o.Kept || s.Memory != o.Memory {
			t.Errorf("%s: %+v on the disk and %+v in memory; transposed %+v and %+v", s.Name, s.Kept, s.Memory, o.Kept, o.Memory)
		}
	}
}
