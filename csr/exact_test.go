package csr

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestExactSquares checks that sums of squares have the same bits with and without the fast path for multiples of 1/16.
func TestExactSquares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	kinds := map[string]func() float64{
		"ratings":    func() float64 { return float64(r.IntN(11)) / 2 },
		"counts":     func() float64 { return float64(r.IntN(1 << 20)) },
		"signed":     func() float64 { return float64(r.IntN(9)-4) / 16 },
		"thirds":     func() float64 { return float64(r.IntN(9)) / 3 },
		"over 2⁻⁵":   func() float64 { return float64(r.IntN(9)) / 32 },
		"64ths":      func() float64 { return float64(r.IntN(1<<26)) / 64 },
		"large":      func() float64 { return math.Ldexp(float64(r.IntN(9)), 20) },
		"very large": func() float64 { return math.Ldexp(float64(r.IntN(9)), 190+r.IntN(300)) },
		"tiny":       func() float64 { return math.Ldexp(r.Float64(), -450) },
		"near 1":     func() float64 { return 1 + math.Ldexp(float64(r.IntN(2)), -50) },
		"zeros":      func() float64 { return math.Copysign(0, float64(r.IntN(2))-0.5) },
	}
	fast := 0
	for name, first := range kinds {
		for second, next := range kinds {
			var got, want squares
			change := r.IntN(2) * 100
			for i := range 200 {
				draw := first
				if i > change {
					draw = next
				}
				vals := make([]float64, r.IntN(12))
				for i := range vals {
					vals[i] = draw()
				}
				got = got.plus(vals)
				want.inexact = true
				if want = want.plus(vals); got.sum != want.sum || got.c != want.c || got.level != want.level {
					t.Fatalf("%s, then %s: %v, want %v, after %v", name, second, got, want, vals)
				}
				if !got.inexact && got.level == 1 {
					fast++
				}
			}
		}
	}
	if fast < 1000 {
		t.Errorf("only %d sums were taken for exact", fast)
	}
}
