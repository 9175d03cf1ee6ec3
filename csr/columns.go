package csr

import "github.com/gdsvd/gdsvd/csr/internal/simd"

// decodeColumns decodes the packed column gaps in buf[:size] (see unpack) into
// the columns of the rows that begin and end at ptr, and proves them < cols.
func decodeColumns(col, ptr []uint32, buf []byte, size int, cols int64) error {
	if simd.Active() && cols <= 1<<31 && sumInVectors(col, ptr, buf, size, cols) {
		return nil
	}
	// No vectors, or something is wrong: this finds out what.
	if err := unpack(col, buf, size); err != nil {
		return err
	}
	return sumGaps(ptr, col, uint64(cols))
}

// sumInVectors is decodeColumns for cols ≤ 2³¹. It reports false if the gaps
// are damaged, or may be. Gaps go through a buffer that stays in the first cache.
func sumInVectors(col, ptr []uint32, buf []byte, size int, cols int64) bool {
	const some = 8 * groupLen
	var gaps, last [some + simd.Slack]uint32
	sum := simd.NewRowSum()
	for len(col) > 0 {
		n := min(some, len(col))
		used, err := unpackGroups(gaps[:n], buf, size)
		if err != nil {
			return false
		}
		buf, size = buf[used:], size-used
		if len(col) >= n+simd.Slack {
			sum.Add(col, gaps[:], n, ptr[1:])
		} else { // the vectors would reach beyond the end
			sum.Add(last[:], gaps[:], n, ptr[1:])
			copy(col, last[:n])
		}
		col = col[n:]
	}
	return size == 0 && sum.Bits() < 1<<31 && int64(sum.Top()) < max(1, cols)
}

// sumGaps turns the column gaps of each row into columns and proves them < cols.
// In 64 bits a row of < 2³² gaps of < 2³² cannot overflow, so that columns
// ascend strictly, and the last of a row bounds all of it.
func sumGaps(ptr, col []uint32, cols uint64) error {
	lo := ptr[0]
	for i, hi := range ptr[1:] {
		row := col[lo:hi]
		lo = hi
		next := uint64(0) // the least column the next entry can have
		for j, gap := range row {
			next += uint64(gap)
			row[j] = uint32(next)
			next++
		}
		if next > cols {
			return damaged(0, "column %d in row %d of the block, of %d columns", next-1, i, cols)
		}
	}
	return nil
}
