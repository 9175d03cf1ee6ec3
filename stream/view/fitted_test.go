package view

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// fittedTo fits a pipeline with the statistics that a view of the matrix has measured.
func fittedTo(a *mat.Dense, v *View, columns bool) (*Fitted, error) {
	rows, cols := a.Dims()
	return Fit(v.pipeline, int64(rows), int64(cols), columns, func(step int, name string, n int64) ([]float64, error) {
		for _, s := range v.Statistics() {
			if s.Step == step && s.Name == name {
				return s.Values, nil
			}
		}
		return nil, fmt.Errorf("no %s of step %d", name, step)
	})
}

// lineOf returns line i as the fitted view transforms it.
func lineOf(f *Fitted, i int, line []float64) ([]float64, error) {
	var at []uint32
	var val []float64
	for j, v := range line {
		if v != 0 {
			at, val = append(at, uint32(j)), append(val, v)
		}
	}
	s := make([]float64, len(val))
	p, err := f.Line(int64(i), at, val, s)
	b := make([]float64, len(line))
	for k, j := range at {
		b[j] = s[k]
	}
	for t, q := range f.Q() {
		for j := range b {
			b[j] += p[t] * q[j]
		}
	}
	return b, err
}

// sameLines compares the lines of a matrix, transformed one by one, with the matrix of its view.
func sameLines(t *testing.T, f *Fitted, axis string, a, want *mat.Dense) {
	t.Helper()
	lines := along(axis, want)
	scale := mat.Norm(want, 2)
	for i, line := range along(axis, a) {
		b := must.Get(lineOf(f, i, line))(t)
		for j, v := range b {
			if !(math.Abs(v-lines[i][j]) <= 1e-12*scale) && scale > 1e-12 {
				t.Fatalf("%s %d, element %d: %v, want %v", axis, i, j, v, lines[i][j])
			}
		}
	}
}

// TestFittedRows checks that the rows of a matrix, transformed as new rows with the statistics of its view, are those
// of the view, in either orientation. Columns are, too, for pipelines that need no statistics of the rows.
func TestFittedRows(t *testing.T) {
	byColumn, count := 0, longtest.Pick(150, 50)
	texts := slices.Concat(early, middle, late, []string{"log1p · drop=columns,count<4 · pca", "drop=rows,count<4 · tfidf", "keep=columns,hvg:9 · pca-scaled", "keep=rows,hvg:9 · normalize=columns"})
	for seed := range count {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		text, a, transposed := randomPipeline(r), randomMatrix(r), r.IntN(2) == 0
		if seed < len(texts) {
			text = texts[seed]
		}
		p := must.Get(Parse(text))(t)
		v, err := New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2})
		if err != nil {
			continue // the pipeline makes an entry a non-number
		}
		want := reference(p, a)
		if strings.Contains(text, "hvg") { // the reference needs entries in all columns
			m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2, Width: 50}))(t)
			want = dense(t, m, transposed)
		}
		t.Run(fmt.Sprintf("%d %s", seed, text), func(t *testing.T) {
			if !strings.Contains(text, "rows,hvg") {
				f := must.Get(fittedTo(a, v, false))(t)
				sameLines(t, f, "rows", a, want)
			}
			f, err := fittedTo(a, v, true)
			if err != nil {
				if !strings.Contains(err.Error(), "needs a number of each of the rows of the matrix, and these are not kept") {
					t.Error(err)
				}
				return
			}
			if strings.Contains(text, "columns,hvg") {
				return
			}
			byColumn++
			sameLines(t, f, "columns", a, want)
		})
	}
	if byColumn < 20 {
		t.Errorf("%d views of columns", byColumn)
	}
}

// TestFittedMask checks that masks of rows do not drop new rows, but still apply to new columns.
func TestFittedMask(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	a := randomMatrix(r)
	rows, cols := a.Dims()
	kept := make([]bool, rows)
	kept[1] = true
	v := must.Get(New(t.Context(), inMemory(a, true), resolved(t, "keep=rows,some", kept), true, stream.Options{}))(t)
	f, err := fittedTo(a, v, false)
	must.Do(t, err)
	sameLines(t, f, "rows", a, a)
	if f, err = fittedTo(a, v, true); err != nil {
		t.Fatal(err)
	}
	want := mat.NewDense(rows, cols, nil)
	want.SetRow(1, a.RawRowView(1))
	sameLines(t, f, "columns", a, want)
}

// TestFittedRefuses checks the errors for a value that becomes a non-number, with its step, and for statistics of a wrong length.
func TestFittedRefuses(t *testing.T) {
	p, err := Parse("multiply=2 · log1p · normalize=rows")
	must.Do(t, err)
	for _, columns := range []bool{false, true} {
		f := must.Get(Fit(p[:2], 9, 9, columns, nil))(t)
		var e *ValueError
		if _, err := lineOf(f, 4, []float64{1, 0, -2, 3}); !errors.As(err, &e) || e.Makes != "log1p makes -4" || e.Row != 4 && !columns || e.Col != 4 && columns {
			t.Errorf("%v", err)
		}
	}
	p = must.Get(Parse("tfidf"))(t)
	_, err = Fit(p, 5, 4, false, func(_ int, name string, n int64) ([]float64, error) {
		if name != "idf" || n != 4 {
			t.Errorf("%s, %d", name, n)
		}
		return []float64{1, 2}, nil
	})
	if err == nil || !strings.Contains(err.Error(), "2 numbers, not 4") {
		t.Error(err)
	}
}
