package csr

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/internal/mix"
)

// Coding is the encoding of the values of a store, by its name in the manifest.
type Coding string

// The codings, in the order in which they are tried.
const (
	Constant Coding = "constant" // every value is Table[0]; 0 bits a value
	Dict4    Coding = "dict4"    // up to 16 distinct values; 4 bits
	Dict8    Coding = "dict8"    // up to 256 distinct values; 8 bits
	Integer  Coding = "integer"  // every value is an integer from 0 to 2³² − 1; packed, mostly in fewer than 8 bits
	Float32  Coding = "float32"  // every value converts to float32 and back unchanged; 32 bits
	Float64  Coding = "float64"  // 64 bits
)

// codings holds each coding at its number in shards and fingerprints. The numbers are part of the format: do not reorder.
var codings = [...]Coding{Constant, Dict4, Dict8, Float32, Float64, Integer}

func (c Coding) number() int { return slices.Index(codings[:], c) }

func (c Coding) maxTable() int {
	switch c {
	case Constant:
		return 1
	case Dict4:
		return 16
	case Dict8:
		return maxDict
	}
	return 0
}

// coded reports whether values are stored as indices into the table.
func (c Coding) coded() bool { return c.maxTable() > 0 }

// Size returns the bytes of nnz values. For Integer it returns four a value, as before the full block is packed.
func (c Coding) Size(nnz uint64) uint64 {
	switch c {
	case Constant:
		return 0
	case Dict4:
		return (nnz + 1) / 2
	case Dict8:
		return nnz
	case Float32, Integer:
		return 4 * nnz
	}
	return 8 * nnz
}

// Values is the value coding of a store: Table holds the dictionary, ascending;
// it is empty for Integer, Float32 and Float64.
type Values struct {
	Coding Coding    `json:"coding"`
	Table  []float64 `json:"table"`
}

// validate checks the rules of FORMAT.md for coding and table.
func (v Values) validate() error {
	if v.Coding.number() < 0 {
		return fmt.Errorf("unknown value coding %.60q", string(v.Coding))
	}
	if n := v.Coding.maxTable(); len(v.Table) > n || n > 0 && len(v.Table) == 0 {
		return fmt.Errorf("value table of %d entries for coding %v", len(v.Table), v.Coding)
	}
	for i, x := range v.Table {
		switch {
		case !finite(x):
			return errors.New("value table with a value that is not finite")
		case x == 0 && math.Signbit(x):
			return errors.New("value table with negative zero")
		case i > 0 && x <= v.Table[i-1]:
			return errors.New("value table not strictly ascending")
		}
	}
	return nil
}

func finite(v float64) bool { return math.Float64bits(v)&expMask != expMask }

// expMask selects the exponent of a float64; all ones there means Inf or NaN.
const expMask = 0x7ff << 52

const maxDict = 256

// ValueStats finds the coding for a stream of values. The zero value is ready.
// The result depends only on the set of values added, not on their order.
type ValueStats struct {
	// seen holds the distinct values, ascending, while there are ≤ maxDict.
	seen []float64
	// wide: more than maxDict distinct values, or one that is not finite; notSingle: some value is no float32;
	// notInteger: some value is no integer of 32 bits. Once true they stay true.
	wide, notSingle, notInteger bool
	// recent caches the keys of values already added: ratings repeat.
	recent [valueSlots]uint64
}

// Add adds values of the matrix. A value that is not finite, which
// [Writer.AppendRow] will refuse, forces Float64.
func (s *ValueStats) Add(vals ...float64) {
	for _, v := range vals {
		if s.wide { // too many for a table
			if s.notSingle && s.notInteger {
				return
			}
			s.kind(v)
			continue
		}
		v += 0 // −0 becomes 0
		key := valueKey(v)
		slot := &s.recent[valueSlot(key)]
		if *slot == key {
			continue
		}
		s.add(v)
		if finite(v) {
			*slot = key
		}
	}
}

// valueSlots is the length of the caches of recent values: the 256 values of the largest dictionary seldom share a slot.
const valueSlots = 1 << 10

// valueKey returns the key of a value in the caches of recent values: the complement of its bits. Empty slots are 0,
// which is the key of a NaN and never cached.
func valueKey(v float64) uint64 { return ^math.Float64bits(v) }

// valueSlot returns the slot of a key in the cache: ten bits of Fibonacci hashing
// (Knuth, The Art of Computer Programming, vol. 3, sec. 6.4).
func valueSlot(key uint64) uint64 { return key * mix.Golden >> 54 }

func (s *ValueStats) add(v float64) {
	s.kind(v)
	if !finite(v) {
		s.wide, s.seen = true, nil
	}
	if s.wide {
		return
	}
	i, found := slices.BinarySearch(s.seen, v)
	if found {
		return
	}
	if len(s.seen) == maxDict {
		s.wide, s.seen = true, nil
		return
	}
	s.seen = slices.Insert(s.seen, i, v)
}

func (s *ValueStats) kind(v float64) {
	s.notSingle = s.notSingle || notFloat32(v) || !finite(v)
	s.notInteger = s.notInteger || notInteger(v)
}

func notFloat32(v float64) bool { return float64(float32(v)) != v }

func notInteger(v float64) bool { return !(v >= 0 && v <= math.MaxUint32 && v == math.Trunc(v)) }

// StatsOf returns statistics whose coding is v. Adding further values to them gives the same coding as adding all values,
// but for Integer if [ValueStats.Single] was false: add an integer that is no float32 then.
func StatsOf(v Values) ValueStats {
	return ValueStats{
		seen: slices.Clone(v.Table), wide: !v.Coding.coded(),
		notSingle:  v.Coding == Float64 || slices.ContainsFunc(v.Table, notFloat32),
		notInteger: v.Coding == Float32 || v.Coding == Float64 || slices.ContainsFunc(v.Table, notInteger),
	}
}

// Single reports whether all values added are float32s.
func (s *ValueStats) Single() bool { return !s.notSingle }

// Merge adds all that o has seen.
func (s *ValueStats) Merge(o *ValueStats) {
	s.notSingle, s.notInteger = s.notSingle || o.notSingle, s.notInteger || o.notInteger
	if o.wide {
		s.wide, s.seen = true, nil
	}
	for _, v := range o.seen {
		s.add(v)
	}
}

// Values is the smallest coding that holds every value added.
func (s *ValueStats) Values() Values {
	table := slices.Clone(s.seen)
	switch n := len(table); {
	case s.wide && !s.notInteger:
		return Values{Coding: Integer}
	case s.wide && s.notSingle:
		return Values{Coding: Float64}
	case s.wide:
		return Values{Coding: Float32}
	case n == 0:
		return Values{Coding: Constant, Table: []float64{0}}
	case n == 1:
		return Values{Coding: Constant, Table: table}
	case n <= 16:
		return Values{Coding: Dict4, Table: table}
	}
	return Values{Coding: Dict8, Table: table}
}

type valueEncoder struct {
	coding Coding
	table  []float64
	recent recentCodes
}

// recentCodes caches codes, so that repeated values need no search in a table.
type recentCodes [valueSlots]struct {
	key  uint64 // of valueKey; 0: empty
	code byte
}

// codes sets dst to the codes of vals, and calls find for values that are not cached. It returns the index of the first
// value that has no code, or −1.
func (r *recentCodes) codes(dst []byte, vals []float64, find func(v float64) (code byte, ok bool)) int {
	dst = dst[:len(vals)]
	for i, v := range vals {
		v += 0 // −0 becomes 0
		key := valueKey(v)
		slot := &r[valueSlot(key)]
		if slot.key != key || key == 0 { // key 0 is that of a NaN, which is in no table
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

// append adds vals to dst, the values of a block so far. Until filling.finish a value takes one byte with Dict4, four
// with Integer.
func (e *valueEncoder) append(dst []byte, vals []float64) ([]byte, error) {
	had := len(dst)
	coding := e.coding
	if coding == Dict4 {
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
			return dst, misfit(vals, "float32", notFloat32)
		}
	case Integer:
		if !putIntegers(dst[had:], vals) {
			return dst, misfit(vals, "an integer of 32 bits", notInteger)
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

// putFloats64 writes values to b; −0 becomes 0. It returns false if a value is not finite.
func putFloats64(b []byte, vals []float64) bool {
	b = b[:8*len(vals)]
	carry := uint64(0)
	for i, v := range vals {
		u := math.Float64bits(v + 0)
		le.PutUint64(b[8*i:], u)
		carry |= u&expMask + 1<<52 // carries into the highest bit if the exponent is all ones: Inf or NaN
	}
	return carry>>63 == 0
}

// putFloats32 writes values as float32 to b; −0 becomes 0. It returns false if a value is not a finite float32.
func putFloats32(b []byte, vals []float64) bool {
	b = b[:4*len(vals)]
	differ := uint64(0) // 0 if all differences are 0; that of an Inf or NaN is NaN
	for i, v := range vals {
		s := float32(v + 0)
		le.PutUint32(b[4*i:], math.Float32bits(s))
		differ |= math.Float64bits(float64(s) - v)
	}
	return differ == 0
}

// putIntegers writes values as uint32 to b. It returns false if a value is no integer from 0 to 2³² − 1.
func putIntegers(b []byte, vals []float64) bool {
	b = b[:4*len(vals)]
	for i, v := range vals {
		if notInteger(v) {
			return false
		}
		le.PutUint32(b[4*i:], uint32(v))
	}
	return true
}

// misfit returns the error for the first value that is not finite, or for which not reports that it does not fit into
// kind.
func misfit(vals []float64, kind string, not func(v float64) bool) error {
	for _, v := range vals {
		if err := checkFinite([]float64{v}); err != nil {
			return err
		}
		if not(v) {
			return fmt.Errorf("%w: %v cannot be written as %s", ErrCoding, v, kind)
		}
	}
	return nil
}

func checkFinite(vals []float64) error {
	for _, v := range vals {
		if !finite(v) {
			return fmt.Errorf("value %v is not finite", v)
		}
	}
	return nil
}

func notInTable(v float64) error { return fmt.Errorf("%w: %v is not in the value table", ErrCoding, v) }

// finishValues turns the bytes that append gathered for a block into their final form, in place.
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
