package simd

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
	"pgregory.net/rapid"
)

func needVectors(t testing.TB) {
	t.Helper()
	if cpu.Best() < cpu.AVX2 {
		t.Skip("no vectors on this machine, or in this build")
	}
}

// guard fills the memory around the output of a function: it must not be overwritten.
const guard = 0xdeadbeef

// TestRowSum sums gaps of any size in rows of any length, in pieces that end anywhere, and compares
// with sums in 64 bits, which also tell whether columns fit.
func TestRowSum(t *testing.T) {
	t.Run("32", testRowSum[uint32])
	t.Run("16", testRowSum[uint16])
}

func testRowSum[C uint16 | uint32](t *testing.T) {
	needVectors(t)
	const limit = 1 << 31
	most := uint64(^C(0))
	const guard = guard & 0xffff
	rapid.Check(t, func(t *rapid.T) {
		wild := rapid.SampledFrom([]uint32{0, 3, 1000, 1<<16 - 1, 1 << 16, 1 << 26, 1 << 30, 1<<31 - 1, 1<<32 - 1}).Draw(t, "largest gap")
		lens := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 2, 7, 8, 9, 15, 16, 17, 40, 300}), 1, 40).Draw(t, "lengths")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var gaps []uint32
		ptr := []uint32{0}
		var want []C
		fits, top := true, uint64(0)
		for _, n := range lens {
			next := uint64(0)
			for range n {
				g := uint32(rng.Uint64N(uint64(wild) + 1))
				if rng.IntN(20) > 0 {
					g %= 50
				}
				next += uint64(g)
				fits = fits && uint64(g) < limit && next < limit
				gaps, want = append(gaps, g), append(want, C(next))
				top = max(top, next)
				next++ // may exceed the column type, but not 64 bits
			}
			ptr = append(ptr, uint32(len(gaps)))
		}
		var sum RowSum
		got := []C{}
		for at := 0; at < len(gaps); {
			n := min(len(gaps)-at, rapid.OneOf(rapid.IntRange(1, 200), rapid.Just(MaxGaps)).Draw(t, "piece"))
			in := make([]uint32, n+Slack) // numbers already seen may follow the piece
			copy(in, gaps[at:])
			out := slices.Repeat([]C{guard}, n+2*Slack)
			Add(&sum, out[:n+Slack], in, n, ptr)
			got = append(got, out[:n]...)
			if i := slices.IndexFunc(out[n+Slack:], func(x C) bool { return x != guard }); i >= 0 {
				t.Fatalf("word %d after the last of %d is %#x", i+Slack, n, out[n+Slack+i])
			}
			at += n
		}
		switch greatest, ok := sum.Top(); {
		case top > most:
			if ok && uint64(greatest) <= most {
				t.Fatalf("greatest column is %d, want %d: not noticed", greatest, top)
			}
		case ok != fits:
			t.Fatalf("sums fit: %v; thought to: %v", fits, ok)
		case fits && uint64(greatest) != top:
			t.Fatalf("greatest column is %d, want %d", greatest, top)
		case fits && !slices.Equal(got, want):
			t.Fatalf("columns are %v, want %v", got, want)
		}
	})
}

func TestNibbles(t *testing.T) {
	needVectors(t)
	rng := rand.New(rand.NewPCG(3, 4))
	const guard = 0xaa
	for n := range 200 {
		src := make([]byte, (n+1)/2)
		for i := range src {
			src[i] = byte(rng.Uint32() & rng.Uint32())
		}
		dst := slices.Repeat([]byte{guard}, n+32)
		got, top := Nibbles(cpu.Best(), dst[:n], src)
		if got != n&^31 {
			t.Fatalf("spread %d of %d", got, n)
		}
		greatest := byte(0)
		for i, v := range dst {
			want := byte(guard)
			if i < got {
				want = src[i/2] >> (i % 2 * 4) & 15
				greatest = max(greatest, want)
			}
			if v != want {
				t.Fatalf("nibble %d of %d: got %d, want %d", i, n, v, want)
			}
		}
		if top != greatest {
			t.Fatalf("the greatest of %d is %d, want %d", got, top, greatest)
		}
	}
}

// TestBytes copies every length below 200 with the largest byte anywhere, and compares the copy and the maximum.
func TestBytes(t *testing.T) {
	needVectors(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for n := range 200 {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(rng.IntN(100))
		}
		if n > 0 {
			src[rng.IntN(n)] = 200
		}
		dst := slices.Repeat([]byte{0xfe}, n+32)
		got, top := Bytes(cpu.Best(), dst[:n], src)
		if got != n&^31 || !slices.Equal(dst[:got], src[:got]) || slices.ContainsFunc(dst[got:], func(b byte) bool { return b != 0xfe }) {
			t.Fatalf("%d of %d bytes: %v is a copy of %v", got, n, dst, src)
		}
		if want := slices.Max(append([]byte{0}, src[:got]...)); top != want {
			t.Fatalf("the greatest of %d is %d, want %d", got, top, want)
		}
	}
}

// TestFloats checks that values are copied bit for bit, and that a non-finite value is noticed at any place.
func TestFloats(t *testing.T) {
	needVectors(t)
	rng := rand.New(rand.NewPCG(5, 6))
	good := []float64{0, 1, -1.5, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1 << 40}
	for n := range 50 {
		for bad := -1; bad < n&^7; bad++ {
			for _, odd := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
				var single, double []byte
				want := make([]float64, n)
				for i := range want {
					want[i] = good[rng.IntN(len(good))]
					if i == bad {
						want[i] = odd
					}
					single = binary.LittleEndian.AppendUint32(single, math.Float32bits(float32(want[i])))
					double = binary.LittleEndian.AppendUint64(double, math.Float64bits(want[i]))
				}
				for name, got := range map[string]func([]float64) (int, bool){
					"float32": func(dst []float64) (int, bool) { return Float32(cpu.Best(), dst, single) },
					"float64": func(dst []float64) (int, bool) { return Float64(cpu.Best(), dst, double) },
				} {
					dst := slices.Repeat([]float64{guard}, n+16)
					m, finite := got(dst[:n])
					if m != n&^7 || finite != (bad < 0) {
						t.Fatalf("%s: %d of %d, finite %v with the odd one at %d", name, m, n, finite, bad)
					}
					for i, v := range dst {
						if i < m && v != want[i] && i != bad || i >= m && v != guard {
							t.Fatalf("%s: value %d of %d is %v", name, i, n, v)
						}
					}
				}
			}
		}
	}
}

// TestLevels checks that the functions process nothing at a level without the instructions they need.
func TestLevels(t *testing.T) {
	for _, l := range cpu.Levels() {
		src := make([]byte, 1024)
		n, finite := Float64(l, make([]float64, 16), src)
		nibbles, _ := Nibbles(l, make([]byte, 64), src)
		bytes, _ := Bytes(l, make([]byte, 64), src)
		groups, _ := Groups(l, make([]uint32, GroupLen), src)
		if did := groups+nibbles+bytes+n > 0; did != (l > cpu.Portable) || !finite {
			t.Errorf("%v: vectors are used: %v", l, did)
		}
		crc, _ := CRC(l, 0, src)
		floats, finite, _ := Float64CRC(l, make([]float64, 64), src, 0)
		if did := crc+floats > 0; did != (l >= cpu.AVX512Fold) || !finite {
			t.Errorf("%v: sums are folded: %v", l, did)
		}
	}
}
