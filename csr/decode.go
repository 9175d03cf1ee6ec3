package csr

import (
	"math"

	"github.com/gdsvd/gdsvd/csr/internal/simd"
)

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
		fill(dst, d.single[0])
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

// fill sets all of dst to v; copying a piece that is in the first cache is the
// fastest way without vectors.
func fill(dst []float64, v float64) {
	piece := dst[:min(len(dst), 512)]
	for i := range piece {
		piece[i] = v
	}
	for len(dst) > 0 {
		dst = dst[copy(dst, piece):]
	}
}

func (d *valueDecoder) decode4(dst []float64, src []byte) error {
	if at := nibbleOver(src, d.n); at >= 0 {
		return damaged(at, "value index in byte %#x beyond a table of %d", src[at], d.n)
	}
	size := len(src)
	n := simd.Dict4(dst, src, (*[16]float64)(d.single[:]))
	dst, src = dst[n:], src[n/2:]
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
