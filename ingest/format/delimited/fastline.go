package delimited

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/delimited/internal/simd"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// This file reads lines of the most common form, plain decimal numbers in their shortest spelling, in vectors or else
// eight bytes at a time. First it marks all bytes of a line that are not digits; then the fields between the marks are
// decoded independently of each other. It never refuses a line: lines of any other form are left to (*reader).line.

const (
	// fastWindow is the number of bytes that are examined from the beginning of a line; the line must end within them.
	fastWindow = 40
	// maxFastDigits is the largest number of digits of an id that is read fast: two words of eight.
	maxFastDigits = 16
)

// window is the beginning of a line and a margin, so that a word of eight bytes can be loaded anywhere in fastWindow.
type window [fastWindow + 8]byte

// fastLines reports whether the columns allow fast reading: user, item and, if there are more fields, value and at most one
// further integer, in this order.
func (p *reader) fastLines() bool {
	return (p.time < 0 || p.time == 3) && !p.sep.blanks && len(p.sep.text) <= 2 && p.sep.text[0] != '.' && p.user == 0 && p.item == 1 &&
		(p.fields == 2 && p.value < 0 || p.fields <= 4 && p.value == 2)
}

// fast reads lines from the beginning of src up to a line that is not of the common form or too near the end of src. It
// returns the numbers of bytes and lines that it has read.
func (p *reader) fast(src []byte, b *format.Batch) (taken int, lines int64) {
	if b.Row.IsText || b.Col.IsText {
		return 0, 0
	}
	for {
		n, k := p.vectors(src[taken:], b)
		taken, lines = taken+n, lines+k
		// The remaining lines have longer numbers or are near the end.
		n, k = p.windows(src[taken:min(taken+fewBytes, len(src))], b)
		taken, lines = taken+n, lines+k
		if n == 0 {
			return taken, lines
		}
	}
}

// fewBytes is the length of text that windows reads before vectors is tried again.
const fewBytes = 1 << 12

// vectors reads lines as fast does, those that package simd accepts.
func (p *reader) vectors(src []byte, b *format.Batch) (taken int, lines int64) {
	if p.fields < 3 || p.noVectors || p.time >= 0 {
		return 0, 0
	}
	for {
		const perLine = 24 // bytes; a guess
		more := len(src[taken:])/perLine + 1
		users, items, vals := slices.Grow(b.Row.Ints, more), slices.Grow(b.Col.Ints, more), slices.Grow(b.Val, more)
		had, room := len(vals), min(cap(users), cap(items), cap(vals))
		n, k := simd.Lines(src[taken:], p.sep.text, p.fields == 4, users[had:room], items[had:room], vals[had:room])
		b.Row.Ints, b.Col.Ints, b.Val = users[:had+k], items[:had+k], vals[:had+k]
		taken, lines = taken+n, lines+int64(k)
		if had+k < room {
			return taken, lines
		}
	}
}

func (p *reader) windows(src []byte, b *format.Batch) (taken int, lines int64) {
	sep := fieldEnd{first: p.sep.text[0], last: p.sep.text[len(p.sep.text)-1], size: uint(len(p.sep.text))}
	users, items, vals, times := b.Row.Ints, b.Col.Ints, b.Val, b.Time
	for len(src)-taken >= len(window{}) {
		l := (*window)(src[taken:])
		user, s, ok := l.integer(spot{marks: l.nonDigits()})
		if !ok || !l.has(sep, s) {
			break
		}
		item, s, ok := l.integer(s.behind(sep.size))
		v, time := 1.0, format.Time(0)
		if ok && p.fields > 2 {
			ok = l.has(sep, s)
			v, s = l.decimal(s.behind(sep.size))
			if v < 0 {
				break
			}
		}
		if ok && p.fields > 3 {
			ok = l.has(sep, s)
			s = s.behind(sep.size)
			n := s.digits()
			ok = ok && canonical(n, l[s.at&63])
			if ok && p.time == 3 {
				time = format.TimeOf(int64(l.value(s.at, n)))
			}
			s = s.behind(n)
		}
		end := s.at & 63
		if l[end] == '\r' {
			end++
		}
		if !ok || l[end] != '\n' {
			break
		}
		users, items, vals = append(users, user), append(items, item), append(vals, v)
		if p.time == 3 {
			times = append(times, time)
		}
		taken += int(end) + 1
		lines++
	}
	b.Row.Ints, b.Col.Ints, b.Val, b.Time = users, items, vals, times
	return taken, lines
}

type fieldEnd struct {
	first, last byte
	size        uint
}

func (l *window) has(e fieldEnd, s spot) bool {
	return l[s.at&63] == e.first && l[(s.at+e.size-1)&63] == e.last
}

// A spot is a place in a window. Passed by value it stays in registers. It may lie outside the window until the line has
// been checked: places count modulo 64.
type spot struct {
	marks uint64 // the bytes from here on that are not digits; the lowest bit is the nearest byte
	at    uint
}

// digits returns the number of digits that come next; 64 if no byte of the window ends them.
func (s spot) digits() uint       { return uint(bits.TrailingZeros64(s.marks)) }
func (s spot) behind(n uint) spot { return spot{s.marks >> (n & 63), s.at + n} }

// canonical reports whether an integer of n digits has 1 to 16 digits and no leading zero.
func canonical(n uint, first byte) bool { return n-1 < maxFastDigits && (first != '0' || n == 1) }

func (l *window) integer(s spot) (v int64, next spot, ok bool) {
	n := s.digits()
	if !canonical(n, l[s.at&63]) {
		return 0, s, false
	}
	return int64(l.value(s.at, n)), s.behind(n), true
}

// decimal reads digits, optionally followed by a point and more digits: at most 15 digits in all, and at least one before
// and after a point. Otherwise it returns −1. It rounds as text.ParseFloat does.
func (l *window) decimal(s spot) (v float64, next spot) {
	n := s.digits()
	if n-1 >= 15 {
		return -1, s
	}
	m := l.value(s.at, n)
	next = s.behind(n)
	if l[next.at&63] != '.' {
		return float64(m), next
	}
	s = next.behind(1)
	k := s.digits()
	if n+k > 15 || k == 0 {
		return -1, s
	}
	// The numerator is below 10¹⁵, so that it and the power of ten are exact.
	return float64(m*pow10Int[k&15]+l.value(s.at, k)) / text.Pow10[k&15], s.behind(k)
}

const (
	eachByte = 0x0101010101010101
	zeros    = '0' * eachByte
)

// nonDigits marks the bytes of the window, without its margin, that are not digits.
func (l *window) nonDigits() (marks uint64) {
	for i := range fastWindow / 8 {
		x := binary.LittleEndian.Uint64(l[8*i:]) ^ zeros // a digit becomes its value, any other byte a value above 9
		above := ((x & (0x7f * eachByte)) + (0x7f-9)*eachByte | x) & (0x80 * eachByte)
		// The product collects the highest bits of all bytes in the highest byte.
		marks |= above * 0x0002040810204081 >> 56 << (8 * i)
	}
	return marks
}

func (l *window) value(at, n uint) uint64 {
	if n > 8 {
		return l.word(at, n-8)*1e8 + l.word(at+n-8, 8)
	}
	return l.word(at, n)
}

func (l *window) word(at, n uint) uint64 {
	at &= 63
	x := binary.LittleEndian.Uint64(l[at:at+8]) ^ zeros
	x <<= (64 - 8*n) & 63 // the digits are the highest bytes, zeros below
	// Neighbours are combined to numbers of two, four and eight digits.
	x = x*10 + x>>8
	return (x&0x000000ff000000ff*(100+1000000<<32) + x>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
}

var pow10Int = [16]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14}
