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
	// Slack is how many bytes beyond those of its numbers Unpack may read, and
	// how many numbers before the end of a longer slice Add may touch.
	Slack = 16
	// MaxWidth is the widest number Unpack reads: with up to seven bits before it in its first byte
	// it still lies in four bytes.
	MaxWidth = 25
	// FoldBytes is how many bytes CRC takes at a time.
	FoldBytes = 256
)

// RowSum is the state of a walk over the rows of a block in which Add
// turns gaps into columns, some at a time.
//
// Sums are kept in 32 bits. If Bits is below 2³¹ in the end they have not
// wrapped, because a column below 2³¹ plus a gap below 2³¹ plus one is below
// 2³²: columns then ascend strictly and none lies beyond Top. Columns of 16 bits
// are saturated: they, too, are right if Bits is below 2¹⁶.
type RowSum [5]uint64

// Fields of RowSum. The assembly knows them.
const (
	sumAt   = iota // entries done
	sumRow         // first row that is not done
	sumLast        // last column of that row, or 2³²−1 if it has none yet
	sumTop         // the greatest last column of a row
	sumBits        // OR of all gaps and columns
)

// NewRowSum begins a walk.
func NewRowSum() RowSum { return RowSum{sumLast: 1<<32 - 1} }

// Top is the greatest column, if Bits is below 2³¹.
func (s *RowSum) Top() uint32 { return uint32(s[sumTop]) }

// Bits is the OR of all gaps and columns.
func (s *RowSum) Bits() uint32 { return uint32(s[sumBits]) }
