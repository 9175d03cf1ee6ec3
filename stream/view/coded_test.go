package view

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/stream"
)

// TestSome compares some with a loop over the codes, with and without codes of 64 and more.
func TestSome(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var from [256]float64
	for i := range from {
		from[i] = 1 + r.Float64()
	}
	for range 2000 {
		code := make([]uint8, r.IntN(40))
		most := []int{3, 64, 65, 256}[r.IntN(4)]
		for i := range code {
			code[i] = uint8(r.IntN(most))
		}
		var got, want [256]float64
		for _, c := range code {
			want[c] = from[c]
		}
		top := some(&got, &from, code)
		if got != want || len(code) > 0 && top != 1+int(slices.Max(code)) || len(code) == 0 && top != 0 {
			t.Fatalf("%v: %v up to %d, want %v", code, got, top, want)
		}
	}
}

// TestOfCounts checks that tables of rows of counts have the bits of other rows: common sums, sums that share a place,
// large counts.
func TestOfCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var counts, fromOne [256]float64
	for i := range counts {
		counts[i] = float64(i)
		if i >= 64 {
			counts[i] = float64(64 + r.IntN(1<<20))
		}
		fromOne[i] = float64(1 + i)
	}
	store := stored(t, mat.NewDense(2, 2, []float64{1, 2, 3, 4}), false)
	planned := func(text string) *View { return Plan(store, must.Get(Parse(text))(t), false) }
	v := planned("normalize=rows,total:10000 · log1p · multiply=3 · sqrt")
	if !areCounts(v.ops, counts[:]) || !areCounts(v.ops, fromOne[:]) {
		t.Fatal("not the case to test")
	}
	var known countTables
	for range 5000 {
		code := make([]uint8, 1+r.IntN(80))
		most := 1 + []int{2, 15, 16, 40, 64, 255}[r.IntN(6)]
		for i := range code {
			code[i] = uint8(r.IntN(1 + r.IntN(most)))
		}
		var got, want [256]float64
		counts := []*[256]float64{&counts, &fromOne}[r.IntN(2)]
		known.ofCounts(v.ops, &got, counts, code)
		top := some(&want, counts, code)
		for k := range v.ops {
			v.ops[k].ofTable(want[:top], &want, code, len(code), 0)
		}
		for _, c := range code {
			if got[c] != want[c] {
				t.Fatalf("%v: %g of count %g, want %g", code, got[c], counts[c], want[c])
			}
		}
	}
	for _, change := range []func(*[256]float64){
		func(x *[256]float64) { x[3] = 3.5 }, func(x *[256]float64) { x[80] = 0.25 }, func(x *[256]float64) { x[81] = -1 },
		func(x *[256]float64) { x[82] = math.Inf(1) }, func(x *[256]float64) { x[2] = 1 }, func(x *[256]float64) { x[83] = math.NaN() }, func(x *[256]float64) { x[84] = 0x1p40 },
	} {
		other := counts
		if change(&other); areCounts(v.ops, other[:]) {
			t.Errorf("%v are counts", other)
		}
	}
	for _, text := range []string{"normalize=rows,l2 · sqrt", "log1p", "normalize=rows,total:10 · bm25", "log1p · normalize=rows,total:10"} {
		if areCounts(planned(text).ops, counts[:]) {
			t.Errorf("%s sees counts by their sum", text)
		}
	}
}

// TestTablesOfCountsAreOfTheirSteps checks rows of counts with equal sums in reads for statistics, whose steps differ from those
// of decoding: each read has tables of its own.
func TestTablesOfCountsAreOfTheirSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	a := mat.NewDense(60, 200, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return float64(r.IntN(40)) }, a)
	for _, text := range []string{"normalize=rows,total:100 · log1p · multiply=2 · center=columns", "normalize=rows,total:100 · log1p · multiply=2", "normalize=rows,total:median · log1p · multiply=2 · keep=columns,hvg:50"} {
		_, m := matrixOf(t, stored(t, a, false), text, stream.Options{})
		if e := relative(dense(t, m, false), reference(must.Get(Parse(text))(t), a)); e > 1e-12 {
			t.Errorf("%s: relative error %g", text, e)
		}
	}
}

// TestLengthOfTinyCodes checks the length of a row whose squares underflow, with a table and without.
func TestLengthOfTinyCodes(t *testing.T) {
	a := mat.NewDense(3, 4, []float64{1e-200, 1e-200, 1e-200, 1e-200, 1, 1, 1, 0, 1, 0, 0, 1})
	_, m := matrixOf(t, stored(t, a, false), "normalize=rows,l2 · power=2", stream.Options{})
	if x := dense(t, m, false).At(0, 0); math.Abs(x-0.25) > 1e-15 {
		t.Errorf("%g, want the square of 1/2", x)
	}
}

// TestTablesAreCounted checks that the tables shared by rows of counts are part of the planned bytes whenever rows may
// have them: also in reads for statistics of views whose values depend on columns, and of stores without a table.
func TestTablesAreCounted(t *testing.T) {
	a := mat.NewDense(300, 200, nil)
	r := rand.New(rand.NewPCG(4, 4))
	a.Apply(func(_, _ int, _ float64) float64 { return float64(r.IntN(40)) }, a)
	for _, text := range []string{"normalize=rows,total:100 · log1p · center=columns", "normalize=rows,total:100 · log1p · scale=columns · sqrt", "center=columns"} {
		v := must.Get(New(t.Context(), stored(t, a, false), must.Get(Parse(text))(t), false, stream.Options{}))(t)
		size := int64(len(v.known)) * int64(unsafe.Sizeof(v.known[0]))
		for i := range v.known {
			if at := v.known[i].Load(); at != nil {
				size += int64(unsafe.Sizeof(*at))
			}
		}
		kept, counted := size > 8*int64(len(v.known)), v.bytes() > 100<<10
		if kept != counted || kept != strings.HasPrefix(text, "normalize") || kept && v.bytes() < size {
			t.Errorf("%s: tables %v of %d bytes, %d bytes in all", text, kept, size, v.bytes())
		}
	}
}
