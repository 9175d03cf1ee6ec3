package simd

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// requireCRC compares CRC with hash/crc32.
func requireCRC(t *testing.T, crc uint32, src []byte) {
	t.Helper()
	n, got := CRC(cpu.Best(), crc, src)
	if n > len(src) || n < len(src)-FoldBytes+1 {
		t.Fatalf("%d of %d bytes", n, len(src))
	}
	if want := crc32.Update(crc, castagnoli, src[:n]); got != want {
		t.Fatalf("%d bytes after %08x: got %08x, want %08x", n, crc, got, want)
	}
}

func needFolding(t testing.TB) {
	t.Helper()
	if cpu.Best() < cpu.AVX512Fold {
		t.Skip("no carry-less multiplication on this machine, or in this build")
	}
}

// TestCRC compares with hash/crc32 for many lengths, all alignments, and random initial sums.
func TestCRC(t *testing.T) {
	needFolding(t)
	rng := rand.New(rand.NewPCG(9, 10))
	data := make([]byte, 20*FoldBytes+64)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	for n := range 20 * FoldBytes {
		at := n % 64
		requireCRC(t, rng.Uint32(), data[at:at+n])
	}
	for at := range 64 {
		requireCRC(t, 0, data[at:at+7*FoldBytes])
	}
	for bit := range 8 * 3 * FoldBytes { // CRC is linear: single bits cover every product
		single := make([]byte, 3*FoldBytes)
		single[bit/8] = 1 << (bit % 8)
		requireCRC(t, ^uint32(0), single)
	}
}

// TestFloat64CRC compares with hash/crc32 and the encoded values, with a non-finite value at any place.
func TestFloat64CRC(t *testing.T) {
	needFolding(t)
	rng := rand.New(rand.NewPCG(11, 12))
	for n := range 4 * FoldBytes / 8 {
		take := n &^ (FoldBytes/8 - 1)
		for bad := -1; bad < take; bad++ {
			src := make([]byte, 8*n+1)[1:]
			for i := range n {
				x := rng.NormFloat64()
				if i == bad {
					x = math.Inf(1 - i%2*2)
				}
				binary.LittleEndian.PutUint64(src[8*i:], math.Float64bits(x))
			}
			dst := slices.Repeat([]float64{guard}, n+8)
			crc := rng.Uint32()
			got, finite, next := Float64CRC(cpu.Best(), dst[:n], src, crc)
			if want := crc32.Update(crc, castagnoli, src[:8*take]); got != take || finite != (bad < 0) || next != want {
				t.Fatalf("%d of %d, odd one at %d: finite %v, crc %08x, want %08x", got, n, bad, finite, next, want)
			}
			for i, x := range dst {
				want := float64(guard)
				if i < take {
					want = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
				}
				if x != want {
					t.Fatalf("value %d of %d is %v, want %v", i, n, x, want)
				}
			}
		}
	}
}

// FuzzCRC compares with hash/crc32 for any bytes.
func FuzzCRC(f *testing.F) {
	needFolding(f)
	f.Add(uint32(0), []byte("abc"), uint8(3))
	f.Fuzz(func(t *testing.T, crc uint32, src []byte, repeat uint8) {
		long := make([]byte, 0, len(src)*int(repeat))
		for range repeat {
			long = append(long, src...)
		}
		requireCRC(t, crc, long)
	})
}
