//go:build !noasm

package simd

//go:generate sh -c "cd _gen && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd"

import "golang.org/x/sys/cpu"

var available = cpu.X86.HasAVX2 && cpu.X86.HasBMI1 && cpu.X86.HasBMI2

// A form is what linesAVX2 knows of the lines; its fields are at the offsets named.
type form [6]uint64

const (
	formLast  = iota // from where in the text no line may begin any more
	formRoom         // lines there is room for
	formSep          // separator, one or two bytes
	formMask         // of its bits
	formSize         // of it, in bytes
	formStamp        // not 0: there are four fields
)

// Lines reads lines from the beginning of text while they consist of
//
//   - user and item, of 1 to 8 digits, the first no zero unless it is the only one,
//   - a value of 1 to 8 digits, perhaps with a point and 1 to 7 digits behind it,
//   - if stamp is set, an integer of 1 to 16 digits, the first no zero unless it is the only one,
//
// separated by sep, one or two bytes of which the first is neither a digit nor a point,
// and end with LF or CRLF; and while they are not too near the end of text
// ([Margin]), and the slices, of equal lengths, have room. It returns the bytes
// and lines taken.
func Lines(text []byte, sep string, stamp bool, users, items []int64, vals []float64) (taken, lines int) {
	if !on || len(text) < Margin || len(users) == 0 {
		return 0, 0
	}
	if len(items) != len(users) || len(vals) != len(users) || len(sep) < 1 || len(sep) > 2 {
		panic("simd: Lines: slices of different lengths, or a long separator")
	}
	f := form{formLast: uint64(len(text) - Margin), formRoom: uint64(len(users)), formSize: uint64(len(sep))}
	f[formSep], f[formMask] = uint64(sep[0]), 0xff
	if len(sep) == 2 {
		f[formSep], f[formMask] = f[formSep]|uint64(sep[1])<<8, 0xffff
	}
	if stamp {
		f[formStamp] = 1
	}
	return linesAVX2(&text[0], (*[6]uint64)(&f), &users[0], &items[0], &vals[0])
}
