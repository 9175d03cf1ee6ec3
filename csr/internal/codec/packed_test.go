package codec

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/must"
	"pgregory.net/rapid"
)

// leastSize returns the least size of a group, and the smallest width that gives it, by trying all widths: the oracle.
func leastSize(group []uint32) (least, width int) {
	least = -1
	for b := range 33 {
		size, exceptions := 2+(len(group)*b+7)/8, 0
		for _, v := range group {
			high := uint64(v) >> b
			if high == 0 {
				continue
			}
			exceptions++
			size += 1 + max(1, (bits.Len64(high)+6)/7)
		}
		if exceptions <= 127 && (least < 0 || size < least) {
			least, width = size, b
		}
	}
	return least, width
}

// drawNumbers draws numbers as the codec gets them: mostly small, some of any size.
func drawNumbers(t *rapid.T) []uint32 {
	bound := rapid.SampledFrom([]uint32{0, 1, 3, 20, 255, 5000, 1 << 20, 1<<32 - 1}).Draw(t, "bound")
	small := rapid.Uint32Range(0, bound)
	wild := rapid.OneOf(small, small, small, rapid.Uint32())
	return rapid.SliceOfN(wild, 0, 400).Draw(t, "numbers")
}

func TestPackedRoundTrip(t *testing.T) { everyWay(t, testPackedRoundTrip) }

func testPackedRoundTrip(t *testing.T, level cpu.Level) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawNumbers(t)
		packed := AppendPacked([]byte("before"), want)[6:]

		size := 0
		for group := range slices.Chunk(want, groupLen) {
			least, width := leastSize(group)
			if size < len(packed) && int(packed[size]) != width {
				t.Fatalf("%v: width %d, the smallest of the best is %d", group, packed[size], width)
			}
			size += least
		}
		if len(packed) != size {
			t.Fatalf("%d numbers in %d bytes, the least is %d", len(want), len(packed), size)
		}
		slack := rapid.IntRange(0, 10).Draw(t, "slack")
		buf := append(slices.Clone(packed), slices.Repeat([]byte{0xff}, slack)...)
		got := slices.Repeat([]uint32{0xdeadbeef}, len(want))
		must.Do(t, Unpack(level, got, buf, len(packed)))
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestPackedEveryWidth packs full and short groups of every width and unpacks them with and without
// bytes after them, so that every path of unpackLow is taken.
func TestPackedEveryWidth(t *testing.T) { everyWay(t, testPackedEveryWidth) }

func testPackedEveryWidth(t *testing.T, level cpu.Level) {
	rng := rand.New(rand.NewPCG(5, 6))
	for width := range 33 {
		for _, n := range []int{1, 3, 7, 8, 9, 127, 128, 129, 256} {
			want := make([]uint32, n)
			for i := range want {
				want[i] = uint32(rng.Uint64() & (1<<width - 1))
				if width > 0 {
					want[i] |= 1 << (width - 1)
				}
			}
			packed := AppendPacked(nil, want)
			for _, slack := range []int{0, 7, 8, 15, 16, 100} {
				buf := append(slices.Clone(packed), slices.Repeat([]byte{0xff}, slack)...)
				got := make([]uint32, n)
				if err := Unpack(level, got, buf, len(packed)); err != nil {
					t.Fatalf("width %d, %d numbers: %v", width, n, err)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("width %d, %d numbers, slack %d: got %v, want %v", width, n, slack, got, want)
				}
			}
		}
	}
}

func TestUnpackRefuses(t *testing.T) { everyWay(t, testUnpackRefuses) }

func testUnpackRefuses(t *testing.T, level cpu.Level) {
	for name, c := range map[string]struct {
		n      int
		packed []byte
		at     int64
	}{
		"nothing":              {1, nil, 0},
		"half a header":        {1, []byte{3}, 0},
		"width 33":             {1, []byte{33, 0, 0, 0, 0, 0, 0}, 0},
		"width 32, exceptions": {1, []byte{32, 1, 0, 0, 0, 0, 0, 1}, 0},
		"too many exceptions":  {1, []byte{0, 2, 0, 0, 1, 1}, 0},
		"128 exceptions":       {128, append([]byte{0, 128}, make([]byte, 400)...), 0},
		"low bits cut":         {8, []byte{8, 0, 1, 2, 3}, 0},
		"unused bits set":      {3, []byte{1, 0, 0b1000}, 2},
		"positions cut":        {4, []byte{0, 2, 0}, 0},
		"position too large":   {4, []byte{0, 1, 4, 1}, 2},
		"positions equal":      {4, []byte{0, 2, 1, 1, 1, 1}, 3},
		"positions descend":    {4, []byte{0, 2, 2, 1, 1, 1}, 3},
		"high cut":             {4, []byte{0, 2, 1, 2, 0x85, 0x80}, 4},
		"high missing":         {4, []byte{0, 2, 1, 2, 0x85, 0x01}, 6},
		"high zero":            {4, []byte{0, 1, 1, 0}, 3},
		"high not shortest":    {4, []byte{0, 1, 1, 0x81, 0x00}, 3},
		"high of 33 bits":      {4, []byte{0, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x1f}, 3},
		"high over the top":    {4, []byte{31, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}, 19},
		"bytes left over":      {1, []byte{0, 0, 0}, 2},
		"second group":         {129, []byte{0, 0, 34, 0}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slack := range []int{0, 16} {
				buf := append(slices.Clone(c.packed), make([]byte, slack)...)
				err := Unpack(level, make([]uint32, c.n), buf, len(c.packed))
				bad, ok := err.(*Damage)
				if !ok {
					t.Fatalf("got error %v, want damage", err)
				}
				if bad.At != c.at {
					t.Errorf("%v at %d, want %d", bad, bad.At, c.at)
				}
			}
		})
	}
}

// FuzzPacked checks that Unpack of any bytes gives an error or numbers that can be packed, in at
// most as many bytes, and unpacked again.
func FuzzPacked(f *testing.F) {
	f.Add([]byte{3, 0, 1, 2, 3}, 8)
	f.Add(AppendPacked(nil, []uint32{1, 2, 3, 1 << 30, 5, 6, 7, 8, 9, 10}), 10)
	f.Add(AppendPacked(nil, slices.Repeat([]uint32{7, 300}, 100)), 200)
	f.Fuzz(func(t *testing.T, packed []byte, n int) {
		n = min(max(n, 0), 1000)
		got := make([]uint32, n)
		if Unpack(cpu.Best(), got, packed, len(packed)) != nil {
			return
		}
		again := make([]uint32, n)
		least := AppendPacked(nil, got)
		if len(least) > len(packed) {
			t.Fatalf("the writer takes %d bytes where %d are enough", len(least), len(packed))
		}
		if err := Unpack(cpu.Best(), again, least, len(least)); err != nil || !slices.Equal(got, again) {
			t.Fatalf("%v: %v became %v", err, got, again)
		}
	})
}

// benchLen is the number of entries of a block.
const benchLen = 1 << 17

func BenchmarkUnpack(b *testing.B) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, width := range []int{0, 4, 8, 12, 20, 32} {
		b.Run(fmt.Sprintf("width%d", width), func(b *testing.B) {
			vals := make([]uint32, benchLen)
			for i := range vals {
				vals[i] = uint32(rng.Uint64() & (1<<width - 1))
			}
			packed := AppendPacked(nil, vals)
			for b.Loop() {
				must.Do(b, Unpack(cpu.Best(), vals, packed, len(packed)))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchLen, "ns/value")
		})
	}
}

func BenchmarkPack(b *testing.B) {
	rng := rand.New(rand.NewPCG(9, 10))
	vals := make([]uint32, benchLen)
	for i := range vals {
		vals[i] = uint32(40 * rng.ExpFloat64())
	}
	var packed []byte
	for b.Loop() {
		packed = AppendPacked(packed[:0], vals)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchLen, "ns/value")
	b.ReportMetric(float64(len(packed))/benchLen, "bytes/value")
}
