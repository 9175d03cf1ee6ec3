package simd

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// requireCRC compares with hash/crc32.
func requireCRC(t *testing.T, crc uint32, src []byte) {
	t.Helper()
	n, got := CRC(crc, src)
	if n > len(src) || n < len(src)-FoldBytes+1 {
		t.Fatalf("%d of %d bytes", n, len(src))
	}
	if want := crc32.Update(crc, castagnoli, src[:n]); got != want {
		t.Fatalf("%d bytes after %08x: got %08x, want %08x", n, crc, got, want)
	}
}

func needFolding(t testing.TB) {
	if _, crc := CRC(0, make([]byte, FoldBytes)); crc == 0 {
		t.Skip("no carry-less multiplication on this machine, or in this build")
	}
}

// TestCRC: all lengths, at all alignments, after any sum.
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
	for bit := range 8 * 3 * FoldBytes { // CRC is linear: single bits tell of every product
		single := make([]byte, 3*FoldBytes)
		single[bit/8] = 1 << (bit % 8)
		requireCRC(t, ^uint32(0), single)
	}
}

// FuzzCRC: whatever the bytes, as hash/crc32.
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
