package csr_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
)

// wantValues returns the coding of a whole list: the oracle.
func wantValues(vals []float64) csr.Values {
	single, integer := true, true
	table := slices.Clone(vals)
	for i, v := range table {
		table[i] = v + 0
		single = single && float64(float32(v)) == v
		integer = integer && v >= 0 && v < 1<<32 && math.Floor(v) == v
	}
	slices.Sort(table)
	table = slices.Compact(table)
	switch n := len(table); {
	case n == 0:
		return csr.Values{Coding: csr.Constant, Table: []float64{0}}
	case n == 1:
		return csr.Values{Coding: csr.Constant, Table: table}
	case n <= 16:
		return csr.Values{Coding: csr.Dict4, Table: table}
	case n <= 256:
		return csr.Values{Coding: csr.Dict8, Table: table}
	case integer:
		return csr.Values{Coding: csr.Integer}
	case single:
		return csr.Values{Coding: csr.Float32}
	}
	return csr.Values{Coding: csr.Float64}
}

func sameValues(a, b csr.Values) bool {
	return a.Coding == b.Coding && slices.EqualFunc(a.Table, b.Table, func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y)
	})
}

// TestValueStats compares with the oracle for values in any order, repeated, and split into two merged parts.
func TestValueStats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		distinct := rapid.SampledFrom([]int{0, 1, 2, 16, 17, 40, 256, 257, 400}).Draw(t, "distinct")
		scale := rapid.SampledFrom([]float64{1, 0.5, -0.1, 1e-300, 1 << 23, 1 << 24, 10_000_019}).Draw(t, "scale")
		least := rapid.SampledFrom([]int{0, 3}).Draw(t, "negative")
		var vals []float64
		for i := range distinct {
			vals = append(vals, float64(i-least)*scale)
		}
		if distinct > 0 && rapid.Bool().Draw(t, "zeros") {
			vals = append(vals, math.Copysign(0, -1), 0)
		}
		want := wantValues(vals)
		vals = rapid.Permutation(append(vals, vals...)).Draw(t, "order")
		cut := rapid.IntRange(0, len(vals)).Draw(t, "cut")
		var a, b csr.ValueStats
		a.Add(vals[:cut]...)
		for _, v := range vals[cut:] {
			b.Add(v)
		}
		a.Merge(&b)
		if got := a.Values(); !sameValues(got, want) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestValueStatsNotFinite(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var a, b csr.ValueStats
		a.Add(1)
		b.Add(v)
		b.Add(v)
		a.Merge(&b)
		a.Add(2)
		if got := a.Values(); got.Coding != csr.Float64 {
			t.Errorf("%v gives %v", v, got.Coding)
		}
	}
}
