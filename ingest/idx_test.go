package ingest

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
)

var big = binary.BigEndian

func idxHeader(kind byte, dims ...uint32) []byte {
	b := []byte{0, 0, kind, byte(len(dims))}
	for _, d := range dims {
		b = big.AppendUint32(b, d)
	}
	return b
}

// naiveIDX reads element by element with encoding/binary's decoder.
func naiveIDX(data []byte) (rows, cols int64, entries []triple, ok bool) {
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

var idxCases = []struct {
	name string
	data []byte
	err  error // nil: accepted
}{
	{"ubyte", append(idxHeader(8, 2, 2, 2), 1, 0, 255, 0, 0, 0, 0, 7), nil},
	{"byte", append(idxHeader(9, 2, 2), 0x80, 0, 0xff, 1), nil},
	{"short", big.AppendUint16(big.AppendUint16(idxHeader(11, 2), 0x8000), 3), nil},
	{"int", big.AppendUint32(big.AppendUint32(idxHeader(12, 1, 2), 0x80000000), 0), nil},
	{"float", big.AppendUint32(idxHeader(13, 1, 1, 1), math.Float32bits(-0.1)), nil},
	{"double", big.AppendUint64(big.AppendUint64(idxHeader(14, 2, 1), math.Float64bits(1e-300)), math.Float64bits(math.Copysign(0, -1))), nil},
	{"wide", append(idxHeader(8, 1, 5), 1, 2, 3, 4, 5), nil},
	{"all zero", append(idxHeader(8, 2, 2), 0, 0, 0, 0), nil},
	{"no rows", idxHeader(8, 0, 3), nil},
	{"no columns", idxHeader(8, 3, 0), nil},

	{"empty", nil, format.ErrTruncated},
	{"header cut", idxHeader(8, 2, 2)[:9], format.ErrTruncated},
	{"not the magic number", []byte{0, 1, 8, 1, 0, 0, 0, 0}, format.ErrHeader},
	{"unknown type", idxHeader(10, 1), format.ErrHeader},
	{"no dimensions", idxHeader(8), format.ErrHeader},
	{"too short", append(idxHeader(8, 2, 2), 1, 2, 3), format.ErrTruncated},
	{"half an element", append(idxHeader(11, 2), 1, 2, 3), format.ErrTruncated},
	{"too long", append(idxHeader(8, 2, 2), 1, 2, 3, 4, 5), format.ErrCount},
	{"NaN", big.AppendUint64(idxHeader(14, 1), math.Float64bits(math.NaN())), format.ErrNotFinite},
	{"infinite", big.AppendUint32(big.AppendUint32(idxHeader(13, 2), 0), math.Float32bits(float32(math.Inf(-1)))), format.ErrNotFinite},
	{"dimensions overflow", append(idxHeader(8, 0xffffffff, 0xffffffff, 0xffffffff), 1), format.ErrHeader},
	{"data overflow", append(idxHeader(14, 0xffffffff, 0xffffff, 0xffff), 1), format.ErrHeader},
}

func TestIDX(t *testing.T) {
	for _, c := range idxCases {
		t.Run(c.name, func(t *testing.T) {
			rep, got, err := ingestText(t, string(c.data), Options{Format: "idx", MaxBadLines: 100})
			if c.err != nil {
				parseError(t, err, c.err, 0, 0)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, cols, want, ok := naiveIDX(c.data)
			slices.SortFunc(want, compareTriples)
			if !ok || rep.Format != "idx" || rep.Rows != rows || rep.Cols != cols || !slices.Equal(got, want) {
				t.Errorf("got %v %d × %d: %v, want %d × %d: %v, %v", rep.Format, rep.Rows, rep.Cols, got, rows, cols, want, ok)
			}
		})
	}
}

func TestIDXIsRecognised(t *testing.T) {
	rep, _, err := ingestText(t, string(idxCases[0].data), Options{})
	if err != nil || rep.Format != "idx" {
		t.Errorf("%v, %v", rep, err)
	}
}
