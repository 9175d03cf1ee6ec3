//go:build !noasm

package simd

//go:generate sh -c "cd _gen && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import (
	"strings"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// Lines reads lines from the beginning of text as long as they consist of
//
// - user and item, of 1 to 8 digits, without a leading zero,
//   - a value of 1 to 8 digits, optionally with a point and 1 to 7 digits after it,
//   - if stamp is set, an integer of 1 to 16 digits, without a leading zero,
//
// separated by sep, which is one or two bytes that are not digits and does not begin with a point, and end with LF or CRLF.
// It stops at a line too near the end of text ([Margin]), and when the slices, which have equal lengths, are full. It returns
// the numbers of bytes and lines that it has read.
func Lines(text []byte, sep string, stamp bool, users, items []int64, vals []float64) (taken, lines int) {
	if cpu.Best() < cpu.AVX2 || len(text) < Margin || len(users) == 0 || strings.ContainsAny(sep, "0123456789") {
		return 0, 0
	}
	if len(items) != len(users) || len(vals) != len(users) || len(sep) < 1 || len(sep) > 2 {
		panic("simd: Lines: slices of different lengths, or a long separator")
	}
	last := len(text) - Margin
	if len(sep) == 1 {
		return lines1AVX2(&text[0], last, &users[0], &items[0], &vals[0], len(users), uint16(sep[0]), stamp)
	}
	return lines2AVX2(&text[0], last, &users[0], &items[0], &vals[0], len(users), uint16(sep[0])|uint16(sep[1])<<8, stamp)
}
