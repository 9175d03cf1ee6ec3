package csr

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrCoding is the error of [Writer.AppendRow] for a value that the coding of the store does not hold. With
// CreateOptions.Late the Writer is as it was before, and without that row can be sealed.
var ErrCoding = errors.New("not a value of the store's coding")

// late holds blocks, encoded but for their values, until the coding of the values is known.
type late struct {
	limit                 int64 // bytes
	bytes                 int64
	entries               int64
	values                learner
	notSingle, notInteger bool // there are blocks with such values
	held                  []*filling
}

// enoughSingles is how many entries, more than 256 values among them and all of them float32, let all others be taken for such.
const enoughSingles = 1 << 18

// fillingBytes is what a block without buffers takes.
const fillingBytes = 512

// append adds values to the block f: their codes as long as all values of the store have some, and themselves from the block
// on in which they do not.
func (l *late) append(f *filling, vals []float64) error {
	if !l.values.full {
		had := len(f.values)
		f.values = withRoom(f.values, len(vals), BlockNNZ)[:had+len(vals)]
		// Where a value is not finite or does not fit any more full is set.
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

// encode returns what makes the bytes of a full block but for its values, which it puts into the smallest coding that has no
// table. It may run beside everything else.
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

// hold keeps what is encoded of a block; its buffers are free.
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

// finish gives a block that was held its values in the coding of the store.
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

// withCodes makes up the codes of a block that were left out.
func (f *filling) withCodes() {
	if len(f.values) == 0 {
		f.values = make([]byte, f.nnz)
	}
}

// learner gives values codes in the order in which they come.
type learner struct {
	table  []float64 // ascending
	codeOf []byte    // of each value of the table
	full   bool      // there has been one more than a table holds
	recent recentCodes
}

// code is that of a value, which gets one if it has none.
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

// sort turns codes into the places of their values in the table.
func (l *learner) sort(codes []byte) {
	var places [maxDict]byte
	for k, code := range l.codeOf {
		places[code] = byte(k)
	}
	for i, code := range codes {
		codes[i] = places[code]
	}
}

// settleValues takes the coding of all values so far for that of the store, and writes the blocks held.
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
