package csr_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// lateCols returns the columns of rows with up to seven entries.
var lateCols = sync.OnceValue(func() (all [][]uint32) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 240_000 {
		cols := make([]uint32, r.IntN(8))
		for i := range cols {
			cols[i] = uint32(8*i + r.IntN(8))
		}
		all = append(all, cols)
	}
	return all
})

// lateRows appends rows for more than one block; value gives the value of entry k. It returns the number of refused rows.
func lateRows(t *testing.T, w *csr.Writer, rows int, value func(k int) float64) (refused int) {
	t.Helper()
	k, room := 0, make([]float64, 7)
	for _, cols := range lateCols()[:rows] {
		vals := room[:len(cols)]
		for i := range vals {
			vals[i] = value(k)
			k++
		}
		err := w.AppendRow(cols, vals)
		if errors.Is(err, csr.ErrCoding) {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return refused
}

// TestLateValues checks that a Writer that finds the coding itself writes the same bytes as one that is given the coding.
func TestLateValues(t *testing.T) {
	for name, value := range map[string]func(k int) float64{
		"constant":          func(int) float64 { return -2.5 },
		"negative zeros":    func(k int) float64 { return math.Copysign(0, -1) },
		"one each block":    func(k int) float64 { return float64(5 + k>>17) },
		"few":               func(k int) float64 { return float64(k % 10) },
		"few, more later":   func(k int) float64 { return float64(k % (2 + k>>14)) },
		"many, first few":   func(k int) float64 { return float64(k % (2 + k>>10)) },
		"many, falling":     func(k int) float64 { return float64(-(k % 100)) },
		"singles":           func(k int) float64 { return float64(float32(k) / 7) },
		"doubles":           func(k int) float64 { return float64(k) / 7 },
		"counts":            func(k int) float64 { return float64(k % 1000) },
		"wide integers":     func(k int) float64 { return float64(k) * 14000 },
		"integers, singles": func(k int) float64 { return float64(k%1000) + float64(k>>16%2)/2 },
		"integers, doubles": func(k int) float64 { return float64(1<<25+k%1000) + float64(k>>16%2)/2 },
		"few, then counts":  func(k int) float64 { return float64(k % (2 + k>>13)) },
		"doubles, late":     func(k int) float64 { return float64(k>>17)/7 + float64(k) },
		"few, then doubles": func(k int) float64 { return float64(k>>17)/7 + 1 },
	} {
		const rows = 77_000 // more than enoughSingles entries
		write := func(o csr.CreateOptions, value func(k int) float64) string {
			path := filepath.Join(t.TempDir(), "x.csr")
			o.Cols, o.ShardSize, o.Source = 64, 200<<10, map[string]any{"of": name}
			w := must.Get(csr.Create(path, o))(t)
			if n := lateRows(t, w, rows, value); n > 0 {
				t.Errorf("%s: %d rows refused", name, n)
			}
			must.Do(t, w.Commit())
			return path
		}
		var stats csr.ValueStats
		for k := range len(slices.Concat(lateCols()[:rows]...)) {
			stats.Add(value(k))
		}
		told := write(csr.CreateOptions{Values: stats.Values()}, value)
		for _, workers := range longtest.Pick([]int{0, 3}, []int{3}) {
			requireSameFiles(t, write(csr.CreateOptions{Late: 1 << 30, Workers: workers}, value), told)
		}
	}
}

// TestLateEmptyBlocks checks that blocks without entries add no value to the table.
func TestLateEmptyBlocks(t *testing.T) {
	write := func(o csr.CreateOptions) string {
		path := filepath.Join(t.TempDir(), "x.csr")
		o.Cols, o.Source = 2, map[string]any{"of": "nothing"}
		w, err := csr.Create(path, o)
		if err == nil {
			err = errors.Join(w.AppendEmptyRows(2*csr.BlockRows), w.AppendRow([]uint32{1}, []float64{5}), w.AppendEmptyRows(csr.BlockRows), w.Commit())
		}
		must.Do(t, err)
		return path
	}
	requireSameFiles(t, write(csr.CreateOptions{Late: 1 << 20}), write(csr.CreateOptions{Values: csr.Values{Coding: csr.Constant, Table: []float64{5}}}))
}

// TestLateRefuses checks that rows that do not fit the coding already taken are refused, and that the store of the
// other rows is sound.
func TestLateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		limit int64
		rows  int
		value func(k int) float64
		want  csr.Coding
	}{
		"no room":        {1, 120_000, func(k int) float64 { return float64(k / 400_000) }, csr.Constant},
		"enough singles": {1 << 30, 240_000, func(k int) float64 { return float64(k) + 0.5 + float64(k/800_000)/7 }, csr.Float32},
		"enough counts":  {1 << 30, 240_000, func(k int) float64 { return float64(k) + float64(k/800_000)/2 }, csr.Integer},
	} {
		for _, workers := range longtest.Pick([]int{0, 2}, []int{2}) {
			path := filepath.Join(t.TempDir(), "x.csr")
			source := map[string]any{}
			w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 64, Late: c.limit, Workers: workers, Source: source}))(t)
			refused := lateRows(t, w, c.rows, c.value)
			source["refused"] = refused
			must.Do(t, w.Commit())
			requireSound(t, path)
			s := open(t, path)
			if refused == 0 || refused > c.rows/5 || s.Rows() != int64(c.rows-refused) || s.Values().Coding != c.want || fmt.Sprint(s.Manifest().Source["refused"]) != fmt.Sprint(refused) {
				t.Errorf("%s: %d refused, %d rows in %v", name, refused, s.Rows(), s.Values())
			}
		}
	}
	dir := t.TempDir()
	w := must.Get(csr.Create(filepath.Join(dir, "x"), csr.CreateOptions{Cols: 1, Late: 1}))(t)
	if err := w.AppendRow([]uint32{0}, []float64{math.Inf(1)}); err == nil || w.Commit() == nil {
		t.Error("an infinite value is written")
	}
}

// TestNoNaN checks that no NaN is written, whatever its bits, among them those that mark an empty place in the caches of values.
func TestNoNaN(t *testing.T) {
	for _, o := range []csr.CreateOptions{
		{Late: 1 << 20},
		{Values: csr.Values{Coding: csr.Constant, Table: []float64{1}}},
		{Values: csr.Values{Coding: csr.Dict4, Table: []float64{1, 2}}},
		{Values: csr.Values{Coding: csr.Integer}},
		{Values: csr.Values{Coding: csr.Float32}},
		{Values: csr.Values{Coding: csr.Float64}},
	} {
		for _, bits := range []uint64{1<<64 - 1, math.Float64bits(math.NaN()), 0xfff << 52, 0x7ff << 52} {
			o.Cols = 2
			w := must.Get(csr.Create(filepath.Join(t.TempDir(), "x"), o))(t)
			if err := w.AppendRow([]uint32{0, 1}, []float64{1, math.Float64frombits(bits)}); err == nil {
				t.Errorf("%v: %x is written", o.Values, bits)
			}
			if err := w.Abort(); err != nil {
				t.Error(err)
			}
		}
	}
}
