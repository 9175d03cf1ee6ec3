package format

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"time"
)

// A Time is a moment in microseconds since 1970-01-01T00:00:00Z. Batch.Time holds the times of the entries if Input.Times
// asks for them.
type Time int64

// ErrTime is the error for a time that is neither a number nor in the format of ISO 8601.
var ErrTime = errors.New("not a time; want a date as 2019-07-28, a datetime as 2019-07-28T23:15:40Z or seconds since 1970")

// String returns the moment in UTC, as RFC 3339 writes it.
func (t Time) String() string { return time.UnixMicro(int64(t)).UTC().Format(time.RFC3339Nano) }

// The unit of a number changes at 10¹¹, 10¹⁴ and 10¹⁷. 10¹¹ seconds are the year 5138; 10¹¹ milliseconds, 10¹⁴ microseconds
// and 10¹⁷ nanoseconds are 3 March 1973.
const (
	mostSeconds = 1e11
	mostMillis  = 1e14
	mostMicros  = 1e17
)

// TimeOf returns the moment that is n seconds, milliseconds, microseconds or nanoseconds since 1970; the size of n determines
// the unit.
func TimeOf(n int64) Time {
	if unit := micros(n); unit > 0 {
		return Time(n * unit)
	}
	return Time(n / 1e3)
}

// ParseTime reads a number as TimeOf does, possibly with a fraction, or a date or datetime of ISO 8601: 2019-07-28,
// 2019-07-28T23:15, 2019-07-28 23:15:40.5+02:00. A time without a zone is in UTC. Digits finer than a microsecond are cut off.
// The error is ErrTime.
func ParseTime(b []byte) (Time, error) {
	if n, ok := ParseID(b); ok {
		return TimeOf(n), nil
	}
	if t, ok := parseISO(b); ok {
		return t, nil
	}
	if whole, frac, ok := bytes.Cut(b, []byte{'.'}); ok {
		if n, ok := ParseID(whole); ok && digits(frac) {
			return TimeOf(n) + fraction(n, whole[0] == '-', frac), nil
		}
	}
	// Other spellings, as 1.26e+09 and 007.
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || bytes.ContainsAny(b, "xXpP_") {
		return 0, ErrTime
	}
	return TimeOfFloat(v)
}

// TimeOfFloat returns the moment of a number, with the unit of TimeOf, to the nearest microsecond. The error is ErrTime.
func TimeOfFloat(v float64) (Time, error) {
	if math.Abs(v) >= 1<<63 || v != v {
		return 0, ErrTime
	}
	n := int64(v)
	return TimeOf(n) + Time(math.Round((v-math.Trunc(v))*float64(micros(n)))), nil
}

// DatesAsNumbers reports whether all times, which were read as seconds, are dates of eight digits such as 20190728, of the
// years 1900 to 2099. As seconds such numbers lie in August 1970.
func DatesAsNumbers(times []Time) bool {
	for _, t := range times {
		n := int(t / 1e6)
		year, month, day := n/1e4, n/100%100, n%100
		if t%1e6 != 0 || year < 1900 || year > 2099 || month < 1 || month > 12 || day < 1 || !isDay(year, month, day) {
			return false
		}
	}
	return len(times) > 0
}

func isDay(year, month, day int) bool {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

// micros returns the number of microseconds in the unit of n; 0: the unit is shorter than a microsecond.
func micros(n int64) int64 {
	switch m := max(n, -n); { // max(n, −n) of the least int64 is negative
	case m < 0 || m >= mostMicros:
		return 0
	case m >= mostMillis:
		return 1
	case m >= mostSeconds:
		return 1e3
	}
	return 1e6
}

// fraction returns the time that the decimals frac after the whole number n mean.
func fraction(n int64, negative bool, frac []byte) Time {
	sum, unit := int64(0), micros(n)
	for _, c := range frac {
		unit /= 10
		sum += int64(c-'0') * unit
	}
	if negative {
		sum = -sum
	}
	return Time(sum)
}

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

func parseISO(b []byte) (Time, bool) {
	s := scan{rest: b}
	year, month, day := s.number(4), s.after('-'), s.after('-')
	var hour, minute, sec, micro, zone int
	if len(s.rest) > 0 {
		if c := s.rest[0] | 0x20; c != 't' && c != ' ' {
			return 0, false
		}
		s.rest = s.rest[1:]
		hour, minute = s.number(2), s.after(':')
		if s.next(':') {
			sec = s.after(':')
			if s.next('.') || s.next(',') {
				micro = s.fraction()
			}
		}
		zone = s.zone()
	}
	leap := sec == 60 && minute == 59 // a leap second is read as the second after it
	if s.bad || len(s.rest) > 0 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || sec > 59 && !leap {
		return 0, false
	}
	if !isDay(year, month, day) {
		return 0, false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, sec, 0, time.UTC)
	return Time(t.Unix()*1e6 + int64(micro) - int64(zone)*60e6), true
}

type scan struct {
	rest []byte
	bad  bool
}

func (s *scan) next(c byte) bool { return len(s.rest) > 0 && s.rest[0] == c }

// after reads a number of two digits behind c.
func (s *scan) after(c byte) int {
	if !s.next(c) {
		s.bad = true
		return 0
	}
	s.rest = s.rest[1:]
	return s.number(2)
}

func (s *scan) number(n int) (v int) {
	if len(s.rest) < n || !digits(s.rest[:n]) {
		s.bad = true
		return 0
	}
	for _, c := range s.rest[:n] {
		v = v*10 + int(c-'0')
	}
	s.rest = s.rest[n:]
	return v
}

// fraction returns the microseconds after a point or comma.
func (s *scan) fraction() int {
	n := 1
	for n < len(s.rest) && s.rest[n] >= '0' && s.rest[n] <= '9' {
		n++
	}
	s.bad = s.bad || n == 1
	t := fraction(0, false, s.rest[1:n])
	s.rest = s.rest[n:]
	return int(t)
}

// zone returns the offset of a time zone from UTC in minutes, positive to the east.
func (s *scan) zone() int {
	switch rest := string(s.rest); rest {
	case "", "Z", "z", " UTC", " GMT":
		s.rest = nil
		return 0
	}
	sign := 1
	if s.next('-') {
		sign = -1
	} else if !s.next('+') {
		s.bad = true
		return 0
	}
	s.rest = s.rest[1:]
	hours, minutes := s.number(2), 0
	if s.next(':') {
		minutes = s.after(':')
	} else if len(s.rest) > 0 {
		minutes = s.number(2)
	}
	s.bad = s.bad || hours > 23 || minutes > 59
	return sign * (hours*60 + minutes)
}
