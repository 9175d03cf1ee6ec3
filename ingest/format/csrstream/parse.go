package csrstream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/npy"
)

type payload struct {
	rowKeys []byte // empty without ids
	lens    []byte
	cols    []byte
	vals    []byte
	colsAt  int // offset in the frame
}

func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	f, err := p.verify(c)
	if err != nil {
		return err
	}
	b.Tally.Entries = int64(f.n)
	s, err := p.cutPayload(&f, c.Data)
	if err == nil && p.byID() {
		err = p.ids(&f, &s, b)
	} else if err == nil {
		err = p.indices(&f, &s, b)
	}
	if err == nil {
		b.Val = slices.Grow(b.Val[:0], f.n)[:f.n]
		p.readValues(b.Val, s.vals)
		for i := range b.Val {
			b.Val[i] += 0 // −0 becomes 0
		}
		err = p.checkValues(b)
	}
	if err != nil {
		return p.fail(c.Begin.Byte, err)
	}
	return nil
}

func (p *reader) ParseRows(c *format.Chunk, r *format.Rows) bool {
	f, err := p.verify(c)
	if err != nil || p.byID() || p.outside(&f) {
		return false
	}
	s, err := p.cutPayload(&f, c.Data)
	if err != nil {
		return false
	}
	r.Reset(f.n)
	if !numpy(p.colKeys).Indices(r.Cols, s.cols) {
		return false
	}
	for i := range f.rows {
		if !r.Cut(int64(f.first)+int64(i), int(le.Uint32(s.lens[4*i:])), p.cols) {
			return false
		}
	}
	p.readValues(r.Vals, s.vals)
	return r.Whole() && (p.values != "b1" || p.badValue(r.Vals) < 0)
}

// numpy converts a type of indices or values. Truth values (b1) are read as unsigned bytes, which are checked later.
func numpy(t string) npy.Type {
	n := npy.Type{Kind: t[0], Size: int(t[1] - '0')}
	if n.Kind == 'b' {
		n.Kind = 'u'
	}
	return n
}

func (p *reader) outside(f *frame) bool {
	return f.first > uint64(p.rows) || uint64(f.rows) > uint64(p.rows)-f.first
}

// cutPayload cuts a payload into its parts and checks their sizes and the lengths of the rows.
func (p *reader) cutPayload(f *frame, data []byte) (s payload, err error) {
	rest := data[frameBytes:]
	take := func(t string, n int) (part []byte) {
		size := int64(n) * int64(sizeOf(t))
		if t == textIDs && size <= int64(len(rest)) {
			size += sumOf(rest[:size])
		}
		if size > int64(len(rest)) {
			err = errSize
			return nil
		}
		part, rest = rest[:size], rest[size:]
		return part
	}
	s.rowKeys = take(p.rowKeys, f.rows)
	s.lens = take("u4", f.rows)
	s.colsAt = len(data) - len(rest)
	s.cols = take(p.colKeys, f.n)
	s.vals = take(p.values, f.n)
	if err == nil && len(rest) > 0 {
		err = errSize
	}
	if err == nil && sumOf(s.lens) != int64(f.n) {
		err = errSum
	}
	return s, err
}

// sumOf returns the sum of lengths of four bytes each.
func sumOf(lens []byte) (sum int64) {
	for ; len(lens) > 0; lens = lens[4:] {
		sum += int64(le.Uint32(lens))
	}
	return sum
}

var (
	errSize  = fmt.Errorf("%w: the frame is not as long as its rows and entries", format.ErrHeader)
	errSum   = fmt.Errorf("%w: the lengths of the rows do not add up to the entries of the frame", format.ErrCount)
	errIndex = errors.New("index outside the declared shape")
	errEmpty = errors.New("an empty id")
)

func (p *reader) indices(f *frame, s *payload, b *format.Batch) error {
	if p.outside(f) {
		return fmt.Errorf("%w: rows %d to %d of %d", errIndex, f.first, f.first+uint64(f.rows)-1, p.rows)
	}
	rows := slices.Grow(b.Row.Ints[:0], f.n)[:f.n]
	at := rows
	for i := range f.rows {
		n := int(le.Uint32(s.lens[4*i:]))
		row := int64(f.first) + int64(i)
		for j := range at[:n] {
			at[j] = row
		}
		at = at[n:]
	}
	b.Row.Ints = rows
	b.Col.Ints = slices.Grow(b.Col.Ints[:0], f.n)[:f.n]
	numpy(p.colKeys).Ints(b.Col.Ints, s.cols)
	for i, c := range b.Col.Ints {
		if uint64(c) >= uint64(p.cols) {
			return fmt.Errorf("%w: column %d of %d, in row %d (from 0)", errIndex, c, p.cols, b.Row.Ints[i])
		}
	}
	return nil
}

func (p *reader) ids(f *frame, s *payload, b *format.Batch) error {
	if err := addKeys(&b.Row, p.rowKeys, s.rowKeys, f.rows, s.lens); err != nil {
		return fmt.Errorf("%w of a row", err)
	}
	if err := addKeys(&b.Col, p.colKeys, s.cols, f.n, nil); err != nil {
		return fmt.Errorf("%w of a column", err)
	}
	return nil
}

// addKeys adds n ids of type t, id i as often as times[i] says, or once if times is nil.
func addKeys(k *format.Keys, t string, ids []byte, n int, times []byte) error {
	texts := ids[min(4*n, len(ids)):] // after the lengths
	for i := range n {
		var text []byte
		if t == textIDs {
			size := le.Uint32(ids[4*i:])
			text, texts = texts[:size], texts[size:]
		}
		again := 0
		if times != nil {
			again = int(le.Uint32(times[4*i:])) - 1
		}
		switch {
		case again < 0:
			continue
		case t != textIDs:
			k.AddInt(int64(le.Uint64(ids[8*i:])))
		case len(text) == 0:
			return errEmpty
		default:
			k.Add(text)
		}
		k.AddAgain(again)
	}
	return nil
}

func (p *reader) readValues(dst []float64, b []byte) {
	if p.values != "" {
		numpy(p.values).Floats(dst, b)
		return
	}
	for i := range dst {
		dst[i] = 1
	}
}

// checkValues refuses values that are not finite, and bytes that are neither true nor false.
func (p *reader) checkValues(b *format.Batch) error {
	i := p.badValue(b.Val)
	if i < 0 {
		return nil
	}
	err := format.ErrNotFinite
	if p.values == "b1" {
		err = errors.New("neither 0 nor 1")
	}
	from := ""
	if !p.byID() {
		from = " (from 0)"
	}
	return fmt.Errorf("value %v at row %s, column %s%s: %w", b.Val[i], p.name(&b.Row, i), p.name(&b.Col, i), from, err)
}

// badValue returns the index of the first value that is not allowed; −1: all values are allowed.
func (p *reader) badValue(vals []float64) int {
	switch p.values {
	case "b1":
		return slices.IndexFunc(vals, func(v float64) bool { return v > 1 })
	case "f4", "f8":
		return slices.IndexFunc(vals, func(v float64) bool { return v-v != 0 })
	}
	return -1
}

// name returns a key as messages write it: indices are counted from 0, as in the stream.
func (p *reader) name(k *format.Keys, i int) string {
	if k.IsText {
		return fmt.Sprintf("%q", k.Text(i))
	}
	return fmt.Sprint(k.Ints[i])
}

// Locate returns the position of the column key of an entry.
func (p *reader) Locate(c *format.Chunk, n int) format.Position {
	f, err := parseFrame(c.Data)
	if err != nil {
		return c.Begin
	}
	s, err := p.cutPayload(&f, c.Data)
	if err != nil {
		return c.Begin
	}
	at := int64(s.colsAt)
	if p.colKeys != textIDs {
		at += int64(n) * int64(sizeOf(p.colKeys))
	} else {
		at += 4*int64(f.n) + sumOf(s.cols[:4*n])
	}
	return format.Position{Byte: c.Begin.Byte + at}
}
