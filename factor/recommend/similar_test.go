package recommend

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
)

// TestSimilar compares with a search of all pairs, for any number of workers; zero vectors are similar to none.
func TestSimilar(t *testing.T) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := random(seed, 20+r.IntN(400), 5, 1+r.IntN(6), false)
		n, k := p.u.Dims()
		p.u.SetRow(3, make([]float64, k))
		p.u.SetRow(9, p.u.RawRowView(4)) // two equal rows
		cosine := func(i, j int) float64 {
			dot, a, b := 0.0, 0.0, 0.0
			for l, s := range p.f.Sigma {
				x, y := s*p.u.At(i, l), s*p.u.At(j, l)
				dot, a, b = dot+x*y, a+x*x, b+y*y
			}
			return dot / math.Sqrt(a*b)
		}
		o := SimilarOptions{N: 1 + r.IntN(10), Workers: 1 + r.IntN(3), Memory: 64 << 20}
		of := make([]int64, n)
		for i := range of {
			of[i] = int64(i)
		}
		if seed%2 == 1 {
			of = slices.DeleteFunc(of, func(int64) bool { return r.IntN(2) == 0 })
			o.Of = of
		}
		at := 0
		err := Similar(t.Context(), p.f.Lines(), o, func(i int64, zero bool, items []Item) error {
			if i != of[at] || zero != (i == 3) {
				t.Fatalf("seed %d: %d of %d is %d, zero: %v", seed, at, len(of), i, zero)
			}
			at++
			var want []Item
			for j := range n {
				if int64(j) != i && j != 3 && i != 3 {
					want = append(want, Item{uint32(j), cosine(int(i), j)})
				}
			}
			slices.SortStableFunc(want, func(a, b Item) int { return cmp.Compare(b.Score, a.Score) })
			want = want[:min(len(want), o.N)]
			if len(items) != len(want) {
				t.Fatalf("seed %d, %d: %d similar ones, want %d", seed, i, len(items), len(want))
			}
			for l, item := range items {
				if math.Abs(item.Score-want[l].Score) > 1e-14 || math.Abs(cosine(int(i), int(item.Index))-item.Score) > 1e-14 {
					t.Fatalf("seed %d, %d: %v, want %v", seed, i, items, want)
				}
			}
			return nil
		})
		if err != nil || at != len(of) {
			t.Fatalf("seed %d: %v after %d of %d", seed, err, at, len(of))
		}
	}
}

func TestTopics(t *testing.T) {
	v := mat.NewDense(5, 2, []float64{
		0.5, -1 + 1e-14,
		-2, 0,
		0.5, 3,
		0.7, 0,
		0, -1,
	})
	got, err := Topics(t.Context(), Vectors{N: 5, Sigma: []float64{2, 1}, Read: readRows(v)}, 2, 0, nil)
	want := []Topic{
		{Positive: []Item{{3, 0.7}, {0, 0.5}}, Negative: []Item{{1, -2}}},
		{Positive: []Item{{2, 3}}, Negative: []Item{{0, -1 + 1e-14}, {4, -1}}}, // equal up to rounding
	}
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i := range want {
		if !slices.Equal(got[i].Positive, want[i].Positive) || !slices.Equal(got[i].Negative, want[i].Negative) {
			t.Errorf("component %d: %v, want %v", i, got[i], want[i])
		}
	}
}

func TestSimilarRefusals(t *testing.T) {
	p := random(1, 20, 5, 2, false)
	if err := Similar(t.Context(), p.f.Lines(), SimilarOptions{}, nil); err == nil || !strings.Contains(err.Error(), "0 of them are wanted: want 1 or more") {
		t.Error(err)
	}
	one := random(1, 1, 5, 1, false)
	if err := Similar(t.Context(), one.f.Lines(), SimilarOptions{N: 1}, nil); err == nil || !strings.Contains(err.Error(), "nothing to choose from") {
		t.Error(err)
	}
}

// TestFewerThanWanted: if there are fewer items than wanted, all are returned.
func TestFewerThanWanted(t *testing.T) {
	const n = 20
	p := random(1, n, 5, 2, false)
	all := 0
	if err := Similar(t.Context(), p.f.Lines(), SimilarOptions{N: math.MaxInt}, func(_ int64, _ bool, items []Item) error {
		all += len(items)
		return nil
	}); err != nil || all != n*(n-1) {
		t.Errorf("%d similar ones, %v", all, err)
	}
	topics, err := Topics(t.Context(), p.f.Lines(), math.MaxInt, 0, nil)
	if err != nil || len(topics[0].Positive)+len(topics[0].Negative) != n {
		t.Errorf("%v, %v", topics, err)
	}
	if _, err := Rows(t.Context(), p.f, p.store(t, false), Options{N: math.MaxInt, Seen: true}, func(row int64, items []Item) error {
		if len(items) != 5 {
			t.Errorf("row %d: %d recommendations", row, len(items))
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestLongListsOfFew: the complete lists of a few rows take the memory of these lists, not that of the lists of many rows.
func TestLongListsOfFew(t *testing.T) {
	const n, memory = 50_000, 160 << 20
	p := random(1, 3, n, 2, false)
	count := 0
	if _, err := Rows(t.Context(), p.f, p.store(t, false), Options{N: n, Rows: []int64{1}, Seen: true, Memory: memory}, func(_ int64, items []Item) error {
		count += len(items)
		return nil
	}); err != nil || count != n {
		t.Errorf("%d recommendations, %v", count, err)
	}
	if err := Similar(t.Context(), p.f.Columns(), SimilarOptions{N: n, Of: []int64{0, 7}, Memory: memory}, func(_ int64, _ bool, items []Item) error {
		count += len(items)
		return nil
	}); err != nil || count != n+2*(n-1) {
		t.Errorf("%d similar ones, %v", count-n, err)
	}
}

// TestRowsOfRounding: a row outside of the span of the singular vectors is set to 0, as only rounding errors are left.
func TestRowsOfRounding(t *testing.T) {
	v := Vectors{N: 2, Sigma: []float64{20, 1}, Read: func(_ int64, rows *mat.Dense) error {
		rows.SetRow(0, []float64{3e-16, -4e-15})
		rows.SetRow(1, []float64{1e-8, -1e-8})
		return nil
	}}
	rows := mat.NewDense(2, 2, nil)
	must.Do(t, v.scaled(0, rows))
	if want := mat.NewDense(2, 2, []float64{0, 0, 2e-7, -1e-8}); !mat.EqualApprox(rows, want, 1e-20) {
		t.Errorf("%v", mat.Formatted(rows))
	}
}
