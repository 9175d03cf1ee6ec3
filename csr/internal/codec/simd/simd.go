// Package simd has the inner loops of decoding a block in vector instructions.
//
// AVX-512 is used for checksums, and for float64 values, which are copied in the same loop. For columns it would gain a
// tenth on the machines measured (Zen 4).
//
// The package does not deal with files, damage or errors. Package codec holds the same loops in plain Go: they read the
// rest that the vectors leave and the damaged parts, and report the damage. What a function promises about memory holds
// whatever the bytes are. Functions are given the level of the instructions they may use. At a level without vectors they
// do nothing, except Add, which must not be called then.
package simd

// Sizes that callers allocate by.
const (
	// GroupLen is the number of values in a full group of packed numbers.
	GroupLen = 128
	// MaxGaps is the largest n of Add.
	MaxGaps = 8 * GroupLen
	// Slack is the number of elements by which both slices given to Add must be longer than n.
	Slack = 8
	// FoldBytes is the number of bytes that CRC takes at a time.
	FoldBytes = 256
)

// maxWidth is the widest number read in vectors: with up to seven bits before
// it in its first byte it still lies in four bytes.
const maxWidth = 25

// RowSum is the state of a walk over the entries of a block in which Add turns
// gaps into columns, some at a time. The zero value begins a walk.
//
// Sums have 32 bits. If all gaps and all resulting columns are below 2³¹, no sum has wrapped, because a column below 2³¹
// plus a gap below 2³¹ plus one is below 2³²: columns then ascend strictly. Columns of 16 bits are right if 16 bits can
// hold Top.
type RowSum struct {
	state [12]uint64
	marks [MaxGaps + 32]byte // 1 for each entry of the current call at which a row begins
}

// Indices into state; the assembly uses the same numbers.
const (
	sumAt   = 0 // entries done
	sumRow  = 1 // first row that begins after those entries
	sumLess = 2 // the last column, negated, in 32 bits
	sumGaps = 4 // OR of all gaps, spread over eight words of 32 bits
	sumTop  = 8 // the greatest column, spread likewise
)

// Top returns the greatest column; if 16 bits cannot hold it, maybe another number that they cannot hold. If ok is false,
// sums may have wrapped.
func (s *RowSum) Top() (column uint32, ok bool) {
	gaps := uint64(0)
	for i := range 4 {
		gaps |= s.state[sumGaps+i]
		two := s.state[sumTop+i]
		column = max(column, uint32(two), uint32(two>>32))
	}
	return column, (uint32(gaps|gaps>>32)|column)>>31 == 0
}
