package codec

import (
	"github.com/gdsvd/gdsvd/csr/internal/codec/simd"
	"github.com/gdsvd/gdsvd/internal/cpu"
)

type column interface{ uint16 | uint32 }

// someGaps is how many gaps are unpacked before they are added up: they stay in the first cache.
const someGaps = simd.MaxGaps

// Columns decodes the packed column gaps in buf[:size] (see Unpack) into
// the columns of the rows that begin and end at ptr, and proves them < cols,
// which C must be able to hold.
func Columns[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols int64) error {
	if l >= cpu.AVX2 && cols <= 1<<31 && sumInVectors(l, col, ptr, buf, size, cols) {
		return nil
	}
	// No vectors, or something is wrong: this finds out what.
	return sumGaps(l, col, ptr, buf, size, uint64(cols))
}

// sumInVectors is Columns for cols ≤ 2³¹. It reports false if the gaps
// are damaged, or may be.
func sumInVectors[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols int64) bool {
	var gaps [someGaps + simd.Slack]uint32
	var last [someGaps + simd.Slack]C
	var sum simd.RowSum
	for len(col) > 0 {
		n := min(someGaps, len(col))
		used, err := unpackGroups(l, gaps[:n], buf, size)
		if err != nil {
			return false
		}
		buf, size = buf[used:], size-used
		if len(col) >= n+simd.Slack {
			simd.Add(&sum, col, gaps[:], n, ptr)
		} else { // the vectors would reach beyond the end
			simd.Add(&sum, last[:], gaps[:], n, ptr)
			copy(col, last[:n])
		}
		col = col[n:]
	}
	top, ok := sum.Top()
	return ok && size == 0 && int64(top) < max(1, cols)
}

// sumGaps is Columns in plain Go. In 64 bits a row of < 2³² gaps of < 2³²
// cannot overflow, so that columns ascend strictly, and the last of a row
// bounds all of it. A column that is too large is reported only if the packed
// numbers are sound.
func sumGaps[C column](l cpu.Level, col []C, ptr []uint32, buf []byte, size int, cols uint64) error {
	var gaps [someGaps]uint32
	var beyond error
	at, row, pos := uint32(0), 0, 0
	next := uint64(0) // the least column the next entry can have
	for len(col) > 0 {
		some := gaps[:min(someGaps, len(col))]
		used, err := unpackGroups(l, some, buf[pos:], size-pos)
		if err != nil {
			return Shift(err, pos)
		}
		pos += used
		for len(some) > 0 {
			n := min(len(some), int(ptr[row+1]-at))
			into := col[:n]
			for j, gap := range some[:n] {
				next += uint64(gap)
				into[j] = C(next)
				next++
			}
			some, col, at = some[n:], col[n:], at+uint32(n)
			if at < ptr[row+1] {
				continue
			}
			if next > cols && beyond == nil {
				beyond = Damaged(0, "column %d in row %d of the block, of %d columns", next-1, row, cols)
			}
			row, next = row+1, 0
		}
	}
	if pos != size {
		return Damaged(pos, "%d bytes too many in packed numbers", size-pos)
	}
	return beyond
}
