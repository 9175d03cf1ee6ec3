package csr

import (
	"math"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/must"
)

// TestDecodeBlockRefuses decodes blocks with a correct crc and invalid contents: each gives an
// error at the right offset, relative to the block.
func TestDecodeBlockRefuses(t *testing.T) { everyWay(t, testDecodeBlockRefuses) }

func testDecodeBlockRefuses(t *testing.T, level cpu.Level) {
	table := []float64{0.5, 1, 1.5}
	f32 := func(vals ...float32) (b []byte) {
		for _, v := range vals {
			b = le.AppendUint32(b, math.Float32bits(v))
		}
		return b
	}
	f64 := func(vals ...float64) (b []byte) {
		for _, v := range vals {
			b = le.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	packed := func(vals ...uint32) []byte { return codec.AppendPacked(nil, vals) }
	constant := Values{Constant, []float64{1}}
	lots := slices.Repeat([]byte{0x11}, 40)
	for name, c := range map[string]struct {
		lens, gaps []uint32
		values     []byte
		coding     Values
		cols       int64
		at         int64 // offset of the error; −1: sound
	}{
		"sound":                {[]uint32{2, 0, 1}, []uint32{0, 8, 9}, nil, constant, 10, -1},
		"column = cols":        {[]uint32{1, 1}, []uint32{9, 10}, nil, constant, 10, 16 + 3},
		"gap beyond cols":      {[]uint32{2}, []uint32{5, 4}, nil, constant, 10, 16 + 3},
		"gap wraps 32 bits":    {[]uint32{2}, []uint32{5, math.MaxUint32 - 3}, nil, constant, 10, 16 + 3},
		"wraps in the middle":  {[]uint32{3}, []uint32{math.MaxUint32, math.MaxUint32, 3}, nil, constant, MaxCols, 16 + 3},
		"last column of all":   {[]uint32{1}, []uint32{math.MaxUint32 - 1}, nil, constant, MaxCols, -1},
		"lengths too long":     {[]uint32{2, 2}, []uint32{0, 0, 0}, nil, constant, 10, 16},
		"lengths too short":    {[]uint32{1, 1}, []uint32{0, 0, 0}, nil, constant, 10, 16},
		"lengths wrap":         {[]uint32{math.MaxUint32, 4}, []uint32{0, 0, 0}, nil, constant, 10, 16},
		"dict4 sound":          {[]uint32{3}, []uint32{0, 0, 0}, []byte{0x12, 0x00}, Values{Dict4, table}, 10, -1},
		"dict4 low index":      {[]uint32{3}, []uint32{0, 0, 0}, []byte{0x03, 0x00}, Values{Dict4, table}, 10, 16 + 3 + 2},
		"dict4 high index":     {[]uint32{3}, []uint32{0, 0, 0}, []byte{0x30, 0x00}, Values{Dict4, table}, 10, 16 + 3 + 2},
		"dict4 index 15":       {[]uint32{3}, []uint32{0, 0, 0}, []byte{0xf0, 0x00}, Values{Dict4, table}, 10, 16 + 3 + 2},
		"dict4 last index":     {[]uint32{3}, []uint32{0, 0, 0}, []byte{0x00, 0x03}, Values{Dict4, table}, 10, 16 + 3 + 3},
		"dict4 unused bits":    {[]uint32{3}, []uint32{0, 0, 0}, []byte{0x00, 0x10}, Values{Dict4, table}, 10, 16 + 3 + 3},
		"dict4 far index":      {[]uint32{80}, make([]uint32, 80), append(slices.Clone(lots[:39]), 0x13), Values{Dict4, table}, 90, 16 + 3 + 2 + 39},
		"dict4 index in word":  {[]uint32{80}, make([]uint32, 80), append([]byte{0x11, 0x11, 0x31}, lots[:37]...), Values{Dict4, table}, 90, 16 + 3 + 2 + 2},
		"dict8 index":          {[]uint32{2}, []uint32{0, 0}, []byte{2, 3}, Values{Dict8, table}, 10, 16 + 3 + 2},
		"integer sound":        {[]uint32{3}, []uint32{0, 0, 0}, packed(7, 0, math.MaxUint32), Values{Coding: Integer}, 10, -1},
		"integer none":         {[]uint32{0}, nil, nil, Values{Coding: Integer}, 10, -1},
		"integer cut":          {[]uint32{3}, []uint32{0, 0, 0}, packed(7, 9), Values{Coding: Integer}, 10, 16 + 3 + 2},
		"integer left over":    {[]uint32{2}, []uint32{0, 0}, append(packed(7, 9), 0), Values{Coding: Integer}, 10, 16 + 3 + 2 + 3},
		"integer far":          {[]uint32{3000}, make([]uint32, 3000), append(packed(make([]uint32, 2900)...), 33, 0), Values{Coding: Integer}, 3000, 16 + 4 + 2*24 + 2*23},
		"integer width":        {[]uint32{1}, []uint32{0}, []byte{33, 0, 1}, Values{Coding: Integer}, 10, 16 + 3 + 2},
		"float32 infinity":     {[]uint32{2}, []uint32{0, 0}, f32(1, float32(math.Inf(-1))), Values{Coding: Float32}, 10, 16 + 3 + 2 + 4},
		"float32 NaN":          {[]uint32{2}, []uint32{0, 0}, f32(float32(math.NaN()), 1), Values{Coding: Float32}, 10, 16 + 3 + 2},
		"float32 largest":      {[]uint32{2}, []uint32{0, 0}, f32(math.MaxFloat32, -math.MaxFloat32), Values{Coding: Float32}, 10, -1},
		"float64 infinity":     {[]uint32{2}, []uint32{0, 0}, f64(1, math.Inf(1)), Values{Coding: Float64}, 10, 16 + 3 + 2 + 8},
		"float64 NaN":          {[]uint32{2}, []uint32{0, 0}, f64(math.NaN(), 1), Values{Coding: Float64}, 10, 16 + 3 + 2},
		"float64 extremes":     {[]uint32{2}, []uint32{0, 0}, f64(-math.MaxFloat64, math.SmallestNonzeroFloat64), Values{Coding: Float64}, 10, -1},
		"float64 80, NaN at 9": {[]uint32{80}, make([]uint32, 80), f64(oddAt(80, 9)...), Values{Coding: Float64}, 90, 16 + 3 + 2 + 8*9},
		"float64 80, at 70":    {[]uint32{80}, make([]uint32, 80), f64(oddAt(80, 70)...), Values{Coding: Float64}, 90, 16 + 3 + 2 + 8*70},
		"values cut":           {[]uint32{2}, []uint32{0, 0}, f64(1), Values{Coding: Float64}, 10, 8},
		"values left over":     {[]uint32{1}, []uint32{0}, f64(1, 2), Values{Coding: Float64}, 10, 8},
		"values of a constant": {[]uint32{1}, []uint32{0}, []byte{0}, constant, 10, 8},
	} {
		t.Run(name, func(t *testing.T) {
			data := append(appendBlock(nil, c.lens, c.gaps), c.values...)
			meta := &blockMeta{rows: uint32(len(c.lens)), nnz: uint32(len(c.gaps))}
			var b Block
			err := decodeBlock(&b, &codec.Summed{Level: level, Data: data}, meta, c.cols, newValueDecoder(c.coding))
			if c.at < 0 {
				must.Do(t, err)
				return
			}
			bad, ok := err.(*codec.Damage)
			if !ok {
				t.Fatalf("got %v, want damage", err)
			}
			if bad.At != c.at {
				t.Errorf("%v at %d, want %d", bad, bad.At, c.at)
			}
		})
	}
}

// oddAt returns n values, of which value i is NaN.
func oddAt(n, i int) []float64 {
	v := make([]float64, n)
	v[i] = math.NaN()
	return v
}
