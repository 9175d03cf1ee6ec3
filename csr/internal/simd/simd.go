// Package simd has the inner loops of decoding a block in vector instructions.
//
// It knows nothing of files, damage or errors: package csr has decoded the
// frame of every group before it calls, holds the same loops in plain Go, and
// decodes a block again with those when the proof that comes out of here fails.
// What a function promises about memory holds whatever the bytes are.
package simd

// Level is a set of vector instructions.
type Level uint8

// The levels, each faster than the one before.
const (
	None   Level = iota // plain Go, in package csr
	AVX2                //
	AVX512              // F, BW, DQ, VL, VBMI
)

func (l Level) String() string { return [...]string{"none", "AVX2", "AVX512"}[l] }

// level is what this machine runs. It changes in tests only.
var level = best()

// Active is the level in use.
func Active() Level { return level }

// Force makes l the level in use until restore is called, for tests; ok is
// false, and nothing changes, where the machine has no such instructions. No
// block may be being decoded at that time.
func Force(l Level) (restore func(), ok bool) {
	if l > best() {
		return func() {}, false
	}
	old := level
	level = l
	return func() { level = old }, true
}

// Sizes that callers allocate by.
const (
	// Slack is how many bytes beyond those of its numbers Unpack may read, and
	// how many words before the end of a longer slice SumRows may touch.
	Slack = 64
	// MaxWidth is the widest number Unpack reads: with up to seven bits before it in its first byte
	// it still lies in four bytes.
	MaxWidth = 25
)

// RowSum is the state of a walk over the rows of a block in which SumRows
// turns gaps into columns, some at a time.
//
// Sums are kept in 32 bits. If Bits is below 2³¹ in the end they have not
// wrapped, because a column below 2³¹ plus a gap below 2³¹ plus one is below
// 2³²: columns then ascend strictly and none lies beyond Top.
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
