package parquet

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/npy"
)

type kind uint8

const (
	other   kind = iota // neither ids nor values
	integer             // int64
	natural             // uint64
	number              // float64
	texts
	uuid
	decimal // stored as bytes
	half    // float16, stored as two bytes
)

type field struct {
	element
	leaf     int // index among the leaves of the schema
	what     string
	nested   bool // or repeated
	optional bool
	unit     timeUnit
	kind     kind
	isID     bool
	isTime   bool
	most     int // largest size of the texts of a page in bytes
}

func fieldsOf(schema []element) (all []*field, err error) {
	leaf := 0
	for i, end := 1, 0; i < len(schema); i = end {
		f := newField(schema[i], leaf)
		open := 1 // elements that belong to the field and are still to come
		for end = i; open > 0; end++ {
			if end == len(schema) || schema[end].children < 0 || schema[end].children > len(schema) {
				return nil, errThrift
			}
			open += schema[end].children - 1
			if schema[end].children == 0 {
				leaf++
			}
		}
		all = append(all, f)
	}
	return all, nil
}

// ConvertedType of older files, where it adds to the physical type.
const (
	convertedDecimal = 5
	convertedDate    = 6
	convertedMillis  = 9
	convertedMicros  = 10 // the last of the time types
	convertedUint8   = 11
	convertedUint64  = 14
	convertedInt64   = 18
)

func newField(e element, leaf int) *field {
	f := &field{element: e, leaf: leaf, optional: e.repeat == 1}
	switch {
	case e.repeat > 1:
		f.nested, f.what = true, "repeated"
		return f
	case e.children > 0:
		f.nested, f.what = true, "nested"
		return f
	case e.phys < 0 || e.phys >= len(physNames):
		f.what = "of an unknown type"
		return f
	}
	f.what, f.unit = "of type "+physNames[e.phys], unitOf(e)
	known := e.logical == 0 || e.logical == logicalString || e.logical == logicalEnum || e.logical == logicalInt
	isDecimal := e.logical == logicalDecimal || e.logical == 0 && e.converted == convertedDecimal
	switch {
	case f.unit == unitOther:
		f.what = "a time without a date"
		return f
	case f.unit != unitNone:
		f.what = "a time"
		return f
	case e.logical == 0 && e.converted > convertedInt64:
		return f
	case e.logical == 0 && e.converted >= convertedUint8 && e.converted <= convertedUint64:
		f.unsigned = true
	case e.logical == logicalUUID && e.phys == physFixed && e.length == 16:
		f.kind = uuid
		return f
	case e.logical == logicalFloat16 && e.phys == physFixed && e.length == 2:
		f.kind = half
		return f
	case !known && !isDecimal:
		f.what = cmp.Or(map[int]string{logicalNull: "null in all rows", logicalJSON: "JSON"}[e.logical], f.what)
		return f
	case isDecimal && e.scale != 0:
		f.what = fmt.Sprintf("a decimal with %d digits behind the point", e.scale)
		if e.scale < 0 || e.scale > 1000 {
			return f
		}
	}
	if !isDecimal {
		f.scale = 0
	}
	switch e.phys {
	case physBool, physInt32, physInt64:
		f.kind = integer
		if f.unsigned {
			f.kind = natural
		}
	case physFloat, physDouble:
		f.kind = number
	case physBytes, physFixed:
		f.kind = texts
		if isDecimal {
			f.kind = decimal
		}
		if e.phys == physFixed && (e.length <= 0 || e.length > 1<<16) {
			f.kind = other
		}
	}
	return f
}

func (f *field) can() bool {
	switch {
	case f.isTime && f.unit == unitNone:
		return f.phys != physBool && f.scale == 0 && f.kind >= integer && f.kind <= texts
	case f.isTime:
		return f.unit != unitOther
	case f.nested || f.unit != unitNone || f.kind == other:
		return false
	case f.isID:
		return f.kind != half && f.scale == 0
	}
	return f.kind != uuid
}

type part struct {
	text   []byte // an id; nil: the id is n
	n      int64  // an id, or a format.Time
	value  float64
	err    error
	offend []byte // the text to which err refers; nil: none
}

func (s *part) add(k *format.Keys) {
	if s.text == nil {
		k.AddInt(s.n)
	} else {
		k.Add(s.text)
	}
}

var (
	errNoID  = errors.New("not an integer, as an id has to be")
	errEmpty = text.ErrEmptyField
	errLong  = fmt.Errorf("longer than %d bytes", maxText)
)

// maxText is the largest length of the text of an id, a value or a time, the same as for formats of lines.
const maxText = format.ChunkBytes - 1

func (f *field) text(raw []byte) (s part) {
	switch {
	case len(raw) > maxText:
		s.err, s.offend = errLong, raw
	case f.isTime:
		var at format.Time
		at, s.err = format.ParseTime(raw)
		s.n, s.offend = int64(at), raw
	case f.kind == uuid && len(raw) == 16:
		s.text = fmt.Appendf(nil, "%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
	case f.isID && len(raw) == 0:
		s.err = errEmpty
	case f.kind == decimal:
		m, err := integerOf(raw)
		switch {
		case err != nil:
			s.err = err
		case !f.isID:
			s.value, s.err = scaled(m, f.scale)
		case m.IsInt64():
			s.n = m.Int64()
		default:
			s.text = m.Append(nil, 10)
		}
	case f.isID:
		s.text = raw
	case f.kind == half && len(raw) == 2:
		var x [1]float64
		npy.Type{Kind: 'f', Size: 2}.Floats(x[:], raw)
		return f.number(math.Float64bits(x[0]))
	case len(raw) == 0:
		s.err = errEmpty
	default:
		s.value, s.err = text.ParseFloat(raw)
		s.offend = raw
	}
	return s
}

func (f *field) number(bits uint64) (s part) {
	x := math.Float64frombits(bits)
	switch {
	case f.isTime:
		f.moment(&s, bits)
	case (f.kind == number || f.kind == half) && !f.isID:
		s.value = x
		if x-x != 0 {
			s.err, s.offend = format.ErrNotFinite, fmt.Append(nil, x)
		}
	case f.kind == number:
		s.n = int64(x)
		if float64(s.n) != x || math.Abs(x) > 1<<53 {
			s.err, s.offend = errNoID, fmt.Append(nil, x)
		}
	case f.isID && f.kind == natural && bits > math.MaxInt64:
		s.text = strconv.AppendUint(nil, bits, 10)
	case f.isID:
		s.n = int64(bits)
	case f.scale > 0:
		s.value, s.err = scaled(big.NewInt(int64(bits)), f.scale)
	case f.kind == natural:
		s.value = float64(bits)
	default:
		s.value = float64(int64(bits))
	}
	return s
}

func scaled(m *big.Int, scale int) (float64, error) {
	if m.IsInt64() && scale < len(text.Pow10) {
		if n := m.Int64(); n > -1<<53 && n < 1<<53 {
			return float64(n) / text.Pow10[scale], nil // both operands are exact
		}
	}
	v, err := strconv.ParseFloat(m.String()+"e-"+strconv.Itoa(scale), 64)
	if err != nil {
		return v, format.ErrOverflow
	}
	return v, nil
}

// mostDecimal is the largest number of bytes of a decimal, not counting leading bytes that only repeat its sign. Longer
// decimals are beyond a float64, and beyond the 800 digits that strconv.ParseFloat can scale.
const mostDecimal = 330

// integerOf returns the unscaled integer of a decimal.
func integerOf(b []byte) (*big.Int, error) {
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	if len(b) > mostDecimal {
		return nil, format.ErrOverflow
	}
	m := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0] >= 0x80 {
		m.Sub(m, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return m, nil
}

// A timeUnit is the unit of the numbers in a column of times, according to its type.
type timeUnit uint8

const (
	unitNone timeUnit = iota // not a time
	unitOther
	unitDays
	unitMillis
	unitMicros
	unitNanos
)

// unitOf returns the unit of a column of dates or timestamps; unitOther for times of day and intervals; unitNone for other columns.
func unitOf(e element) timeUnit {
	converted := e.converted
	if e.logical != 0 {
		converted = -1 // the logical type takes precedence
	}
	switch {
	case e.phys == physInt32 && (e.logical == logicalDate || converted == convertedDate):
		return unitDays
	case e.phys == physInt64 && e.logical == logicalTimestamp && e.unit > 0 && e.unit <= int(unitNanos-unitDays):
		return unitDays + timeUnit(e.unit)
	case e.phys == physInt64 && converted == convertedMillis:
		return unitMillis
	case e.phys == physInt64 && converted == convertedMicros:
		return unitMicros
	case e.logical >= logicalDate && e.logical < logicalInterval, converted >= convertedDate && converted <= convertedMicros:
		return unitOther
	}
	return unitNone
}

// moment converts a number to a time, in the unit of its column or, if the type has no unit, as format.TimeOf does.
func (f *field) moment(s *part, bits uint64) {
	n, at := int64(bits), format.Time(0)
	switch {
	case f.unit == unitDays:
		at = scaledTime(s, n, 24*60*60*1e6)
	case f.unit == unitMillis:
		at = scaledTime(s, n, 1e3)
	case f.unit == unitMicros:
		at = format.Time(n)
	case f.unit == unitNanos:
		at = format.Time(n / 1e3)
		if n%1e3 < 0 {
			at--
		}
	case f.kind == number:
		at, s.err = format.TimeOfFloat(math.Float64frombits(bits))
		if s.err != nil {
			s.offend = fmt.Append(nil, math.Float64frombits(bits))
		}
	case f.kind == natural && bits > math.MaxInt64:
		s.err, s.offend = format.ErrTime, fmt.Append(nil, bits)
	default:
		at = format.TimeOf(n)
	}
	s.n = int64(at)
}

func scaledTime(s *part, n, micros int64) format.Time {
	if n > math.MaxInt64/micros || n < math.MinInt64/micros {
		s.err, s.offend = format.ErrTime, fmt.Append(nil, n)
	}
	return format.Time(n * micros)
}
