package csr

import (
	"fmt"
	"math"
	"slices"
)

// valueEncoder turns values into the bytes of their coding.
type valueEncoder struct {
	coding Coding
	table  []float64
	// recent saves searching the table for values that come again and again.
	// Its keys are complemented bits, as in ValueStats.
	recent [valueSlots]struct {
		key   uint64
		index byte
	}
}

func newValueEncoder(v Values) *valueEncoder {
	return &valueEncoder{coding: v.Coding, table: v.Table}
}

// append adds vals to dst, the values of a block so far. Dict4 takes a byte
// for each value until finishValues.
func (e *valueEncoder) append(dst []byte, vals []float64) ([]byte, error) {
	had := len(dst)
	dst = slices.Grow(dst, int(e.coding.Size(uint64(len(vals)))))
	switch e.coding {
	case Float64:
		dst = dst[:had+8*len(vals)]
		to := dst[had:]
		for i, v := range vals {
			if !finite(v) {
				return dst, fmt.Errorf("value %v is not finite", v)
			}
			le.PutUint64(to[8*i:], math.Float64bits(v+0)) // −0 becomes 0
		}
	case Float32:
		dst = dst[:had+4*len(vals)]
		to := dst[had:]
		for i, v := range vals {
			single := float32(v + 0)
			if !finite(v) {
				return dst, fmt.Errorf("value %v is not finite", v)
			}
			if float64(single) != v {
				return dst, fmt.Errorf("%w: %v cannot be written as float32", ErrCoding, v)
			}
			le.PutUint32(to[4*i:], math.Float32bits(single))
		}
	case Constant:
		for _, v := range vals {
			if v != e.table[0] {
				return dst, notInTable(v)
			}
		}
	default:
		dst = slices.Grow(dst, len(vals))[:had+len(vals)]
		return dst, e.codes(dst[had:], vals)
	}
	return dst, nil
}

func notInTable(v float64) error { return fmt.Errorf("%w: %v is not in the value table", ErrCoding, v) }

// codes finds each of vals in the table.
func (e *valueEncoder) codes(dst []byte, vals []float64) error {
	dst = dst[:len(vals)]
	for i, v := range vals {
		v += 0
		key := valueKey(v)
		slot := &e.recent[valueSlot(key)]
		if slot.key != key {
			k, ok := slices.BinarySearch(e.table, v)
			if !ok {
				return notInTable(v)
			}
			slot.key, slot.index = key, byte(k)
		}
		dst[i] = slot.index
	}
	return nil
}

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
