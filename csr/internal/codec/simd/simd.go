// Package simd has the inner loops of decoding a block in vector instructions.
//
// AVX-512 is for checksums, and for float64 values, which are copied on the way. For
// columns it would gain a tenth on the machines measured (Zen 4).
//
// It knows nothing of files, damage or errors: package codec holds the same
// loops in plain Go, which read what is left over here, and what is damaged, so that they
// tell what is wrong. What a function promises about memory holds whatever the bytes are.
// Functions are given the level of the instructions they may use; at a level without
// vectors they do nothing, but for Add, which must not be called then.
package simd

// Sizes that callers allocate by.
const (
	// GroupLen is the number of values in a full group of packed numbers.
	GroupLen = 128
	// MaxGaps is the most that Add takes.
	MaxGaps = 8 * GroupLen
	// Slack is how many numbers longer than n both slices that Add is given must be.
	Slack = 8
	// FoldBytes is how many bytes CRC takes at a time.
	FoldBytes = 256
)

// maxWidth is the widest number read in vectors: with up to seven bits before
// it in its first byte it still lies in four bytes.
const maxWidth = 25

// RowSum is the state of a walk over the entries of a block in which Add turns
// gaps into columns, some at a time. The zero value begins a walk.
//
// Sums are kept in 32 bits. If all gaps and columns that come out are below 2³¹
// none has wrapped, because a column below 2³¹ plus a gap below 2³¹ plus one is
// below 2³²: columns then ascend strictly. They are right, in 16 bits too, if those
// can hold Top.
type RowSum struct {
	state [12]uint64
	marks [MaxGaps + 32]byte // of the entries under way, where a row begins
}

// Parts of state. The assembly knows them.
const (
	sumAt   = 0 // entries done
	sumRow  = 1 // first row that begins after them
	sumLess = 2 // the last column, negated, in 32 bits
	sumGaps = 4 // OR of all gaps, to be taken over eight words of 32 bits
	sumTop  = 8 // the greatest column, likewise
)

// Top is the greatest column, or any number that 16 bits cannot hold if they
// cannot hold that. If it is not ok, sums have wrapped or may have.
func (s *RowSum) Top() (column uint32, ok bool) {
	gaps := uint64(0)
	for i := range 4 {
		gaps |= s.state[sumGaps+i]
		two := s.state[sumTop+i]
		column = max(column, uint32(two), uint32(two>>32))
	}
	return column, (uint32(gaps|gaps>>32)|column)>>31 == 0
}
