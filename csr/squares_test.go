package csr_test

import (
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// norm returns ‖A‖.
func norm(s *csr.Store) float64 { return math.Ldexp(s.Norm()) }

// TestNorm checks ‖A‖ against known values, also where the squares of the values are out of the
// range of float64.
func TestNorm(t *testing.T) {
	for _, c := range []struct {
		vals []float64
		want float64
	}{
		{[]float64{3, 4}, 5},
		{[]float64{math.Ldexp(3, -1074), math.Ldexp(4, -1074)}, math.Ldexp(5, -1074)},
		{[]float64{3e-320, 4e-320}, 5e-320},
		{[]float64{0x3p-1000, 0x4p-1000}, 0x5p-1000},
		{[]float64{0x3p-450, 0x4p-450}, 0x5p-450},
		{[]float64{0x3p450, -0x4p450}, 0x5p450},
		{[]float64{0x3p1020, 0x4p1020}, 0x5p1020},
		{[]float64{-math.MaxFloat64}, math.MaxFloat64},
		{[]float64{0x1p-1074, 0x1p-600, 0x3p-100, 0x4p-100}, 0x5p-100},          // the larger values come later
		{[]float64{0x1p-1074, 1, 0x1p399, 0x3p500, 0x1p-600, 0x4p500}, 0x5p500}, // in between
		{[]float64{0x3p500, 0x4p500, 1, 0x1p-1074}, 0x5p500},                    // first
		{[]float64{0, 0, 0}, 0},
		{nil, 0},
	} {
		r := row{vals: c.vals}
		for i := range c.vals {
			r.cols = append(r.cols, uint32(i))
		}
		m := &matrix{cols: 9, rows: []row{r}}
		for _, v := range []csr.Values{m.stats(), {Coding: csr.Float64}} {
			path := filepath.Join(t.TempDir(), "x.csr")
			write(t, path, m, csr.CreateOptions{Values: v})
			requireSound(t, path)
			if got := norm(open(t, path)); math.Abs(got-c.want) > 0x1p-52*c.want {
				t.Errorf("%g as %v: ‖A‖ = %g, want %g", c.vals, v.Coding, got, c.want)
			}
		}
	}
}

// TestNormTooLarge checks that values whose ‖A‖ overflows float64 are refused.
func TestNormTooLarge(t *testing.T) {
	for _, v := range []csr.Values{{Coding: csr.Float64}, {Coding: csr.Constant, Table: []float64{math.MaxFloat64}}} {
		path := filepath.Join(t.TempDir(), "x.csr")
		w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 2, Values: v}))(t)
		must.Do(t, w.AppendRow([]uint32{0}, []float64{math.MaxFloat64}))
		if err := w.AppendRow([]uint32{1}, []float64{math.MaxFloat64}); !errors.Is(err, csr.ErrNorm) {
			t.Errorf("%v: %v", v.Coding, err)
		}
		if err := w.Commit(); !errors.Is(err, csr.ErrNorm) {
			t.Errorf("%v: committed with %v", v.Coding, err)
		}
	}
}
