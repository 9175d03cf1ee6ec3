package csr

import (
	"fmt"
	"math"
	"slices"
)

type valueEncoder struct {
	coding Coding
	table  []float64
	recent recentCodes
}

// recentCodes saves searching a table for values that come again and again.
type recentCodes [valueSlots]struct {
	key  uint64 // of valueKey; 0: empty
	code byte
}

// codes sets dst to the codes of values, of which find tells those that are not there. It returns the number of the first
// value that find knows no code of, or −1.
func (r *recentCodes) codes(dst []byte, vals []float64, find func(v float64) (code byte, ok bool)) int {
	dst = dst[:len(vals)]
	for i, v := range vals {
		v += 0 // −0 becomes 0
		key := valueKey(v)
		slot := &r[valueSlot(key)]
		if slot.key != key || key == 0 { // the NaN with that key is in no table
			code, ok := find(v)
			if !ok {
				return i
			}
			slot.key, slot.code = key, code
		}
		dst[i] = slot.code
	}
	return -1
}

func newValueEncoder(v Values) *valueEncoder {
	return &valueEncoder{coding: v.Coding, table: v.Table}
}

// append adds vals to dst, the values of a block so far. Dict4 takes a byte
// for each value until finishValues.
func (e *valueEncoder) append(dst []byte, vals []float64) ([]byte, error) {
	had := len(dst)
	coding := e.coding
	if coding == Dict4 { // a byte each until finishValues
		coding = Dict8
	}
	size := int(coding.Size(uint64(len(vals))))
	dst = withRoom(dst, size, int(coding.Size(BlockNNZ)))[:had+size]
	switch e.coding {
	case Float64:
		if !putFloats64(dst[had:], vals) {
			return dst, checkFinite(vals)
		}
	case Float32:
		if !putFloats32(dst[had:], vals) {
			return dst, notSingle(vals)
		}
	case Constant:
		for _, v := range vals {
			if v != e.table[0] {
				return dst, notInTable(v)
			}
		}
	default:
		at := e.recent.codes(dst[had:], vals, func(v float64) (byte, bool) {
			k, ok := slices.BinarySearch(e.table, v)
			return byte(k), ok
		})
		if at >= 0 {
			return dst, notInTable(vals[at] + 0)
		}
	}
	return dst, nil
}

// putFloats64 writes values to b; −0 becomes 0. It is false if one is not finite.
func putFloats64(b []byte, vals []float64) bool {
	b = b[:8*len(vals)]
	carry := uint64(0)
	for ; len(vals) >= 4; vals, b = vals[4:], b[32:] { // the checks of bounds would take longer than the rest
		v, to := (*[4]float64)(vals), (*[32]byte)(b)
		u0, u1, u2, u3 := math.Float64bits(v[0]+0), math.Float64bits(v[1]+0), math.Float64bits(v[2]+0), math.Float64bits(v[3]+0)
		le.PutUint64(to[:], u0)
		le.PutUint64(to[8:], u1)
		le.PutUint64(to[16:], u2)
		le.PutUint64(to[24:], u3)
		carry |= carried(u0) | carried(u1) | carried(u2) | carried(u3)
	}
	for i, v := range vals {
		u := math.Float64bits(v + 0)
		le.PutUint64(b[8*i:], u)
		carry |= carried(u)
	}
	return carry>>63 == 0
}

// putFloats32 writes values as float32 to b; −0 becomes 0. It is false if one is not a finite float32.
func putFloats32(b []byte, vals []float64) bool {
	b = b[:4*len(vals)]
	differ := uint64(0) // the differences are 0, or not: those of Inf and NaN are NaN
	for ; len(vals) >= 4; vals, b = vals[4:], b[16:] {
		v, to := (*[4]float64)(vals), (*[16]byte)(b)
		s0, s1, s2, s3 := float32(v[0]+0), float32(v[1]+0), float32(v[2]+0), float32(v[3]+0)
		le.PutUint32(to[:], math.Float32bits(s0))
		le.PutUint32(to[4:], math.Float32bits(s1))
		le.PutUint32(to[8:], math.Float32bits(s2))
		le.PutUint32(to[12:], math.Float32bits(s3))
		differ |= math.Float64bits(float64(s0)-v[0]) | math.Float64bits(float64(s1)-v[1]) |
			math.Float64bits(float64(s2)-v[2]) | math.Float64bits(float64(s3)-v[3])
	}
	for i, v := range vals {
		s := float32(v + 0)
		le.PutUint32(b[4*i:], math.Float32bits(s))
		differ |= math.Float64bits(float64(s) - v)
	}
	return differ == 0
}

func notSingle(vals []float64) error {
	for _, v := range vals {
		if err := checkFinite([]float64{v}); err != nil {
			return err
		}
		if notFloat32(v) {
			return fmt.Errorf("%w: %v cannot be written as float32", ErrCoding, v)
		}
	}
	return nil
}

// carried has the highest bit set if the exponent of a float64, given by its bits, is all ones: it is Inf or NaN.
func carried(bits uint64) uint64 { return bits&expMask + 1<<52 }

func checkFinite(vals []float64) error {
	for _, v := range vals {
		if !finite(v) {
			return fmt.Errorf("value %v is not finite", v)
		}
	}
	return nil
}

func notInTable(v float64) error { return fmt.Errorf("%w: %v is not in the value table", ErrCoding, v) }

// finishValues turns what append gathered for a block into its final bytes, in place.
func finishValues(c Coding, b []byte) []byte {
	if c != Dict4 {
		return b
	}
	n := len(b)
	for i := 0; i < n; i += 2 {
		pair := b[i]
		if i+1 < n {
			pair |= b[i+1] << 4
		}
		b[i/2] = pair
	}
	return b[:(n+1)/2]
}
