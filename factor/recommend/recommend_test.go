package recommend

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream/view"
)

// problem is a random matrix and random factors that need not belong to it.
type problem struct {
	a, u, v *mat.Dense
	f       *Factorisation
}

func readRows(m *mat.Dense) func(int64, *mat.Dense) error {
	return func(first int64, rows *mat.Dense) error {
		n, k := rows.Dims()
		rows.Copy(m.Slice(int(first), int(first)+n, 0, k))
		return nil
	}
}

// random returns a problem. If coarse is set, vectors have small integers, so that many scores are equal.
func random(seed uint64, rows, cols, k int, coarse bool) *problem {
	r := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) *mat.Dense {
		m := mat.NewDense(n, k, nil)
		for i := range n {
			size := math.Exp(2 * r.NormFloat64())
			for j := range k {
				if m.Set(i, j, size*r.NormFloat64()); coarse {
					m.Set(i, j, float64(r.IntN(3)-1))
				}
			}
		}
		return m
	}
	p := &problem{a: mat.NewDense(rows, cols, nil), u: draw(rows), v: draw(cols)}
	for i := range rows {
		for range r.IntN(cols + 1) {
			p.a.Set(i, r.IntN(cols), float64(1+r.IntN(5)))
		}
	}
	p.a.Set(rows-1, cols-1, 3)
	p.f = &Factorisation{Rows: int64(rows), Cols: int64(cols), U: readRows(p.u), V: readRows(p.v)}
	for j := range k {
		p.f.Sigma = append(p.f.Sigma, float64(k-j))
	}
	return p
}

func (p *problem) store(t *testing.T, transposed bool) *csr.Store {
	if transposed {
		return csrtest.FromDense(t, p.a.T(), csr.CreateOptions{Transposed: true})
	}
	return csrtest.FromDense(t, p.a, csr.CreateOptions{})
}

// naive scores all columns one by one and sorts them. It adds with math.FMA in the order of the triplets.
func (p *problem) naive(row int, o Options) []Item {
	_, cols := p.a.Dims()
	k := len(p.f.Sigma)
	q := make([]float64, k)
	empty := true
	for l := range cols {
		a := p.a.At(row, l)
		if a == 0 {
			continue
		}
		empty = false
		if p.f.scoring(o.By) == History {
			if len(p.f.View) > 0 && p.f.View[0].Name == "binary" {
				a = 1
			}
			for j := range k {
				q[j] += a * p.v.At(l, j)
			}
		}
	}
	if empty {
		return nil
	}
	if p.f.scoring(o.By) == Model {
		for j := range k {
			q[j] = p.u.At(row, j) * p.f.Sigma[j]
		}
	}
	var items []Item
	for c := range cols {
		if p.a.At(row, c) != 0 && !o.Seen || o.Candidates != nil && !slices.Contains(o.Candidates, uint32(c)) {
			continue
		}
		s := 0.0
		for j := range k {
			s = math.FMA(q[j], p.v.At(c, j), s)
		}
		items = append(items, Item{uint32(c), s})
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Index, b.Index))
	})
	return items[:min(len(items), o.N)]
}

// TestRows compares items, order and bits of scores with naive, for both orientations, any number of
// workers, windows of columns and rows, ties, candidates and selected rows.
func TestRows(t *testing.T) {
	pipeline := must.Get(view.Parse("recsys"))(t)
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 2))
		p := random(seed, 1+r.IntN(90), 30+r.IntN(700), 1+r.IntN(20), seed%3 == 0)
		rows, cols := p.a.Dims()
		o := Options{N: 1 + r.IntN(30), Workers: 1 + r.IntN(3), Memory: 256 << 20, Seen: seed%5 == 0}
		if seed%4 == 1 {
			p.f.View = pipeline
		}
		if seed%6 == 2 {
			o.By = History
		}
		if seed%7 == 3 {
			for c := range cols {
				if r.IntN(3) > 0 {
					o.Candidates = append(o.Candidates, uint32(c))
				}
			}
			o.N = min(o.N, len(o.Candidates))
		}
		wanted := make([]int64, 0, rows)
		for i := range rows {
			if seed%2 == 0 || r.IntN(2) == 0 {
				wanted = append(wanted, int64(i))
			}
		}
		if o.Rows = wanted; seed%2 == 0 {
			o.Rows, o.From = nil, r.Int64N(int64(rows))
			o.To = o.From + 1 + r.Int64N(int64(rows)-o.From)
			wanted = wanted[o.From:o.To]
		}
		store := p.store(t, seed%2 == 1)
		run, err := newRun(p.f, store, o)
		if err == nil {
			err = run.plan(t.Context(), store)
		}
		must.Do(t, err)
		if seed%3 > 0 {
			run.columns.Most, run.block, run.entries = 1+r.Int64N(int64(cols)), 1+r.IntN(rows), int64(1+r.IntN(500))
		}
		at, empty := 0, int64(0)
		next := func(row int64) {
			for ; at < len(wanted) && wanted[at] < row; at++ {
				if p.naive(int(wanted[at]), o) != nil {
					t.Fatalf("seed %d: row %d is left out", seed, wanted[at])
				}
				empty++
			}
		}
		err = run.each(t.Context(), func(row int64, items []Item) error {
			next(row)
			if want := p.naive(int(row), o); at == len(wanted) || wanted[at] != row || !slices.Equal(items, want) {
				t.Fatalf("seed %d, row %d: %v\nwant %v", seed, row, items, want)
			}
			at++
			return nil
		})
		next(math.MaxInt64)
		if err != nil || run.sum.Empty != empty || run.sum.Rows+empty != int64(len(wanted)) {
			t.Fatalf("seed %d: %v, %+v of %d rows, %d empty", seed, err, run.sum, len(wanted), empty)
		}
	}
}

// TestShortVectors: a tile whose vectors are too short for all queries is skipped.
func TestShortVectors(t *testing.T) {
	const cols, k = 50 * tileCols, 4
	v, ids := mat.NewDense(cols, k, nil), make([]uint32, cols)
	for i := range cols {
		ids[i] = uint32(i)
		v.Set(i, i%k, math.Exp(-float64(i)/tileCols))
	}
	x := newIndex(v, 0, ids)
	x.tiles[5].vectors = x.tiles[0].vectors // a search that did not skip tile 5 would find its columns
	x.tiles[5].ids = slices.Repeat([]uint32{cols}, tileCols)
	q := mat.NewDense(2, k, []float64{1, 1, 1, 1, 3, 0, 0, 0})
	heaps := []top{{items: make([]Item, 0, 5)}, {items: make([]Item, 0, 5)}}
	x.search(newSearcher(k), q, heaps, func(int, uint32) bool { return false })
	for i, want := range [][]uint32{{0, 1, 2, 3, 4}, {0, 4, 8, 12, 16}} {
		heaps[i].sort()
		for j, item := range heaps[i].items {
			if item.Index != want[j] {
				t.Errorf("query %d: %v, want %v", i, heaps[i].items, want)
			}
		}
	}
}

// TestBound: below allows for scores that rounding makes larger than the product of the norms.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 20000 {
		k := 1 + r.IntN(40)
		scale := math.Exp2(float64(r.IntN(900) - 500))
		v, q := make([]float64, k), make([]float64, k)
		for j := range k {
			v[j] = r.NormFloat64()
			q[j] = v[j] * scale // the score is the product of the norms up to rounding
		}
		s := 0.0
		for j := range k {
			s = math.FMA(q[j], v[j], s)
		}
		if x := (&index{k: k}); x.below(norm(q), norm(v), s) {
			t.Fatalf("score %v of norms %v and %v is above the bound", s, norm(q), norm(v))
		}
	}
	if !(&index{k: 4}).below(1, 1, 1.001) {
		t.Error("nothing is ever below")
	}
}

func TestRefusals(t *testing.T) {
	p := random(1, 20, 30, 3, false)
	store := p.store(t, false)
	nothing := func(int64, []Item) error { return nil }
	bad := mat.DenseCopyOf(p.v)
	bad.Set(7, 1, math.NaN())
	for _, c := range []struct {
		o    Options
		f    func(f *Factorisation)
		want string
	}{
		{Options{N: 3, Candidates: []uint32{}}, nil, "there are no columns to recommend"},
		{Options{}, nil, "0 recommendations: want 1 or more"},
		{Options{N: 3}, func(f *Factorisation) { f.Cols++ }, "the factorisation is of a 20 × 31 matrix"},
		{Options{N: 3}, func(f *Factorisation) { f.V = readRows(bad) }, "vector 7 has the number NaN"},
		{Options{N: 3}, func(f *Factorisation) { f.Sigma = []float64{1e200, 1, 1} }, " (from 0) is projected to the number"},
		{Options{N: 3, Memory: 1 << 20}, nil, "memory budget of 1.0 MiB is too small"},
	} {
		f := *p.f
		if c.f != nil {
			c.f(&f)
		}
		if _, err := Rows(t.Context(), &f, store, c.o, nothing); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Rows(ctx, p.f, store, Options{N: 3}, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stop := errors.New("disk full")
	if _, err := Rows(t.Context(), p.f, store, Options{N: 3}, func(int64, []Item) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("emit: %v", err)
	}
}
