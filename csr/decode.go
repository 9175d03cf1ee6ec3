package csr

import (
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr/internal/simd"
)

// valueDecoder turns the bytes of a coding into the values of a Block.
type valueDecoder struct {
	coding Coding
	n      int          // length of the table
	table  [256]float64 // filled up with zeros
}

func newValueDecoder(v Values) *valueDecoder {
	d := &valueDecoder{coding: v.Coding, n: len(v.Table)}
	copy(d.table[:], v.Table)
	return d
}

// decode sets the nnz values of dst from the rest of block, which has exactly the
// size of its coding. Codes are proved to be within the store's table, once they are in dst.
func (d *valueDecoder) decode(dst *Block, nnz int, block *summed) error {
	if !d.coding.coded() {
		dst.Table, dst.Val = nil, resized(dst.Val, nnz)
		if d.coding == Float32 {
			return decodeFloats(dst.Val, block, 4, decodeFloat32)
		}
		return decodeFloats64(dst.Val, block)
	}
	src := block.data[block.done:]
	dst.Table = &d.table
	if d.coding == Constant {
		return nil
	}
	dst.Code = resized(dst.Code, nnz)
	if d.coding == Dict4 {
		return d.decode4(dst.Code, src)
	}
	return d.decode8(dst.Code, src)
}

func (d *valueDecoder) decode8(dst, src []byte) error {
	n, top := simd.Bytes(dst, src)
	rest := dst[n:]
	copy(rest, src[n:])
	if int(top) < d.n && codeOver(rest, d.n) < 0 {
		return nil
	}
	return damaged(0, "value index %d in a table of %d", slices.Max(dst), d.n)
}

// decode4 spreads the nibbles of src to bytes, the low one of each first.
func (d *valueDecoder) decode4(dst, src []byte) error {
	const ones = 0x0101010101010101
	codes, odd := dst, byte(0)
	n, top := simd.Nibbles(dst, src)
	dst, src = dst[n:], src[n/2:]
	rest := dst
	for len(dst) >= 8 && len(src) >= 4 {
		x := uint64(le.Uint32(src))
		x = (x | x<<16) & 0x0000ffff0000ffff
		x = (x | x<<8) & 0x00ff00ff00ff00ff
		x = (x | x<<4) & (15 * ones)
		le.PutUint64(dst, x)
		dst, src = dst[8:], src[4:]
	}
	for i := range dst {
		dst[i] = src[i/2] >> (i % 2 * 4) & 15
	}
	if len(dst)%2 == 1 {
		odd = src[len(dst)/2] >> 4
	}
	if int(max(top, odd)) >= d.n || codeOver(rest, d.n) >= 0 {
		all := append(codes[:len(codes):len(codes)], odd)
		at := codeOver(all, d.n) &^ 1
		return damaged(at/2, "value index in byte %#x beyond a table of %d", all[at]|all[at+1]<<4, d.n)
	}
	if odd != 0 {
		return damaged(len(codes)/2, "unused bits set in values")
	}
	return nil
}

// codeOver finds a code ≥ n, 1 ≤ n ≤ 256, or returns −1. Eight at a time: to
// the low seven bits is added what makes those that are carry into the eighth.
func codeOver(codes []byte, n int) int {
	const ones, eighth = 0x0101010101010101, 0x8080808080808080
	i := 0
	if n <= 128 {
		add := uint64(128-n) * ones
		for ; i+8 <= len(codes); i += 8 {
			if x := le.Uint64(codes[i:]); (x&^eighth+add|x)&eighth != 0 {
				break
			}
		}
	} else {
		add := uint64(256-n) * ones
		for ; i+8 <= len(codes); i += 8 {
			if x := le.Uint64(codes[i:]); (x&^eighth+add)&x&eighth != 0 {
				break
			}
		}
	}
	for ; i < len(codes); i++ {
		if int(codes[i]) >= n {
			return i
		}
	}
	return -1
}

// someBytes is how many bytes of floats are decoded before the crc goes on: they stay in the first
// cache, and hash/crc32 sums the 4032 after the first multiple of eight in one go.
const someBytes = 4160

// decodeFloats decodes values of so many bytes, the rest of block, a part of them after the other.
func decodeFloats(dst []float64, block *summed, size int, decode func(dst []float64, src []byte) error) error {
	for i := 0; i < len(dst); i += someBytes / size {
		some := dst[i:min(i+someBytes/size, len(dst))]
		from, to := block.done, block.done+size*len(some)
		if err := decode(some, block.data[from:to]); err != nil {
			return shift(err, size*i)
		}
		block.upTo(to)
	}
	return nil
}

// decodeFloats64 decodes values, the rest of block, most of them together with the crc if there
// are instructions for it: then each byte is read once.
func decodeFloats64(dst []float64, block *summed) error {
	n, good, crc := simd.Float64CRC(dst, block.data[block.done:], block.crc)
	block.crc, block.done = crc, block.done+8*n
	if err := checkFinite(good, dst[:n], 8); err != nil {
		return err
	}
	return shift(decodeFloats(dst[n:], block, 8, decodeFloat64), 8*n)
}

// The float decoders add one to each exponent: it carries into the sign bit
// for infinities and NaNs only. They walk src by slicing, which costs one
// bounds check a value instead of two.

func decodeFloat32(dst []float64, src []byte) error {
	n, good := simd.Float32(dst, src)
	src = src[4*n:]
	var over uint32
	for i := n; len(src) >= 4 && i < len(dst); i++ {
		bits := le.Uint32(src)
		over |= bits&(0xff<<23) + 1<<23
		dst[i] = float64(math.Float32frombits(bits))
		src = src[4:]
	}
	return checkFinite(good && over>>31 == 0, dst, 4)
}

func decodeFloat64(dst []float64, src []byte) error {
	n, good := simd.Float64(dst, src)
	src = src[8*n:]
	var over uint64
	for i := n; len(src) >= 8 && i < len(dst); i++ {
		bits := le.Uint64(src)
		over |= bits&expMask + 1<<52
		dst[i] = math.Float64frombits(bits)
		src = src[8:]
	}
	return checkFinite(good && over>>63 == 0, dst, 8)
}

// checkFinite finds the value at fault, of size bytes, once it is known that there is one.
func checkFinite(good bool, vals []float64, size int) error {
	if good {
		return nil
	}
	for i, v := range vals {
		if !finite(v) {
			return damaged(i*size, "value that is not finite")
		}
	}
	return damaged(0, "value that is not finite") // the page changed meanwhile
}
