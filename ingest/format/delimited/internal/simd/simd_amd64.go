//go:build !noasm

package simd

//go:generate sh -c "cd _gen && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import (
	"strings"

	"github.com/gdsvd/gdsvd/internal/cpu"
)

// Lines reads lines from the beginning of text while they consist of
//
//   - user and item, of 1 to 8 digits, the first no zero unless it is the only one,
//   - a value of 1 to 8 digits, perhaps with a point and 1 to 7 digits behind it,
//   - if stamp is set, an integer of 1 to 16 digits, the first no zero unless it is the only one,
//
// separated by sep, one or two bytes that are no digits and do not begin with a point,
// and end with LF or CRLF; and while they are not too near the end of text
// ([Margin]), and the slices, of equal lengths, have room. It returns the bytes
// and lines taken.
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
