package ingest

import (
	"fmt"
	"math/bits"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
)

// An entry is one stored entry: a packed place and a value. Sorting by key
// sorts by stored row, then stored column.
type entry struct {
	key uint64
	val float64
}

// entrySize is the bytes of an entry in memory that is not packed.
const entrySize = 16

// A keyPacker packs a place of the user's matrix into a key: stored row above stored column.
type keyPacker struct {
	rows, cols int64 // stored
	colBits    int
	bits       int // of a key, ≤ 63: the largest uint64 is no key
	transposed bool
}

func newKeyPacker(rows, cols int64, o Orientation) (keyPacker, error) {
	k := keyPacker{rows: rows, cols: cols, transposed: o.transpose(rows, cols)}
	if k.transposed {
		k.rows, k.cols = cols, rows
	}
	k.colBits = bitsFor(k.cols)
	k.bits = bitsFor(k.rows) + k.colBits
	if k.cols > csr.MaxCols || k.bits > 63 {
		return k, fmt.Errorf("a %d × %d matrix is too large: %w", rows, cols, format.ErrUnsupported)
	}
	return k, nil
}

// key packs a place of the user's matrix, counted from 0.
func (k *keyPacker) key(row, col int64) uint64 {
	if k.transposed {
		row, col = col, row
	}
	return uint64(row)<<k.colBits | uint64(col)
}

// stored unpacks a key.
func (k *keyPacker) stored(key uint64) (row int64, col uint32) {
	return int64(key >> k.colBits), uint32(key & (1<<k.colBits - 1))
}

// inRow is how many entries, the first ones of some in order, are in the row of the first.
func (k *keyPacker) inRow(e []entry) int {
	end := (e[0].key>>k.colBits + 1) << k.colBits
	n := 1
	for n < len(e) && e[n].key < end {
		n++
	}
	return n
}

// bitsFor is how many bits number n things.
func bitsFor(n int64) int { return bits.Len64(uint64(max(n, 1) - 1)) }
