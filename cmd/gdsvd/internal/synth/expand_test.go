package synth

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// randomStore returns a rows×cols store with some empty rows and entries drawn from values.
func randomStore(t testing.TB, rows, cols int, transposed bool, values []float64, seed uint64) *csr.Store {
	r := rand.New(rand.NewPCG(seed, 1))
	all := make([][]csrtest.Entry, rows)
	for i := range all {
		if r.IntN(10) == 0 {
			continue
		}
		for j := range cols {
			if r.IntN(3) == 0 {
				all[i] = append(all[i], csrtest.Entry{Col: uint32(j), Val: values[r.IntN(len(values))]})
			}
		}
	}
	return csrtest.Build(t, int64(cols), all, csr.CreateOptions{Transposed: transposed})
}

// denseOf returns the matrix of a store in the user's orientation.
func denseOf(t testing.TB, s *csr.Store) *mat.Dense {
	t.Helper()
	m := must.Get(s.ToSparse())(t)
	return m.ToDense()
}

func expandTo(t testing.TB, e *Expansion, o WriteOptions) (*csr.Store, *csr.Truth) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kron.csr")
	must.Do(t, e.Write(t.Context(), path, o))
	s := csrtest.Open(t, path, csr.OpenOptions{})
	truth, err := s.Truth()
	if err != nil || truth == nil {
		t.Fatalf("truth %v, %v", truth, err)
	}
	return s, truth
}

// TestExpandIsKronecker: the store equals a dense Kronecker product, and its truth the dense decomposition.
func TestExpandIsKronecker(t *testing.T) {
	many := make([]float64, 300)
	for i := range many {
		many[i] = math.Sqrt(float64(i + 2))
	}
	for _, c := range []struct {
		name       string
		rows, cols int
		transposed bool
		values     []float64
		factor     Factor
		coding     csr.Coding
	}{
		{"ratings", 12, 7, false, []float64{1, 2, 3, 4, 5}, Factor{Rows: 3, Cols: 2, NNZ: 4, Seed: 1}, csr.Dict4},
		{"transposed", 12, 7, true, []float64{1, 2, 3, 4, 5}, Factor{Rows: 2, Cols: 3, NNZ: 5, Seed: 2}, csr.Dict4},
		{"signs", 12, 7, false, []float64{1, 2, 3}, Factor{Rows: 2, Cols: 2, NNZ: 3, Seed: 3, Values: []float64{-1, 1}}, csr.Dict4},
		{"constant", 12, 7, false, []float64{2}, Factor{Rows: 3, Cols: 3, NNZ: 9, Seed: 4, Values: []float64{2}}, csr.Constant},
		{"dictionary", 12, 12, false, many[:100], Factor{Rows: 3, Cols: 3, NNZ: 5, Seed: 5}, csr.Dict8},
		{"no table", 60, 50, false, many, Factor{Rows: 2, Cols: 2, NNZ: 3, Seed: 6, Values: []float64{4, -0.25}}, csr.Float64},
		{"single", 9, 9, false, []float64{1, 7}, Factor{Rows: 1, Cols: 1, NNZ: 1, Seed: 7, Values: []float64{1}}, csr.Dict4},
		{"solved", denseSide + 1, 15, false, []float64{1, 2, 3, 4, 5}, Factor{Rows: 2, Cols: 2, NNZ: 3, Seed: 8}, csr.Dict4},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := randomStore(t, c.rows, c.cols, c.transposed, c.values, c.factor.Seed)
			e := &Expansion{Factor: c.factor, Base: base}
			s, truth := expandTo(t, e, WriteOptions{})
			var want mat.Dense
			want.Kronecker(c.factor.Matrix(), denseOf(t, base))
			got := denseOf(t, s)
			if !mat.Equal(got, &want) {
				t.Fatal("the store is not the Kronecker product")
			}
			rows, cols, nnz, err := e.Dims()
			if err != nil || rows != s.Rows() || cols != s.Cols() || nnz != s.NNZ() || s.Transposed() != c.transposed {
				t.Errorf("%d × %d, %d entries, transposed %v, where Dims says %d × %d, %d, %v",
					s.Rows(), s.Cols(), s.NNZ(), s.Transposed(), rows, cols, nnz, err)
			}
			if s.Values().Coding != c.coding {
				t.Errorf("values coded as %v, want %v", s.Values().Coding, c.coding)
			}
			checkTruth(t, truth, dense(&want))
			if !truth.Complete {
				t.Error("not complete, though small")
			}
			report, err := csr.Check(t.Context(), s.Path(), csr.CheckOptions{})
			if err != nil || len(report.Problems)+len(report.Warnings) > 0 {
				t.Errorf("check: %v, %v, %v", err, report.Problems, report.Warnings)
			}
		})
	}
}

// checkTruth compares the values of truth with those of a dense decomposition.
func checkTruth(t *testing.T, truth *csr.Truth, want []float64) {
	t.Helper()
	if len(truth.Sigma) > len(want) || truth.Error > 1e-9 {
		t.Fatalf("%d values of %d, error %g", len(truth.Sigma), len(want), truth.Error)
	}
	for i, s := range truth.Sigma {
		if math.Abs(s-want[i]) > (truth.Error+1e-13)*want[0] {
			t.Errorf("value %d is %v, want %v, stated error %g", i, s, want[i], truth.Error)
		}
	}
	for i := len(truth.Sigma); truth.Complete && i < len(want); i++ {
		if want[i] > 1e-13*want[0] {
			t.Errorf("value %d is %v and not in the truth, said to be complete", i, want[i])
		}
	}
}

// TestExpandTruthOfLargeBase: if the base has more values than are computed, the truth is a prefix of all values.
func TestExpandTruthOfLargeBase(t *testing.T) {
	base := randomStore(t, 500, 220, false, []float64{1, 2, 3, 4, 5}, 9)
	e := &Expansion{Factor: Factor{Rows: 3, Cols: 3, NNZ: 6, Seed: 9}, Base: base}
	_, truth := expandTo(t, e, WriteOptions{})
	if len(truth.Sigma) < leading || truth.Complete {
		t.Errorf("%d values, complete %v", len(truth.Sigma), truth.Complete)
	}
	checkTruth(t, truth, expandedValues(t, e))
}

// expandedValues returns the singular values of an expansion, computed with dense matrices.
func expandedValues(t *testing.T, e *Expansion) (values []float64) {
	for _, f := range dense(e.Factor.Matrix()) {
		for _, b := range dense(denseOf(t, e.Base)) {
			values = append(values, f*b)
		}
	}
	slices.Sort(values)
	slices.Reverse(values)
	return values
}

// TestExpandDeterministic: equal arguments give equal bytes, for any memory.
func TestExpandDeterministic(t *testing.T) {
	base := randomStore(t, 450, 60, false, []float64{1, 2, 3, 4, 5}, 3)
	var first map[string]string
	for _, memory := range []int64{0, 64 << 20} {
		s, _ := expandTo(t, &Expansion{Factor: Factor{Rows: 3, Cols: 2, NNZ: 5, Seed: 4}, Base: base}, WriteOptions{Memory: memory, ShardSize: 2000})
		files := map[string]string{}
		for _, e := range must.Get(os.ReadDir(s.Path()))(t) {
			b := must.Get(os.ReadFile(filepath.Join(s.Path(), e.Name())))(t)
			files[e.Name()] = string(b)
		}
		if first == nil {
			first = files
		}
		for name := range files {
			if first[name] != files[name] {
				t.Errorf("%s differs", name)
			}
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	base := randomStore(t, 10, 8, false, []float64{1, 1.1}, 1)
	for _, c := range []struct {
		factor Factor
		want   string
	}{
		{Factor{Rows: 0, Cols: 1, NNZ: 1}, "at least 1 × 1"},
		{Factor{Rows: 1 << 12, Cols: 1 << 11, NNZ: 1 << 12}, "at most"},
		{Factor{Rows: 3, Cols: 2, NNZ: 2}, "want 3 to 6"},
		{Factor{Rows: 3, Cols: 2, NNZ: 7}, "want 3 to 6"},
		{Factor{Rows: 2, Cols: 2, NNZ: 2, Values: []float64{0}}, "entries of 0"},
		{Factor{Rows: 2, Cols: 2, NNZ: 2, Values: []float64{math.NaN()}}, "entries of NaN"},
		{Factor{Rows: 2, Cols: 2, NNZ: 2, Values: []float64{1.1}}, "not exact"},
		{Factor{Rows: 2, Cols: 2, NNZ: 2, Values: []float64{math.MaxFloat64}}, "not exact"},
		{Factor{Rows: 1, Cols: 2, NNZ: 2}, "fewer rows than columns"},
	} {
		path := filepath.Join(t.TempDir(), "kron.csr")
		err := (&Expansion{Factor: c.factor, Base: base}).Write(t.Context(), path, WriteOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.factor, err, c.want)
		}
		left(t, path)
	}
}

// TestExpandRefusesInOrientation: an error has the shapes and sides of the user's matrix, however it is stored.
func TestExpandRefusesInOrientation(t *testing.T) {
	for _, c := range []struct {
		transposed bool
		factor     Factor
		want       string
	}{
		{false, Factor{Rows: 1, Cols: 2, NNZ: 2}, "expand a 10 × 8 matrix by 1 × 2: it is stored by rows and would have fewer rows than columns; give the factor more rows"},
		{true, Factor{Rows: 2, Cols: 1, NNZ: 2}, "expand a 8 × 10 matrix by 2 × 1: it is stored by columns and would have fewer columns than rows; give the factor more columns"},
	} {
		_, _, _, err := (&Expansion{Factor: c.factor, Base: randomStore(t, 10, 8, c.transposed, []float64{1}, 1)}).Dims()
		if err == nil || err.Error() != c.want {
			t.Errorf("transposed %t: %v, want %q", c.transposed, err, c.want)
		}
	}
}

// left fails if the directory of path is not empty.
func left(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestExpandCancelled(t *testing.T) {
	base := randomStore(t, 450, 20, false, []float64{1, 2}, 1)
	for _, at := range []Stage{StageTruth, StageWrite} {
		ctx, cancel := context.WithCancel(t.Context())
		path := filepath.Join(t.TempDir(), "kron.csr")
		err := (&Expansion{Factor: Factor{Rows: 4, Cols: 4, NNZ: 8}, Base: base}).Write(ctx, path, WriteOptions{
			Progress: func(stage Stage, _, _ int64) {
				if stage == at {
					cancel()
				}
			},
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("at %s: %v", at, err)
		}
		left(t, path)
	}
}

// TestFactorMatrix: a factor has the given number of entries, some in each row and column, the same for the same seed.
func TestFactorMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Factor{Rows: rapid.IntRange(1, 12).Draw(t, "rows"), Cols: rapid.IntRange(1, 12).Draw(t, "cols"), Seed: rapid.Uint64().Draw(t, "seed")}
		f.NNZ = rapid.IntRange(max(f.Rows, f.Cols), f.Rows*f.Cols).Draw(t, "nnz")
		m := f.Matrix()
		if n := floats.Count(func(v float64) bool { return v != 0 }, m.RawMatrix().Data); n != f.NNZ {
			t.Fatalf("%d entries, want %d", n, f.NNZ)
		}
		for i := range f.Rows {
			if mat.Norm(m.RowView(i), 1) == 0 {
				t.Fatalf("row %d is empty", i)
			}
		}
		for j := range f.Cols {
			if mat.Norm(m.ColView(j), 1) == 0 {
				t.Fatalf("column %d is empty", j)
			}
		}
		if !mat.Equal(m, f.Matrix()) {
			t.Fatal("the second draw differs")
		}
	})
}
