//go:build !noasm

package simd

//go:generate sh -c "cd _gen && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import (
	"slices"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// lanes holds for each width the tables of groupsAVX2: a shuffle of 32 bytes, eight shifts, a mask.
var lanes [maxWidth + 1][17]uint32

// heads holds for each pattern of eight marks and each of its places the place of the last mark at or before it, or −1.
var heads [256][8]int32

func init() {
	for b := 1; b <= maxWidth; b++ {
		for i := range 8 {
			bit := i * b
			if i >= 4 { // the high lane begins at the byte with the first bit of number 4
				bit -= b / 2 * 8
			}
			lanes[b][i], lanes[b][8+i] = 0x03020100+0x01010101*uint32(bit/8), uint32(bit%8) // bytes bit/8 … bit/8+3
		}
		lanes[b][16] = 1<<b - 1
	}
	for pattern := range heads {
		head := int32(-1)
		for i := range int32(8) {
			if pattern>>i&1 != 0 {
				head = i
			}
			heads[pattern][i] = head
		}
	}
}

// Groups reads full groups of packed numbers from the front of src to the front of dst, and returns the number of
// numbers and of bytes. It stops before the first group that is damaged, or rare (numbers of more than 25 bits,
// exceptions of more than 14), or too close to the end of src; dst is undefined from that group on.
func Groups(l cpu.Level, dst []uint32, src []byte) (n, used int) {
	groups := len(dst) / GroupLen
	if l < cpu.AVX2 || groups == 0 || len(src) == 0 {
		return 0, 0
	}
	groups, used = groupsAVX2(&dst[0], &src[0], groups, len(src), &lanes)
	return groups * GroupLen, used
}

// Add turns the next n gaps, 1 ≤ n ≤ MaxGaps, into columns. Row i of the block has the entries ptr[i] … ptr[i+1]−1; ptr
// ascends, and its last element is at least n more than the entries done. Both col and gaps are at least Slack elements
// longer than n; elements beyond n are overwritten.
func Add[C uint16 | uint32](s *RowSum, col []C, gaps []uint32, n int, ptr []uint32) {
	if n < 1 || n > MaxGaps || len(col) < n+Slack || len(gaps) < n+Slack || uint64(ptr[len(ptr)-1]) < s.state[sumAt]+uint64(n) {
		panic("simd: Add: too many gaps, or slices too short")
	}
	clear(gaps[n : n+Slack])
	switch col := any(&col[0]).(type) {
	case *uint16:
		sumRows16AVX2(col, &gaps[0], n, &ptr[0], &s.state, &s.marks[0], &heads)
	case *uint32:
		sumRows32AVX2(col, &gaps[0], n, &ptr[0], &s.state, &s.marks[0], &heads)
	}
	s.state[sumAt] += uint64(n)
}

// Nibbles spreads the nibbles of src, the low one of each byte first, to the
// front of dst, and returns their number, a multiple of 32, and the greatest.
func Nibbles(l cpu.Level, dst, src []byte) (n int, top byte) {
	n = min(len(dst), 2*len(src)) &^ 31
	if l < cpu.AVX2 || n == 0 {
		return 0, 0
	}
	var tops [32]byte
	nibblesAVX2(&dst[0], &src[0], n, &tops)
	return n, slices.Max(tops[:])
}

// Bytes copies the front of src to dst, and returns the number of bytes, a multiple of
// 32, and the greatest byte.
func Bytes(l cpu.Level, dst, src []byte) (n int, top byte) {
	n = min(len(dst), len(src)) &^ 31
	if l < cpu.AVX2 || n == 0 {
		return 0, 0
	}
	var tops [32]byte
	bytesAVX2(&dst[0], &src[0], n, &tops)
	return n, slices.Max(tops[:])
}

// Float32 converts the front of src to the front of dst, and returns the number of values, a multiple of 8, and
// whether all of them are finite.
func Float32(l cpu.Level, dst []float64, src []byte) (n int, finite bool) {
	n = min(len(dst), len(src)/4) &^ 7
	if l < cpu.AVX2 || n == 0 {
		return 0, true
	}
	return n, !float32AVX2(&dst[0], &src[0], n)
}

func Float64(l cpu.Level, dst []float64, src []byte) (n int, finite bool) {
	n = min(len(dst), len(src)/8) &^ 7
	if l < cpu.AVX2 || n == 0 {
		return 0, true
	}
	return n, !float64AVX2(&dst[0], &src[0], n)
}

// CRC continues a CRC-32C over as many bytes of src as it can take in vectors, and returns their number, a multiple of
// FoldBytes, and the sum that hash/crc32 would give. It uses carry-less multiplications of 64 bytes: on Zen 4 those of 16
// or 32 bytes are no faster than the instruction that hash/crc32 uses.
func CRC(l cpu.Level, crc uint32, src []byte) (n int, next uint32) {
	n = len(src) &^ (FoldBytes - 1)
	if l < cpu.AVX512Fold || n == 0 {
		return 0, crc
	}
	return n, ^crcAVX512(^crc, &src[0], n)
}

// Float64CRC does what Float64 and CRC do, in one loop, for a multiple of FoldBytes/8 values.
func Float64CRC(l cpu.Level, dst []float64, src []byte, crc uint32) (n int, finite bool, next uint32) {
	n = min(len(dst), len(src)/8) &^ (FoldBytes/8 - 1)
	if l < cpu.AVX512Fold || n == 0 {
		return 0, true, crc
	}
	next, over := float64CRCAVX512(^crc, &src[0], 8*n, &dst[0])
	return n, !over, ^next
}
