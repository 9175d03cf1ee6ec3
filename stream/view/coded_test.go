package view

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What a row has of a table is what one code after the other has, with codes from 64 on and without.
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
