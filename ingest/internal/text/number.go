package text

import (
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// ParseIndex parses an unsigned decimal integer; leading zeros and one plus sign are allowed.
func ParseIndex(b []byte) (int64, bool) {
	if len(b) > 1 && b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range b {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + int64(d)
	}
	return n, true
}

// Pow10 holds the powers of ten that are exact float64s.
var Pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// ParseFloat returns the float64 nearest to a finite decimal number, bit for bit as strconv.ParseFloat does. Hexadecimal
// numbers and underscores are errors.
//
// An integer of up to 15 digits and a power of ten up to 10²² are exact float64s, and IEEE division of two exact numbers
// rounds once: the fast path rounds correctly (Clinger, "How to read floating point numbers accurately", PLDI 1990, §4).
func ParseFloat(b []byte) (float64, error) {
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i, neg = 1, b[0] == '-'
	}
	var m uint64
	digits, frac := 0, -1
	for ; i < len(b); i++ {
		switch d := b[i] - '0'; {
		case d <= 9:
			m = m*10 + uint64(d)
			digits++
			if digits > 15 {
				return parseFloatSlow(b)
			}
		case b[i] == '.' && frac < 0:
			frac = digits
		default:
			return parseFloatSlow(b)
		}
	}
	if digits == 0 {
		return 0, ErrNumber
	}
	v := float64(m)
	if frac >= 0 {
		v /= Pow10[digits-frac]
	}
	if neg {
		v = -v
	}
	return v, nil
}

func parseFloatSlow(b []byte) (float64, error) {
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9', c == '+', c == '-', c == '.', c == 'e', c == 'E':
		default:
			if isNonFinite(b) {
				return 0, format.ErrNotFinite
			}
			return 0, ErrNumber
		}
	}
	v, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err == nil:
		return v, nil
	case v > 1 || v < -1: // ±Inf with strconv.ErrRange
		return 0, format.ErrOverflow
	}
	return 0, ErrNumber
}

// isNonFinite reports whether b is a spelling of NaN or infinity.
func isNonFinite(b []byte) bool {
	if len(b) > len("+infinity") {
		return false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return err == nil && (v != v || v-v != 0)
}

// ParseInteger returns the float64 nearest to the value of an integer field.
func ParseInteger(b []byte) (float64, error) {
	for i, c := range b {
		if (c < '0' || c > '9') && (i > 0 || c != '-' && c != '+') {
			if _, err := ParseFloat(b); err != nil {
				return 0, err
			}
			return 0, ErrInteger
		}
	}
	return ParseFloat(b)
}
