package recommend

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
	"github.com/gdsvd/gdsvd/stream/view"
)

// TestVectorsOfZero: vectors of singular values that are 0 are arbitrary; scores do not depend on them.
func TestVectorsOfZero(t *testing.T) {
	entries := make([][]csrtest.Entry, 6)
	for i := range entries {
		for _, j := range [][]uint32{{1, 2, 4, 5}, {0, 1, 3}}[i%2] {
			entries[i] = append(entries[i], csrtest.Entry{Col: j, Val: 1})
		}
	}
	store := csrtest.Build(t, 6, entries, csr.CreateOptions{})
	p, err := view.Parse("recsys")
	must.Do(t, err)
	var want, found []Item
	for k := 2; k <= 4; k++ {
		for seed := range uint64(3) {
			r := must.Get(factor.Run(t.Context(), store, factor.Options{Dir: filepath.Join(t.TempDir(), "out"), Rank: k, Seed: seed + 1, View: p}))(t)
			f := must.Get(Of(r))(t)
			if _, err := Rows(t.Context(), f, store, Options{N: 6, Rows: []int64{0}}, func(_ int64, items []Item) error {
				if want == nil {
					want = slices.Clone(items)
				}
				for i, item := range items {
					if math.Abs(item.Score-want[i].Score) > 1e-12 {
						t.Errorf("k = %d, seed %d: %v, want %v", k, seed+1, items, want)
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			rows := must.Get(Find(t.Context(), r, QueryOf([]int64{1, 3, 3}), SimilarOptions{N: 6}))(t)
			if found == nil {
				found = rows
			}
			for i, row := range rows {
				if row.Index != found[i].Index || math.Abs(row.Score-found[i].Score) > 1e-12 {
					t.Errorf("k = %d, seed %d: a query finds %v, want %v", k, seed+1, rows, found)
				}
			}
		}
	}
	none := must.Get(view.Parse("bias=global"))(t) // all entries are 1, so the view is 0
	f := must.Get(Of(must.Get(factor.Run(t.Context(), store, factor.Options{Dir: filepath.Join(t.TempDir(), "out"), Rank: 1, View: none}))(t)))(t)
	must.Get(Rows(t.Context(), f, store, Options{N: 6, By: History, Seen: true}, func(_ int64, items []Item) error {
		for i, item := range items {
			if item != (Item{uint32(i), 0}) {
				t.Errorf("of a matrix that is 0: %v", items)
			}
		}
		return nil
	}))(t)
}

// TestPredictions: the scores of a completion are its predictions, biases included.
func TestPredictions(t *testing.T) {
	const rows, cols, n = 40, 12, 4
	entries := make([][]csrtest.Entry, rows)
	for i := range rows {
		for j := range cols {
			if (i*7+j*5)%3 > 0 {
				entries[i] = append(entries[i], csrtest.Entry{Col: uint32(j), Val: .1 + math.Sin(float64(i*j)) + float64(j%4) - float64(i%3)})
			}
		}
	}
	for c := range 4 { // small numbers, too: different scores are no ties
		biases, scale := c%2 == 1, math.Pow10(-10*(c/2))
		for _, row := range entries {
			for i := range row {
				row[i].Val *= []float64{1, 1, scale, 1}[c]
			}
		}
		store := csrtest.Build(t, cols, entries, csr.CreateOptions{})
		r := must.Get(factor.Complete(t.Context(), store, factor.CompleteOptions{Options: factor.Options{Dir: filepath.Join(t.TempDir(), "out"), Rank: 3}, Lambda: .5 * scale, Biases: biases}))(t)
		u, v := mat.NewDense(rows, r.K, nil), mat.NewDense(cols, r.K, nil)
		rowBias, err1 := r.RowBiases(t.Context())
		colBias, err2 := r.ColBiases(t.Context())
		must.Do(t, errors.Join(err1, err2, r.ReadU(0, u), r.ReadV(0, v)))
		f, err := Predictions(t.Context(), r)
		must.Do(t, err)
		if _, err := Rows(t.Context(), f, store, Options{N: n}, func(row int64, items []Item) error {
			type scored struct {
				col   int
				score float64
			}
			var want []scored
			for j := range cols {
				if slices.ContainsFunc(entries[row], func(e csrtest.Entry) bool { return int(e.Col) == j }) {
					continue
				}
				p := 0.0
				for s, sigma := range r.Sigma {
					p += u.At(int(row), s) * float64(sigma) * v.At(j, s)
				}
				p += float64(r.Completion.Mean)
				if biases {
					p += rowBias[row] + colBias[j]
				}
				want = append(want, scored{j, p})
			}
			slices.SortFunc(want, func(a, b scored) int {
				if a.score > b.score {
					return -1
				}
				return 1
			})
			for i, item := range items {
				if int(item.Index) != want[i].col || math.Abs(item.Score-want[i].score) > 1e-12*scale {
					t.Errorf("row %d, place %d: %+v, want %+v", row, i, item, want[i])
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		kept := func(f *Factorisation) (bytes int64) {
			var least *stream.BudgetError
			if _, err := Rows(t.Context(), f, store, Options{N: n, Memory: 1 << 20}, nil); !errors.As(err, &least) {
				t.Fatal(err)
			}
			for _, p := range least.Parts {
				if p.Name == "kept" {
					bytes += p.Bytes
				}
			}
			return bytes
		}
		if more := kept(f) - kept(must.Get(Of(r))(t)); biases != (more == 8*(rows+cols)) {
			t.Errorf("biases: %t, which have %d bytes of the budget", biases, more)
		}
		_, err = Rows(t.Context(), f, store, Options{N: n, By: History}, func(int64, []Item) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "a completion scores by its predictions") {
			t.Errorf("by history: %v", err)
		}
		if _, err := Find(t.Context(), r, Query{Cols: []uint32{1}, Values: []float64{1}}, SimilarOptions{N: 2}); err == nil || !strings.Contains(err.Error(), "is a completion") {
			t.Errorf("a query: %v", err)
		}
	}
}
