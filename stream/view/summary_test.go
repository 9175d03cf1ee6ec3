package view

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// naive returns the numbers of a line, by the formulas.
func naive(x []float64) Numbers {
	n := float64(len(x))
	r := Numbers{Sum: sumOf(x, same)}
	r.Mean = r.Sum / n
	r.Variance = sumOf(x, func(v float64) float64 { return (v - r.Mean) * (v - r.Mean) }) / n
	return r
}

// summarised returns the numbers of the user's rows and columns.
func summarised(t *testing.T, v *View, transposed bool, o stream.Options) (rows, cols []Numbers, s *Summary) {
	t.Helper()
	s = must.Get(v.Summarise(t.Context(), o, func(x []Numbers) error {
		rows = append(rows, x...)
		return nil
	}))(t)
	if transposed {
		return s.Columns, rows, s
	}
	return rows, s.Columns, s
}

// seen returns a view of a matrix, Identity for an empty pipeline, with its dense matrix and its pattern of entries.
func seen(t *testing.T, src stream.Source, text string, a *mat.Dense, transposed bool) (v *View, want, pattern *mat.Dense) {
	t.Helper()
	if text == "" {
		return Identity(src, transposed), a, a
	}
	p := must.Get(Parse(text))(t)
	want, refused := referenceOrError(p, a)
	if refused != nil {
		return nil, nil, nil
	}
	v = must.Get(New(t.Context(), src, p, transposed, stream.Options{Workers: 2}))(t)
	fills := slices.IndexFunc(p, Step.fills)
	if fills < 0 {
		fills = len(p)
	}
	return v, want, reference(p[:fills], a)
}

// someTimes returns a random pipeline, for every sixth seed an empty one.
func someTimes(r *rand.Rand, seed int) string {
	if seed%6 == 0 {
		return ""
	}
	return randomPipeline(r)
}

// TestSummary compares numbers of rows and columns with the formulas, for matrices and random
// views, in both orientations, and their bits for two numbers of workers.
func TestSummary(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		text, a := someTimes(r, seed), randomMatrix(r)
		for _, transposed := range []bool{false, true} {
			name := fmt.Sprintf("%d %s, transposed %v", seed, text, transposed)
			v, want, pattern := seen(t, inMemory(a, transposed), text, a, transposed)
			if v == nil {
				continue
			}
			rows, cols, s := summarised(t, v, transposed, stream.Options{Workers: 1 + seed%3})
			again, more, _ := summarised(t, v, transposed, stream.Options{Workers: 4})
			if !slices.Equal(rows, again) || !slices.Equal(cols, more) {
				t.Errorf("%s: other workers, other bits", name)
			}
			entries := int64(0)
			for axis, got := range map[string][]Numbers{"rows": rows, "columns": cols} {
				lines, counted := along(axis, want), along(axis, pattern)
				if len(got) != len(lines) {
					t.Fatalf("%s: %d %s, want %d", name, len(got), axis, len(lines))
				}
				for i, x := range got {
					n := naive(lines[i])
					n.Count = int64(sumOf(counted[i], nonzero))
					size := max(1e-3*v.Terms(), 1e-300, sumOf(lines[i], math.Abs)) // a line that cancels is rounding of its terms
					if x.Count != n.Count || math.Abs(x.Sum-n.Sum) > 1e-12*size || math.Abs(x.Mean-n.Mean) > 1e-12*size ||
						math.Abs(x.Variance-n.Variance) > 1e-11*sumOf(lines[i], square) {
						t.Errorf("%s: number %d of the %s is %+v, want %+v", name, i, axis, x, n)
					}
					if axis == "rows" {
						entries += n.Count
					}
				}
			}
			if all := slices.Concat(rowsOfDense(want)...); s.Count != entries || math.Abs(s.Sum-sumOf(all, same)) > 1e-12*max(1e-3*v.Terms(), sumOf(all, math.Abs)) {
				t.Errorf("%s: %d entries with the sum %v, want %d with %v", name, s.Count, s.Sum, entries, sumOf(all, same))
			}
		}
	}
}

// TestSummaryOfStore checks that a store, split among workers, has the bits of the matrix in memory, in the order of its rows.
func TestSummaryOfStore(t *testing.T) {
	a := mat.NewDense(700, 60, nil)
	r := rand.New(rand.NewPCG(9, 9))
	a.Apply(func(i, j int, _ float64) float64 { return float64(max(0, r.IntN(12)-6)) }, a)
	for _, transposed := range []bool{false, true} {
		store := stored(t, a, transposed)
		rows, cols, _ := summarised(t, Identity(store, transposed), transposed, stream.Options{Workers: 3, Memory: 64 << 20})
		want, of, _ := summarised(t, Identity(inMemory(a, transposed), transposed), transposed, stream.Options{Workers: 1})
		if !slices.Equal(rows, want) || !slices.Equal(cols, of) {
			t.Errorf("transposed %v: other bits", transposed)
		}
		stop := errors.New("enough")
		if _, err := Identity(store, transposed).Summarise(t.Context(), stream.Options{}, func([]Numbers) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("an error of the caller is lost: %v", err)
		}
	}
}

// TestSummaryOutOfRange checks that values whose squares overflow are refused.
func TestSummaryOutOfRange(t *testing.T) {
	a := mat.NewDense(2, 2, []float64{1e200, 0, 1, 0})
	if _, err := Identity(inMemory(a, false), false).Summarise(t.Context(), stream.Options{}, func([]Numbers) error { return nil }); err == nil {
		t.Error("squares of 1e200 are summed up")
	}
}

// TestSample compares sampled lines with the formulas: rows by number, and the first rows with entries.
func TestSample(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 6))
		text, a := someTimes(r, seed), randomMatrix(r)
		for _, transposed := range []bool{false, true} {
			name := fmt.Sprintf("%d %s, transposed %v", seed, text, transposed)
			v, want, pattern := seen(t, inMemory(a, transposed), text, a, transposed)
			if v == nil {
				continue
			}
			const most = 3
			lines := must.Get(v.FirstRows(t.Context(), stream.Options{Workers: 2}, 4, most))(t)
			var first []int
			for i, x := range rowsOfDense(pattern) {
				if sumOf(x, nonzero) > 0 && len(first) < 4 {
					first = append(first, i)
				}
			}
			if len(lines) != len(first) {
				t.Fatalf("%s: %d rows, want %d", name, len(lines), len(first))
			}
			for k, i := range first {
				checkLine(t, name, lines[k], i, want, pattern, most)
			}
			n, _ := a.Dims()
			for _, i := range []int{0, n / 2, n - 1} {
				lines, err := v.SomeRows(t.Context(), stream.Options{Workers: 2}, []int64{int64(i), 0}, most)
				if err != nil || len(lines) != 2 || lines[1].Row != 0 {
					t.Fatalf("%+v, %v", lines, err)
				}
				line := lines[0]
				must.Do(t, err)
				checkLine(t, name, line, i, want, pattern, most)
			}
			if _, err := v.SomeRows(t.Context(), stream.Options{}, []int64{0, int64(n)}, most); err == nil {
				t.Errorf("%s: there is a row %d of %d", name, n, n)
			}
		}
	}
}

func checkLine(t *testing.T, name string, l Line, i int, want, pattern *mat.Dense, most int) {
	t.Helper()
	w := Line{Row: int64(i), Low: math.Inf(1), High: math.Inf(-1)}
	near := 1e-12 * max(1e-300, mat.Norm(want, 2))
	for j, x := range want.RawRowView(i) {
		switch {
		case pattern.At(i, j) == 0:
			w.Empty++
			w.Low, w.High = min(w.Low, x), max(w.High, x)
		default:
			if w.Count++; len(w.Entries) < most {
				w.Entries = append(w.Entries, Entry{int64(j), x})
			}
		}
	}
	ok := l.Row == w.Row && l.Count == w.Count && l.Empty == w.Empty && len(l.Entries) == len(w.Entries)
	ok = ok && (l.Empty == 0 || math.Abs(l.Low-w.Low) <= near && math.Abs(l.High-w.High) <= near)
	for k := range l.Entries {
		ok = ok && l.Entries[k].Col == w.Entries[k].Col && math.Abs(l.Entries[k].Value-w.Entries[k].Value) <= near
	}
	if !ok {
		t.Errorf("%s: row %d is %+v, want %+v", name, i, l, w)
	}
}
