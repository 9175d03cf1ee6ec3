package csr

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrCoding is the error of [Writer.AppendRow] for a value that the coding of the store cannot hold. With
// CreateOptions.Late the failed call leaves the Writer as it was, and the Writer can be sealed without that row.
var ErrCoding = errors.New("not a value of the store's coding")

// late holds blocks, encoded but for their values, until the coding of the values is known.
type late struct {
	limit                 int64 // largest number of bytes held
	bytes                 int64
	entries               int64
	values                learner
	notSingle, notInteger bool // some held block has a value that is no float32, or no 32-bit integer
	held                  []*filling
}

// enoughSingles is the number of entries, of more than 256 distinct values, after which the coding is chosen: later
// values are taken to be integers, or float32, if all so far are.
const enoughSingles = 1 << 18

// fillingBytes is the size in bytes of a filling without its buffers.
const fillingBytes = 512

// append adds values to the block f: as codes while every value of the store has one, as numbers from the block on in
// which a value has no code.
func (l *late) append(f *filling, vals []float64) error {
	if !l.values.full {
		had := len(f.values)
		f.values = withRoom(f.values, len(vals), BlockNNZ)[:had+len(vals)]
		// codes has set full if a value is not finite or does not fit into the table.
		if l.values.recent.codes(f.values[had:], vals, l.values.code) < 0 {
			return nil
		}
		f.raw = withRoom(f.raw[:0], had, BlockNNZ)[:had]
		l.values.decode(f.raw, f.values[:had])
		f.values = f.values[:0]
	}
	if err := checkFinite(vals); err != nil {
		return err
	}
	f.raw = append(withRoom(f.raw, len(vals), BlockNNZ), vals...)
	return nil
}

// encode returns a function that encodes a full block. Values that are not codes get the smallest coding without a table.
// The function may run concurrently with everything else.
func (l *late) encode(f *filling) func() {
	f.own, f.notSingle = Float64, false
	if !l.values.full {
		f.own = Dict8
		if len(l.values.table) == 1 {
			f.values = f.values[:0] // all codes are 0
		}
	}
	return func() {
		f.encodePlaces()
		if f.own == Dict8 {
			return
		}
		f.values = slices.Grow(f.values[:0], 4*len(f.raw))[:4*len(f.raw)]
		switch {
		case putIntegers(f.values, f.raw):
			f.own, f.notSingle = Integer, slices.ContainsFunc(f.raw, notFloat32)
		case putFloats32(f.values, f.raw):
			f.own = Float32
		default:
			f.notSingle = true
			f.values = slices.Grow(f.values[:0], 8*len(f.raw))[:8*len(f.raw)]
			putFloats64(f.values, f.raw)
		}
	}
}

// hold keeps a copy of the encoded bytes of a block, so that the buffers of f can be used again.
func (l *late) hold(f *filling) {
	h := newFilling()
	h.firstRow, h.rows, h.nnz, h.own, h.notSingle = f.firstRow, f.rows, f.nnz, f.own, f.notSingle
	h.buf, h.values = bytes.Clone(f.buf), bytes.Clone(f.values)
	l.held = append(l.held, h)
	l.bytes += int64(len(h.buf)+len(h.values)) + fillingBytes
	l.entries += int64(f.nnz)
	l.notSingle = l.notSingle || f.notSingle
	l.notInteger = l.notInteger || f.own == Float32 || f.own == Float64
}

func (l *late) ripe() bool {
	return l.values.full && (l.notSingle && l.notInteger || l.entries >= enoughSingles) || l.bytes > l.limit
}

// finish encodes the values of a held block in the coding of the store.
func (l *late) finish(f *filling, v Values) {
	switch {
	case f.nnz == 0 || f.own == v.Coding && f.own != Dict8:
	case f.own == Dict8 && v.Coding == Constant:
		f.values = f.values[:0]
	case f.own == Dict8 && v.Coding.coded():
		f.withCodes()
		l.values.sort(f.values)
	default:
		raw := make([]float64, f.nnz)
		if f.own == Dict8 {
			f.withCodes()
			l.values.decode(raw, f.values)
		} else {
			for i := range raw {
				bits := le.Uint32(f.values[4*i:])
				if raw[i] = float64(bits); f.own == Float32 {
					raw[i] = float64(math.Float32frombits(bits))
				}
			}
		}
		var err error
		if f.values, err = newValueEncoder(v).append(f.values[:0], raw); err != nil {
			panic(fmt.Sprintf("csr: %v of its own statistics", err))
		}
	}
	f.finish(v.Coding)
}

// withCodes restores the codes that encode left out; all of them are 0.
func (f *filling) withCodes() {
	if len(f.values) == 0 {
		f.values = make([]byte, f.nnz)
	}
}

// learner assigns codes to distinct values in the order in which they come.
type learner struct {
	table  []float64 // ascending
	codeOf []byte    // code of each value of the table
	full   bool      // a value came that is not finite, or one more than a table holds
	recent recentCodes
}

// code returns the code of v, and assigns one if v has none. If there is no code for v, it sets full and ok is false.
func (l *learner) code(v float64) (code byte, ok bool) {
	k, found := slices.BinarySearch(l.table, v)
	if !found {
		l.full = len(l.table) == maxDict || !finite(v)
		if l.full {
			return 0, false
		}
		l.codeOf = slices.Insert(l.codeOf, k, byte(len(l.table)))
		l.table = slices.Insert(l.table, k, v)
	}
	return l.codeOf[k], true
}

func (l *learner) decode(dst []float64, codes []byte) {
	var values [maxDict]float64
	for k, code := range l.codeOf {
		values[code] = l.table[k]
	}
	for i, code := range codes {
		dst[i] = values[code]
	}
}

// sort replaces codes by the indices of their values in the table.
func (l *learner) sort(codes []byte) {
	var places [maxDict]byte
	for k, code := range l.codeOf {
		places[code] = byte(k)
	}
	for i, code := range codes {
		codes[i] = places[code]
	}
}

// settleValues chooses the coding of the store from all values so far, and writes the held blocks.
func (w *Writer) settleValues() error {
	if err := w.settle(0); err != nil {
		return err
	}
	l := w.late
	w.late = nil
	stats := ValueStats{wide: l.values.full, notSingle: l.notSingle, notInteger: l.notInteger}
	for _, v := range l.values.table {
		stats.kind(v)
	}
	stats.seen = l.values.table
	w.setValues(stats.Values())
	v := w.opts.Values
	for i, f := range l.held {
		l.held[i] = nil
		if err := w.start(f, func() { l.finish(f, v) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) setValues(v Values) {
	v.Table = append([]float64{}, v.Table...) // never null in JSON
	if missing := w.opts.Missing; missing != 0 && slices.Contains(v.Table, missing) {
		w.manifest.Missing = &missing
	}
	w.opts.Values, w.manifest.Values = v, v
	w.enc = newValueEncoder(v)
}
