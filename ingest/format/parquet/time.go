package parquet

import (
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// A timeUnit is what the numbers of a column of times count, as its type says.
type timeUnit uint8

const (
	unitNone timeUnit = iota // no time
	unitOther
	unitDays
	unitMillis
	unitMicros
	unitNanos
)

// unitOf is that of a column of dates or timestamps; one of times of the day has unitOther.
func unitOf(e element) timeUnit {
	converted := e.converted
	if e.logical != 0 {
		converted = -1 // says the same, or less
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

// canTime tells whether a column can hold times.
func (f *field) canTime() bool {
	switch f.unit {
	case unitOther:
		return false
	case unitNone:
		return f.phys != physBool && f.scale == 0 && f.kind >= integer && f.kind <= texts
	}
	return true
}

// moment makes a time of a number: one of the unit of its column, or as format.TimeOf has it.
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

// scaledTime is n units of micros microseconds each.
func scaledTime(s *part, n, micros int64) format.Time {
	if n > math.MaxInt64/micros || n < math.MinInt64/micros {
		s.err, s.offend = format.ErrTime, fmt.Append(nil, n)
	}
	return format.Time(n * micros)
}
