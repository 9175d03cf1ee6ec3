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
	limit   int64 // bytes
	bytes   int64
	entries int64
	stats   ValueStats
	held    []*filling
}

// enoughSingles is how many entries, more than 256 values among them and all of them float32, let all others be taken for such.
const enoughSingles = 1 << 18

// fillingBytes is what a block without buffers takes.
const fillingBytes = 512

// hold keeps what is encoded of a block; its buffers are free.
func (l *late) hold(f *filling) {
	h := newFilling()
	h.firstRow, h.rows, h.nnz, h.squares, h.own = f.firstRow, f.rows, f.nnz, f.squares, f.own
	h.buf, h.values = bytes.Clone(f.buf), bytes.Clone(f.values)
	l.held = append(l.held, h)
	l.bytes += int64(len(h.buf)+len(h.values)) + fillingBytes
	l.entries += int64(f.nnz)
	if f.nnz > 0 { // else own is a constant that is not there
		stats := StatsOf(f.own)
		l.stats.Merge(&stats)
	}
}

// ripe tells whether there is nothing to wait for.
func (l *late) ripe() bool {
	return l.stats.wide && (l.stats.notSingle || l.entries >= enoughSingles) || l.bytes > l.limit
}

// encodeLate encodes a block but for its values, which it puts into the smallest coding that holds them.
func (f *filling) encodeLate() {
	f.encodePlaces()
	f.values = withRoom(f.values[:0], len(f.raw), BlockNNZ)[:len(f.raw)]
	table, ok := learn(f.values, f.raw)
	if ok {
		f.own = valuesOf(table)
		if f.own.Coding == Constant {
			f.values = f.values[:0]
		}
		return
	}
	f.own = Values{Coding: Float32}
	f.values = slices.Grow(f.values[:0], 4*len(f.raw))[:4*len(f.raw)]
	if !putFloats32(f.values, f.raw) {
		f.own.Coding = Float64
		f.values = slices.Grow(f.values[:0], 8*len(f.raw))[:8*len(f.raw)]
		putFloats64(f.values, f.raw)
	}
}

// learn finds the table of finite values, ascending, and sets codes to the place of each of them in it. It is false if there
// are more than a table holds.
func learn(codes []byte, vals []float64) (table []float64, ok bool) {
	var recent [valueSlots]struct { // as in valueEncoder
		key   uint64
		first byte
	}
	var firsts []byte // of the values of the table: how many of them had been met before
	codes = codes[:len(vals)]
	for i, v := range vals {
		v += 0
		key := valueKey(v)
		slot := &recent[valueSlot(key)]
		if slot.key != key {
			k, found := slices.BinarySearch(table, v)
			if !found {
				if len(table) == maxDict {
					return nil, false
				}
				firsts = slices.Insert(firsts, k, byte(len(table)))
				table = slices.Insert(table, k, v)
			}
			slot.key, slot.first = key, firsts[k]
		}
		codes[i] = slot.first
	}
	var places [maxDict]byte
	for k, first := range firsts {
		places[first] = byte(k)
	}
	translate(codes, &places)
	return table, true
}

// translate replaces codes by others.
func translate(codes []byte, to *[maxDict]byte) {
	for i, code := range codes {
		codes[i] = to[code]
	}
}

// finishLate gives a block that was held its values.
func (f *filling) finishLate(v Values) {
	switch {
	case f.nnz == 0 || f.own.Coding == v.Coding && len(f.own.Table) == len(v.Table): // v has all that own has: they are equal
	case v.Coding.coded():
		if f.own.Coding == Constant {
			f.values = make([]byte, f.nnz)
		}
		var places [maxDict]byte
		for code, x := range f.own.Table {
			k, _ := slices.BinarySearch(v.Table, x)
			places[code] = byte(k)
		}
		translate(f.values, &places)
	default:
		var err error
		raw := f.own.decode(make([]float64, f.nnz), f.values)
		if f.values, err = newValueEncoder(v).append(f.values[:0], raw); err != nil {
			panic(fmt.Sprintf("csr: %v of its own statistics", err))
		}
	}
	f.finish(v.Coding)
}

// decode is the inverse of what valueEncoder.append gathers.
func (v Values) decode(dst []float64, b []byte) []float64 {
	switch v.Coding {
	case Float64:
		for i := range dst {
			dst[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	case Float32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case Constant:
		for i := range dst {
			dst[i] = v.Table[0]
		}
	default:
		for i, code := range b {
			dst[i] = v.Table[code]
		}
	}
	return dst
}

// settleValues takes the coding of all values so far for that of the store, and writes the blocks held.
func (w *Writer) settleValues() error {
	if err := w.settle(0); err != nil {
		return err
	}
	l := w.late
	w.late = nil
	w.setValues(l.stats.Values())
	v := w.opts.Values
	for i, f := range l.held {
		l.held[i] = nil
		if err := w.start(f, func() { f.finishLate(v) }); err != nil {
			return err
		}
	}
	return nil
}

// setValues makes v the coding of the store.
func (w *Writer) setValues(v Values) {
	v.Table = append([]float64{}, v.Table...) // never null in JSON
	w.opts.Values, w.manifest.Values = v, v
	w.enc = newValueEncoder(v)
}
