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
	for _, v := range vals {
		v += 0 // −0 becomes 0
		switch e.coding {
		case Float64:
			if !finite(v) {
				return dst, fmt.Errorf("value %v is not finite", v)
			}
			dst = le.AppendUint64(dst, math.Float64bits(v))
		case Float32:
			single := float32(v)
			if float64(single) != v || !finite(v) {
				return dst, fmt.Errorf("value %v cannot be written as float32", v)
			}
			dst = le.AppendUint32(dst, math.Float32bits(single))
		default:
			i, ok := e.index(v)
			if !ok {
				return dst, fmt.Errorf("value %v is not in the value table", v)
			}
			if e.coding != Constant {
				dst = append(dst, i)
			}
		}
	}
	return dst, nil
}

// index finds v in the table.
func (e *valueEncoder) index(v float64) (byte, bool) {
	key := valueKey(v)
	slot := &e.recent[valueSlot(key)]
	if slot.key == key {
		return slot.index, true
	}
	i, ok := slices.BinarySearch(e.table, v)
	if ok {
		slot.key, slot.index = key, byte(i)
	}
	return byte(i), ok
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
