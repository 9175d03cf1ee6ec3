//go:build !noasm

package simd

//go:generate sh -c "cd _gen && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import "golang.org/x/sys/cpu"

func best() Level {
	switch x := &cpu.X86; {
	case x.HasAVX2 && x.HasBMI2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL && x.HasAVX512VBMI:
		return AVX512
	case x.HasAVX2:
		return AVX2
	}
	return None
}

// The shuffle, shift and mask of each width, as the kernels want them.
var (
	lanes [MaxWidth + 1][17]uint32 // shuffle of 32 bytes, 8 shifts, mask
	wide  [MaxWidth + 1][33]uint32 // shuffle of 64 bytes, 16 shifts, mask
)

func init() {
	for b := 1; b <= MaxWidth; b++ {
		for i := range 16 {
			bit := i * b
			wide[b][i], wide[b][16+i] = fourBytes(bit/8), uint32(bit%8)
			if i < 8 {
				// The high lane of a vector begins at the byte with the first bit of number 4.
				if i >= 4 {
					bit -= 4 * b / 8 * 8
				}
				lanes[b][i], lanes[b][8+i] = fourBytes(bit/8), uint32(bit%8)
			}
		}
		wide[b][32], lanes[b][16] = 1<<b-1, 1<<b-1
	}
}

// fourBytes is the part of a shuffle that takes bytes i … i+3.
func fourBytes(i int) uint32 { return 0x03020100 + 0x01010101*uint32(i) }

// Unpack reads as many numbers of b bits, 1 ≤ b ≤ MaxWidth, as it can in
// vectors into the front of dst, and returns how many, a multiple of 8. src
// begins with len(dst) such numbers and is at least Slack bytes longer.
func Unpack(dst []uint32, src []byte, b uint) int {
	if len(src) < (len(dst)*int(b)+7)/8+Slack {
		panic("simd: Unpack: no slack")
	}
	switch {
	case level == AVX512 && len(dst) >= 16:
		n := len(dst) &^ 15
		unpackAVX512(&dst[0], &src[0], n, int(b), &wide[b])
		return n
	case level >= AVX2 && len(dst) >= 8:
		n := len(dst) &^ 7
		unpackAVX2(&dst[0], &src[0], n, int(b), &lanes[b])
		return n
	}
	return 0
}

// Add turns the next n ≥ 1 gaps into columns. ends are the ends of the
// block's rows: ascending, and the last at least n more than the entries done.
// Both col and gaps are at least Slack words longer than n; the words of col
// beyond n are overwritten.
func (s *RowSum) Add(col, gaps []uint32, n int, ends []uint32) {
	if n < 1 || len(col) < n+Slack || len(gaps) < n+Slack || uint64(ends[len(ends)-1]) < s[sumAt]+uint64(n) {
		panic("simd: RowSum.Add: slices too short")
	}
	if level == AVX512 {
		sumRowsAVX512(&col[0], &gaps[0], n, &ends[0], (*[5]uint64)(s))
	} else {
		sumRowsAVX2(&col[0], &gaps[0], n, &ends[0], (*[5]uint64)(s))
	}
	s[sumAt] += uint64(n)
}

// Dict4 looks up the front of dst, the nibbles of src from the low ones up, in
// the table, and returns how many, a multiple of 16.
func Dict4(dst []float64, src []byte, table *[16]float64) int {
	n := min(len(dst), 2*len(src)) &^ 15
	if level < AVX512 || n == 0 {
		return 0
	}
	dict4AVX512(&dst[0], &src[0], n, table)
	return n
}

// Float32 converts the front of dst from src, and returns how many, a multiple of 8, and
// whether all of them are finite.
func Float32(dst []float64, src []byte) (n int, finite bool) {
	n = min(len(dst), len(src)/4) &^ 7
	if level < AVX2 || n == 0 {
		return 0, true
	}
	return n, !float32AVX2(&dst[0], &src[0], n)
}

// Float64 is Float32 for values of eight bytes.
func Float64(dst []float64, src []byte) (n int, finite bool) {
	n = min(len(dst), len(src)/8) &^ 7
	if level < AVX2 || n == 0 {
		return 0, true
	}
	return n, !float64AVX2(&dst[0], &src[0], n)
}
