// Package simd has the inner loops of decoding a block in vector instructions.
//
// There is no AVX-512: on the machines measured (Zen 4) it was at most 5 % faster
// on blocks of long rows, and slower on those of short ones.
//
// It knows nothing of files, damage or errors: package csr has decoded the
// frame of every group before it calls, holds the same loops in plain Go, and
// decodes a block again with those when the proof that comes out of here fails.
// What a function promises about memory holds whatever the bytes are.
package simd

// on says whether vectors are used. It changes in tests only.
var on = available

// Active tells whether vectors are used. If not, Add must not be
// called, and the others do nothing.
func Active() bool { return on }

// Available tells whether this machine has the instructions, AVX2.
func Available() bool { return available }

// Force switches vectors on, where they are available, or off until restore is
// called, for tests. No block may be being decoded at that time.
func Force(use bool) (restore func()) {
	old := on
	on = use && available
	return func() { on = old }
}

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
