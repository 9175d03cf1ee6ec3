package csr

import (
	"math"
)

// Block is one decoded block; the slices are reused by the next DecodeBlock
// into it.
type Block struct {
	FirstRow int64     // row of A that RowPtr[0] belongs to
	RowPtr   []uint32  // len rows+1, RowPtr[0] = 0
	Col      []uint32  // len nnz, strictly ascending within a row, each < Cols
	Val      []float64 // len nnz, finite
}

// Rows is the number of rows in the block.
func (b *Block) Rows() int { return max(0, len(b.RowPtr)-1) }

// Row gives the columns and values of row i of the block, 0 ≤ i < Rows.
func (b *Block) Row(i int) (cols []uint32, vals []float64) {
	lo, hi := b.RowPtr[i], b.RowPtr[i+1]
	return b.Col[lo:hi], b.Val[lo:hi]
}

// resized returns s with length n, its contents undefined.
func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// appendBlock encodes a block (FORMAT.md, "Block"): row lengths, column gaps,
// and values already in the bytes of their coding.
func appendBlock(dst []byte, lens, gaps []uint32, values []byte) []byte {
	start := len(dst)
	dst = le.AppendUint32(dst, uint32(len(lens)))
	dst = le.AppendUint32(dst, uint32(len(gaps)))
	dst = append(dst, make([]byte, 8)...)
	dst = appendPacked(dst, lens)
	lensEnd := len(dst)
	dst = appendPacked(dst, gaps)
	le.PutUint32(dst[start+8:], uint32(lensEnd-start-blockHeaderSize))
	le.PutUint32(dst[start+12:], uint32(len(dst)-lensEnd))
	return append(dst, values...)
}

// decodeBlock decodes data, whose crc has been verified, into dst. It trusts
// none of it: data may also change while it is being read. What it returns
// without error satisfies everything the doc of Block says, because the proof
// is made on the decoded copy. Errors are *damage, relative to data.
func decodeBlock(dst *Block, data []byte, meta *blockMeta, cols int64, dec *valueDecoder) error {
	if len(data) < blockHeaderSize {
		return damaged(0, "block of %d bytes", len(data))
	}
	rows, nnz := le.Uint32(data), le.Uint32(data[4:])
	if rows != meta.rows || nnz != meta.nnz {
		return damaged(0, "%d rows and %d entries where the footer says %d and %d", rows, nnz, meta.rows, meta.nnz)
	}
	lensSize, gapsSize := uint64(le.Uint32(data[8:])), uint64(le.Uint32(data[12:]))
	sum := blockHeaderSize + lensSize + gapsSize + dec.coding.size(uint64(nnz))
	if sum != uint64(len(data)) {
		return damaged(8, "parts of %d bytes in a block of %d", sum, len(data))
	}
	gapsAt := blockHeaderSize + int(lensSize)
	valuesAt := gapsAt + int(gapsSize)

	dst.FirstRow = meta.firstRow
	dst.RowPtr = resized(dst.RowPtr, int(rows)+1)
	dst.Col = resized(dst.Col, int(nnz))
	dst.Val = resized(dst.Val, int(nnz))
	err := unpack(dst.RowPtr[1:], data[blockHeaderSize:], int(lensSize))
	if err != nil {
		return shift(err, blockHeaderSize)
	}
	if err := sumLengths(dst.RowPtr, nnz); err != nil {
		return shift(err, blockHeaderSize)
	}
	if err := unpack(dst.Col, data[gapsAt:], int(gapsSize)); err != nil {
		return shift(err, gapsAt)
	}
	if err := sumGaps(dst.RowPtr, dst.Col, uint64(cols)); err != nil {
		return shift(err, gapsAt)
	}
	return shift(dec.decode(dst.Val, data[valuesAt:]), valuesAt)
}

// shift moves where a damage was seen by at bytes.
func shift(err error, at int) error {
	if d, ok := err.(*damage); ok {
		d.at += int64(at)
	}
	return err
}

// sumLengths turns row lengths in ptr[1:] into offsets; they must add up to nnz.
func sumLengths(ptr []uint32, nnz uint32) error {
	ptr[0] = 0
	var sum uint64 // ≤ 65,536 numbers below 2³²: cannot overflow
	for i, n := range ptr[1:] {
		sum += uint64(n)
		ptr[i+1] = uint32(sum)
	}
	if sum != uint64(nnz) {
		return damaged(0, "row lengths add up to %d, not %d", sum, nnz)
	}
	return nil
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

// valueDecoder turns the bytes of a coding into float64 values.
type valueDecoder struct {
	coding Coding
	n      int             // length of the table
	single [256]float64    // Constant, Dict8
	pair   [256][2]float64 // Dict4: both values of a byte
}

func newValueDecoder(v Values) *valueDecoder {
	d := &valueDecoder{coding: v.Coding, n: len(v.Table)}
	copy(d.single[:], v.Table)
	for i := range d.pair {
		d.pair[i] = [2]float64{d.single[i&15], d.single[i>>4]}
	}
	return d
}

// decode fills dst from src, which has exactly the size of its coding.
func (d *valueDecoder) decode(dst []float64, src []byte) error {
	switch d.coding {
	case Constant:
		v := d.single[0]
		for i := range dst {
			dst[i] = v
		}
		return nil
	case Dict4:
		return d.decode4(dst, src)
	case Dict8:
		top := byte(0)
		dst = dst[:len(src)]
		for i, b := range src {
			dst[i] = d.single[b]
			top = max(top, b)
		}
		if int(top) >= d.n {
			return damaged(0, "value index %d in a table of %d", top, d.n)
		}
		return nil
	case Float32:
		return decodeFloat32(dst, src)
	}
	return decodeFloat64(dst, src)
}

func (d *valueDecoder) decode4(dst []float64, src []byte) error {
	if at := nibbleOver(src, d.n); at >= 0 {
		return damaged(at, "value index in byte %#x beyond a table of %d", src[at], d.n)
	}
	size := len(src)
	for len(dst) >= 8 && len(src) >= 4 { // four bytes at a time: a third faster
		x := le.Uint32(src)
		o := (*[8]float64)(dst)
		*(*[2]float64)(o[0:]) = d.pair[byte(x)]
		*(*[2]float64)(o[2:]) = d.pair[byte(x>>8)]
		*(*[2]float64)(o[4:]) = d.pair[byte(x>>16)]
		*(*[2]float64)(o[6:]) = d.pair[byte(x>>24)]
		dst, src = dst[8:], src[4:]
	}
	for len(dst) >= 2 {
		*(*[2]float64)(dst) = d.pair[src[0]]
		dst, src = dst[2:], src[1:]
	}
	if len(dst) == 0 {
		return nil
	}
	if src[0]>>4 != 0 {
		return damaged(size-1, "unused bits set in values")
	}
	dst[0] = d.single[src[0]&15]
	return nil
}

// nibbleOver finds a byte with a nibble ≥ n, 1 ≤ n ≤ 16, or returns −1. Eight
// bytes at a time: adding 16−n carries into bit 4 of the nibbles that are.
func nibbleOver(src []byte, n int) int {
	const ones = 0x0101010101010101
	add := uint64(16-n) * ones
	i := 0
	for ; i+8 <= len(src); i += 8 {
		x := le.Uint64(src[i:])
		if ((x&(15*ones)+add)|(x>>4&(15*ones)+add))&(16*ones) != 0 {
			break
		}
	}
	for ; i < len(src); i++ {
		if int(src[i]&15) >= n || int(src[i]>>4) >= n {
			return i
		}
	}
	return -1
}

// The float decoders add one to each exponent: it carries into the sign bit
// for infinities and NaNs only. They walk src by slicing, which costs one
// bounds check a value instead of two.

func decodeFloat32(dst []float64, src []byte) error {
	var over uint32
	for i := 0; len(src) >= 4 && i < len(dst); i++ {
		bits := le.Uint32(src)
		over |= bits&(0xff<<23) + 1<<23
		dst[i] = float64(math.Float32frombits(bits))
		src = src[4:]
	}
	return checkFinite(over>>31 != 0, dst, 4)
}

func decodeFloat64(dst []float64, src []byte) error {
	var over uint64
	for i := 0; len(src) >= 8 && i < len(dst); i++ {
		bits := le.Uint64(src)
		over |= bits&expMask + 1<<52
		dst[i] = math.Float64frombits(bits)
		src = src[8:]
	}
	return checkFinite(over>>63 != 0, dst, 8)
}

// checkFinite finds the value at fault, of size bytes, once it is known that there is one.
func checkFinite(over bool, vals []float64, size int) error {
	if !over {
		return nil
	}
	for i, v := range vals {
		if !finite(v) {
			return damaged(i*size, "value that is not finite")
		}
	}
	return damaged(0, "value that is not finite") // the page changed meanwhile
}
