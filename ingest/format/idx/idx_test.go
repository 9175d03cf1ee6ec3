package idx

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
)

var big = binary.BigEndian

func header(kind byte, dims ...uint32) []byte {
	b := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		b = big.AppendUint32(b, d)
	}
	return b
}

// naive decodes an IDX file element by element with encoding/binary.
func naive(data []byte) (rows, cols int64, entries []triple, ok bool) {
	if len(data) < 4 || data[0] != 0 || data[1] != 0 || data[3] == 0 || len(data) < 4+4*int(data[3]) {
		return
	}
	sample := map[byte]func() any{
		8: func() any { return new(uint8) }, 9: func() any { return new(int8) }, 11: func() any { return new(int16) },
		12: func() any { return new(int32) }, 13: func() any { return new(float32) }, 14: func() any { return new(float64) },
	}[data[2]]
	if sample == nil {
		return
	}
	size := binary.Size(sample())
	rows, cols = int64(big.Uint32(data[4:])), 1
	rest := data[4+4*int(data[3]):]
	for d := range int(data[3]) - 1 {
		if cols *= int64(big.Uint32(data[8+4*d:])); cols >= 1<<40 || cols < 0 {
			return
		}
	}
	if float64(len(rest)) != float64(rows)*float64(cols)*float64(size) {
		return
	}
	for i := range rows * cols {
		x := sample()
		if _, err := binary.Decode(rest[i*int64(size):], big, x); err != nil {
			return
		}
		var v float64
		switch x := x.(type) {
		case *uint8:
			v = float64(*x)
		case *int8:
			v = float64(*x)
		case *int16:
			v = float64(*x)
		case *int32:
			v = float64(*x)
		case *float32:
			v = float64(*x)
		case *float64:
			v = *x
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		if v != 0 {
			entries = append(entries, triple{fmt.Sprint(i / cols), fmt.Sprint(i % cols), v})
		}
	}
	return rows, cols, entries, true
}

var cases = []struct {
	name string
	data []byte
	err  error // nil: accepted
}{
	{"ubyte", append(header(8, 2, 2, 2), 1, 0, 255, 0, 0, 0, 0, 7), nil},
	{"byte", append(header(9, 2, 2), 0x80, 0, 0xff, 1), nil},
	{"short", big.AppendUint16(big.AppendUint16(header(11, 2), 0x8000), 3), nil},
	{"int", big.AppendUint32(big.AppendUint32(header(12, 1, 2), 0x80000000), 0), nil},
	{"float", big.AppendUint32(header(13, 1, 1, 1), math.Float32bits(-0.1)), nil},
	{"double", big.AppendUint64(big.AppendUint64(header(14, 2, 1), math.Float64bits(1e-300)), math.Float64bits(math.Copysign(0, -1))), nil},
	{"wide", append(header(8, 1, 5), 1, 2, 3, 4, 5), nil},
	{"all zero", append(header(8, 2, 2), 0, 0, 0, 0), nil},
	{"no rows", header(8, 0, 3), nil},
	{"no columns", header(8, 3, 0), nil},

	{"empty", nil, format.ErrTruncated},
	{"header cut", header(8, 2, 2)[:9], format.ErrTruncated},
	{"not the magic number", []byte{0, 1, 8, 1, 0, 0, 0, 0}, format.ErrHeader},
	{"unknown type", header(10, 1), format.ErrHeader},
	{"no dimensions", header(8), format.ErrHeader},
	{"too short", append(header(8, 2, 2), 1, 2, 3), format.ErrTruncated},
	{"half an element", append(header(11, 2), 1, 2, 3), format.ErrTruncated},
	{"too long", append(header(8, 2, 2), 1, 2, 3, 4, 5), format.ErrCount},
	{"NaN", big.AppendUint64(header(14, 1), math.Float64bits(math.NaN())), format.ErrNotFinite},
	{"infinite", big.AppendUint32(big.AppendUint32(header(13, 2), 0), math.Float32bits(float32(math.Inf(-1)))), format.ErrNotFinite},
	{"dimensions overflow", append(header(8, 0xffffffff, 0xffffffff, 0xffffffff), 1), format.ErrHeader},
	{"data overflow", append(header(14, 0xffffffff, 0xffffff, 0xffff), 1), format.ErrHeader},
}

// triple is one entry, by ids or by indices from 0.
type triple formattest.Triple

// read reads an IDX file as a stream, or by random access if plain.
func read(data []byte, plain bool, chunk int) (entries []triple, _ format.Shape, err error) {
	in, shape := formattest.Input(data)
	if plain {
		in.At, in.Size = bytes.NewReader(data), int64(len(data))
	}
	all, err := formattest.Read(Format, in, chunk)
	for _, e := range all {
		entries = append(entries, triple(e))
	}
	return entries, *shape, err
}

func TestIDX(t *testing.T) {
	for _, c := range cases {
		for _, plain := range []bool{false, true} {
			got, shape, err := read(c.data, plain, format.ChunkBytes)
			if c.err != nil {
				var pe *format.ParseError
				if !errors.As(err, &pe) || !errors.Is(err, c.err) || pe.Line != 0 || pe.Column != 0 || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s, plain %v: %v, want %v", c.name, plain, err, c.err)
				}
				continue
			}
			rows, cols, want, ok := naive(c.data)
			if err != nil || !ok || shape != (format.Shape{Rows: rows, Cols: cols}) || !slices.Equal(got, want) {
				t.Errorf("%s, plain %v: got %v: %v, %v, want %d × %d: %v, %v", c.name, plain, shape, got, err, rows, cols, want, ok)
			}
		}
	}
}

// FuzzIDX: the format accepts the files that naive accepts and reads the same entries.
func FuzzIDX(f *testing.F) {
	for _, c := range cases {
		f.Add(c.data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, cols, want, ok := naive(data)
		got, shape, err := read(data, false, 64)
		if !ok {
			if err == nil {
				t.Fatalf("%x: accepted as %v", data, got)
			}
			return
		}
		if err != nil {
			t.Fatalf("%x: %v", data, err)
		}
		if shape.Rows != rows || shape.Cols != cols || !slices.Equal(got, want) {
			t.Fatalf("%x: got %d × %d, %v, want %d × %d, %v", data, shape.Rows, shape.Cols, got, rows, cols, want)
		}
	})
}
