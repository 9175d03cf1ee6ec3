package csr

import (
	"iter"

	"github.com/gdsvd/gdsvd/csr/internal/codec"
	"github.com/gdsvd/gdsvd/internal/cpu"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// Block is one decoded block. The next DecodeBlock into it reuses the slices.
//
// Columns and values have the smallest form that holds those of any block of the store. Columns are in Col16 if 16 bits
// hold every column of the matrix, else in Col. Values are in Table alone for [Constant], in Code and Table for
// [Dict4], [Dict8] and blocks of [Integer] with few large values, else in Val. The other slices are empty. A block that
// does not come from a store may have a table for each row, in Val, with or without Code: see Step.
type Block struct {
	FirstRow int64         // row of A that RowPtr[0] belongs to
	RowPtr   []uint32      // len rows+1, RowPtr[0] = 0
	Col16    []uint16      // len nnz, strictly ascending within a row, each < Cols ≤ 65,536
	Col      []uint32      // columns if Col16 is not used; likewise ascending and < Cols
	Code     []uint8       // len nnz: the value of entry p is Table[Code[p]]; if Code and Val are empty every value is Table[0]
	Table    *[256]float64 // of the store or of this block, padded with zeros; must not be changed
	Val      []float64     // len nnz, finite; if Step > 0: the tables of the rows
	Step     int           // if > 0, the table of row i is Val[i·Step : i·Step+256], and its codes are < Step
}

// maxCols16 is the largest number of columns whose indices are decoded to 16 bits.
const maxCols16 = 1 << 16

// Rows is the number of rows in the block.
func (b *Block) Rows() int { return max(0, len(b.RowPtr)-1) }

// NNZ is the number of entries in the block.
func (b *Block) NNZ() int { return len(b.Col16) + len(b.Col) }

// Row gives the columns and values of row i of the block, 0 ≤ i < Rows, by
// ascending column.
func (b *Block) Row(i int) iter.Seq2[uint32, float64] { return b.entries(b.RowPtr[i], b.RowPtr[i+1]) }

// Entries gives the columns and values of all entries in order.
func (b *Block) Entries() iter.Seq2[uint32, float64] { return b.entries(0, uint32(b.NNZ())) }

func (b *Block) entries(from, to uint32) iter.Seq2[uint32, float64] {
	return func(yield func(uint32, float64) bool) {
		for p := from; p < to; p++ {
			if !yield(b.column(p), b.value(p)) {
				return
			}
		}
	}
}

func (b *Block) column(p uint32) uint32 {
	if len(b.Col16) > 0 {
		return uint32(b.Col16[p])
	}
	return b.Col[p]
}

func (b *Block) value(p uint32) float64 {
	switch {
	case len(b.Code) > 0:
		return b.Table[b.Code[p]]
	case len(b.Val) > 0:
		return b.Val[p]
	}
	return b.Table[0]
}

// Size returns the bytes of memory that the slices of the block and its own table take.
func (b *Block) Size() int64 {
	return int64(4*(cap(b.RowPtr)+cap(b.Col))+2*cap(b.Col16)+cap(b.Code)+8*(cap(b.Val)+maxDict)) + 6<<13 // each slice is rounded up to a page
}

func (b *Block) empty() {
	b.RowPtr, b.Col16, b.Col, b.Code, b.Val, b.Step = b.RowPtr[:0], b.Col16[:0], b.Col[:0], b.Code[:0], b.Val[:0], 0
}

// appendBlock appends the header, row lengths and column gaps of a block (FORMAT.md, "Block"); its values follow them.
func appendBlock(dst []byte, lens, gaps []uint32) []byte {
	start := len(dst)
	dst = le.AppendUint32(dst, uint32(len(lens)))
	dst = le.AppendUint32(dst, uint32(len(gaps)))
	dst = append(dst, make([]byte, 8)...)
	dst = codec.AppendPacked(dst, lens)
	lensEnd := len(dst)
	dst = codec.AppendPacked(dst, gaps)
	le.PutUint32(dst[start+8:], uint32(lensEnd-start-blockHeaderSize))
	le.PutUint32(dst[start+12:], uint32(len(dst)-lensEnd))
	return dst
}

// decodeBlock decodes a block into dst and begins its crc, which the caller must complete and verify. It trusts none of
// the data, which may change while it is being read: the checks are made on the decoded copy. If the error is nil, dst
// satisfies everything the doc of Block says. Errors are *codec.Damage, with offsets relative to the block.
func decodeBlock(dst *Block, block *codec.Summed, meta *blockMeta, cols int64, dec *valueDecoder) error {
	data := block.Data
	if len(data) < blockHeaderSize {
		return codec.Damaged(0, "block of %d bytes", len(data))
	}
	rows, nnz := le.Uint32(data), le.Uint32(data[4:])
	if rows != meta.rows || nnz != meta.nnz {
		return codec.Damaged(0, "%d rows and %d entries where the footer says %d and %d", rows, nnz, meta.rows, meta.nnz)
	}
	lensSize, gapsSize := uint64(le.Uint32(data[8:])), uint64(le.Uint32(data[12:]))
	sum := blockHeaderSize + lensSize + gapsSize
	if dec.coding == Integer { // values take the rest of the block
		sum = max(sum, uint64(len(data)))
	} else {
		sum += dec.coding.Size(uint64(nnz))
	}
	if sum != uint64(len(data)) {
		return codec.Damaged(8, "parts of %d bytes in a block of %d", sum, len(data))
	}
	gapsAt := blockHeaderSize + int(lensSize)
	valuesAt := gapsAt + int(gapsSize)

	dst.empty()
	dst.FirstRow = meta.firstRow
	dst.RowPtr = memory.Resized(dst.RowPtr, int(rows)+1)
	err := codec.Unpack(block.Level, dst.RowPtr[1:], data[blockHeaderSize:], int(lensSize))
	if err != nil {
		return codec.Shift(err, blockHeaderSize)
	}
	if err := sumLengths(dst.RowPtr, nnz); err != nil {
		return codec.Shift(err, blockHeaderSize)
	}
	if cols <= maxCols16 {
		dst.Col16 = memory.Resized(dst.Col16, int(nnz))
		err = codec.Columns(block.Level, dst.Col16, dst.RowPtr, data[gapsAt:], int(gapsSize), cols)
	} else {
		dst.Col = memory.Resized(dst.Col, int(nnz))
		err = codec.Columns(block.Level, dst.Col, dst.RowPtr, data[gapsAt:], int(gapsSize), cols)
	}
	if err != nil {
		return codec.Shift(err, gapsAt)
	}
	block.UpTo(valuesAt)
	return codec.Shift(dec.decode(dst, int(nnz), block), valuesAt)
}

// sumLengths turns row lengths in ptr[1:] into offsets; the lengths must add up to nnz.
func sumLengths(ptr []uint32, nnz uint32) error {
	ptr[0] = 0
	var sum uint64 // ≤ 65,536 numbers below 2³²: cannot overflow
	for i, n := range ptr[1:] {
		sum += uint64(n)
		ptr[i+1] = uint32(sum)
	}
	if sum != uint64(nnz) {
		return codec.Damaged(0, "row lengths add up to %d, not %d", sum, nnz)
	}
	return nil
}

// valueDecoder turns the bytes of a coding into the values of a Block.
type valueDecoder struct {
	coding Coding
	level  cpu.Level    // instructions that a block is decoded with
	n      int          // length of the table
	table  [256]float64 // padded with zeros
}

func newValueDecoder(v Values) *valueDecoder {
	d := &valueDecoder{coding: v.Coding, level: cpu.Best(), n: len(v.Table)}
	copy(d.table[:], v.Table)
	if v.Coding == Integer {
		for i := range codec.Counts {
			d.table[i] = float64(i)
		}
	}
	return d
}

// decode sets the nnz values of dst from the rest of block, whose size is exactly that of the coding if the coding has
// a fixed size. Codes of a store's table are checked against its length once they are in dst.
func (d *valueDecoder) decode(dst *Block, nnz int, block *codec.Summed) error {
	if !d.coding.coded() {
		if d.coding == Integer {
			before := *block
			dst.Code = memory.Resized(dst.Code, nnz)
			others, err := codec.Codes(dst.Code, block)
			if len(others) <= maxDict-codec.Counts {
				own := d.table
				copy(own[codec.Counts:], others)
				dst.Table = &own
				return err
			}
			*block, dst.Code = before, dst.Code[:0]
		}
		dst.Table, dst.Val = nil, memory.Resized(dst.Val, nnz)
		switch d.coding {
		case Integer:
			return codec.Integers(dst.Val, block)
		case Float32:
			return codec.Floats32(dst.Val, block)
		}
		return codec.Floats64(dst.Val, block)
	}
	src := block.Data[block.Done:]
	dst.Table = &d.table
	if d.coding == Constant {
		return nil
	}
	dst.Code = memory.Resized(dst.Code, nnz)
	if d.coding == Dict4 {
		return codec.Codes4(block.Level, dst.Code, src, d.n)
	}
	return codec.Codes8(block.Level, dst.Code, src, d.n)
}

// PackedBytes returns the bytes that column gaps, or integers, take in a block (FORMAT.md, "Packed numbers").
func PackedBytes(numbers []uint32) int { return len(codec.AppendPacked(nil, numbers)) }
