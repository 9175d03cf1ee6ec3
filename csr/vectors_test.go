package csr

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/longtest"
)

// everyWay runs a test in plain Go and with each available set of vector instructions.
func everyWay(t *testing.T, test func(t *testing.T, level cpu.Level)) {
	for _, level := range cpu.Levels() {
		t.Run(level.String(), func(t *testing.T) { test(t, level) })
	}
}

// outcome is the result of decoding a block.
type outcome struct {
	block Block
	err   string
	at    int64
	crc   uint32 // of all bytes, also after an error
}

func decodeOnce(level cpu.Level, data []byte, meta *blockMeta, cols int64, v Values) (o outcome) {
	block := codec.Summed{Level: level, Data: data}
	if err := decodeBlock(&o.block, &block, meta, cols, newValueDecoder(v)); err != nil {
		o = outcome{err: err.Error(), at: err.(*codec.Damage).At}
	}
	block.UpTo(len(data))
	o.crc = block.CRC
	return o
}

// requireSameEveryWay decodes a block in plain Go and with vectors and requires the same block, or
// the same error at the same byte. It reports whether the block is sound.
func requireSameEveryWay(t *testing.T, data []byte, meta *blockMeta, cols int64, v Values) bool {
	t.Helper()
	plain := decodeOnce(cpu.Portable, data, meta, cols, v)
	a := &plain.block
	for _, level := range cpu.Levels()[1:] {
		vectors := decodeOnce(level, data, meta, cols, v)
		if plain.err != vectors.err || plain.at != vectors.at {
			t.Fatalf("plain: %q at %d; %v: %q at %d", plain.err, plain.at, level, vectors.err, vectors.at)
		}
		if want := crc.Of(data); plain.crc != want || vectors.crc != want {
			t.Fatalf("crc %08x, plain: %08x; %v: %08x", want, plain.crc, level, vectors.crc)
		}
		b := &vectors.block
		if !slices.Equal(a.RowPtr, b.RowPtr) || !slices.Equal(a.Col, b.Col) || !slices.Equal(a.Col16, b.Col16) ||
			!slices.Equal(a.Code, b.Code) || !slices.Equal(a.Val, b.Val) || (a.Table == nil) != (b.Table == nil) || a.Table != nil && *a.Table != *b.Table {
			t.Fatalf("plain: %+v; %v: %+v", plain, level, vectors)
		}
	}
	if plain.err != "" {
		return false
	}
	requireProved(t, a, cols, v)
	return true
}

// requireProved checks the guarantees of Block for a decoded block.
func requireProved(t *testing.T, b *Block, cols int64, v Values) {
	t.Helper()
	nnz, codes := int(b.RowPtr[b.Rows()]), len(v.Table)
	coded := v.Coding.coded()
	if v.Coding == Integer && b.Table != nil { // a block with few large integers
		coded, codes = true, 256
	}
	if (len(b.Col16) > 0) != (cols <= 1<<16 && nnz > 0) || (len(b.Code) > 0) != (coded && v.Coding != Constant && nnz > 0) {
		t.Fatalf("%d and %d columns, %d codes and %d values for %d columns as %v", len(b.Col16), len(b.Col), len(b.Code), len(b.Val), cols, v.Coding)
	}
	if b.NNZ() != nnz || v.Coding != Constant && len(b.Code)+len(b.Val) != nnz || (b.Table != nil) != coded {
		t.Fatalf("%d columns, %d values; want %d", b.NNZ(), len(b.Code)+len(b.Val), nnz)
	}
	for r := range b.Rows() {
		least := int64(0)
		for c, x := range b.Row(r) {
			if int64(c) < least || int64(c) >= cols || !finite(x) || v.Coding == Integer && notInteger(x) {
				t.Fatalf("row %d: column %d after %d, value %v", r, c, least-1, x)
			}
			least = int64(c) + 1
		}
	}
	for _, c := range b.Code {
		if int(c) >= codes {
			t.Fatalf("code %d in a table of %d", c, codes)
		}
	}
}

// TestColumnsAroundSixteenBits checks the largest column that fits in 16 bits and columns beyond
// it, which must not wrap around.
func TestColumnsAroundSixteenBits(t *testing.T) {
	for _, last := range []int64{1<<16 - 2, 1<<16 - 1, 1 << 16, 1<<16 + 5, 1 << 17, 1<<31 - 1, 1<<32 - 2} {
		for _, cols := range []int64{1<<16 - 1, 1 << 16, 1<<16 + 1, 1 << 31, MaxCols} {
			for _, first := range []int{0, 7, 100} { // smaller columns in the same row
				gaps := append(make([]uint32, first), uint32(last)-uint32(first))
				gaps = append(gaps, make([]uint32, 40)...) // the next row
				lens := []uint32{uint32(first) + 1, 0, 40}
				data := appendBlock(nil, lens, gaps)
				meta := &blockMeta{rows: 3, nnz: uint32(len(gaps))}
				sound := requireSameEveryWay(t, data, meta, cols, Values{Coding: Constant, Table: []float64{1}})
				if sound != (last < cols) {
					t.Errorf("column %d of %d: sound is %v", last, cols, sound)
				}
			}
		}
	}
}

// someBlock returns a sound block of about nnz entries whose gaps, row lengths and coding vary with
// the seed.
func someBlock(seed uint64, nnz int) (data []byte, meta *blockMeta, cols int64, v Values) {
	rng := rand.New(rand.NewPCG(seed, 19))
	widest := 1 << rng.IntN(24)
	rare := uint32(1) << rng.IntN(31)
	longest := []int{1, 5, 40, 3000}[rng.IntN(4)]
	var lens, gaps []uint32
	for len(gaps) < nnz {
		n := min(rng.IntN(longest+1), nnz-len(gaps))
		lens = append(lens, uint32(n))
		next := int64(0)
		for range n {
			g := uint32(rng.IntN(widest))
			if rng.IntN(30) == 0 {
				g = rng.Uint32N(rare)
			}
			if next+int64(g)+int64(n) >= MaxCols { // no room for the rest of the row
				g = 0
			}
			gaps = append(gaps, g)
			next += int64(g) + 1
		}
		cols = max(cols, next)
	}
	v.Coding = codings[rng.IntN(len(codings))]
	for i := range v.Coding.maxTable() {
		v.Table = append(v.Table, float64(i))
	}
	values := make([]byte, v.Coding.Size(uint64(len(gaps))))
	for i := range values {
		values[i] = byte(rng.Uint32N(0x70)) // finite in every coding
	}
	if v.Coding == Dict4 && len(gaps)%2 == 1 {
		values[len(values)-1] &= 15
	}
	if v.Coding == Integer {
		for i := range values {
			if seed%2 == 0 && i%4 > 0 && rng.IntN(50) > 0 {
				values[i] = 0 // makes most numbers small
			}
		}
		values = codec.AppendIntegers(nil, values)
	}
	return append(appendBlock(nil, lens, gaps), values...), &blockMeta{rows: uint32(len(lens)), nnz: uint32(len(gaps))}, cols, v
}

// TestCounts checks that integers decode to codes if at most 192 different ones are above 63, and else to numbers.
func TestCounts(t *testing.T) {
	for _, large := range []int{0, 1, 191, 192, 193, 5000} {
		for _, most := range []int{64, 256, 1 << 32} {
			var lens, gaps []uint32
			var packed []byte
			var want []float64
			for i := range 6000 {
				v := uint32(i % 64)
				if i%3 == 0 && large > 0 {
					v = uint32(most - 1 - i/3%large + 64*(256/most))
				}
				packed, want = le.AppendUint32(packed, v), append(want, float64(v))
				lens, gaps = append(lens, 1), append(gaps, 0)
			}
			different := slices.Compact(slices.Sorted(slices.Values(want)))
			different = slices.DeleteFunc(different, func(v float64) bool { return v < 64 })
			data := codec.AppendIntegers(appendBlock(nil, lens, gaps), packed)
			o := decodeOnce(cpu.Best(), data, &blockMeta{rows: 6000, nnz: 6000}, 1, Values{Coding: Integer})
			var got []float64
			for _, v := range o.block.Entries() {
				got = append(got, v)
			}
			if o.err != "" || !slices.Equal(got, want) || (len(o.block.Code) > 0) != (len(different) <= 192) {
				t.Errorf("%d large numbers below %d: %d codes, %q", len(different), most, len(o.block.Code), o.err)
			}
		}
	}
}

// TestVectorsAgree decodes sound and damaged blocks at every level.
func TestVectorsAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 21))
	sound, seeds := 0, longtest.Pick(400, 80)
	for seed := range uint64(seeds) {
		data, meta, cols, v := someBlock(seed, 1+rng.IntN(3000))
		if !requireSameEveryWay(t, data, meta, cols, v) {
			t.Fatalf("seed %d: a sound block is refused", seed)
		}
		if requireSameEveryWay(t, data, meta, cols-1, v) {
			t.Fatalf("seed %d: a column beyond the last is not noticed", seed)
		}
		for range 20 {
			bad := slices.Clone(data)
			at := blockHeaderSize + rng.IntN(len(bad)-blockHeaderSize)
			bad[at] ^= 1 << rng.IntN(8)
			if requireSameEveryWay(t, bad, meta, cols, v) {
				sound++
			}
		}
	}
	if sound < seeds {
		t.Errorf("only %d of %d damaged blocks were taken for sound: their sums were hardly tried", sound, 20*seeds)
	}
}

// FuzzVectorsAgree checks that all levels agree on any bytes.
func FuzzVectorsAgree(f *testing.F) {
	for seed := range uint64(20) {
		data, meta, cols, v := someBlock(seed, 300)
		f.Add(data, meta.rows, meta.nnz, cols, uint8(v.Coding.number()), len(v.Table))
	}
	f.Fuzz(func(t *testing.T, data []byte, rows, nnz uint32, cols int64, coding uint8, table int) {
		if rows > 1<<12 || nnz > 1<<14 || cols < 0 || cols > MaxCols {
			return
		}
		v := Values{Coding: codings[int(coding)%len(codings)]}
		for i := range min(max(table, 1), v.Coding.maxTable()) {
			v.Table = append(v.Table, float64(i))
		}
		requireSameEveryWay(t, data, &blockMeta{rows: rows, nnz: nnz}, cols, v)
	})
}
