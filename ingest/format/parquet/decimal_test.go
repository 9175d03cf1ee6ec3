package parquet

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// TestDecimals: decimals of any number of bytes in two's complement; a number beyond float64 is refused before its
// digits are written out, which would take a second for 256 KiB.
func TestDecimals(t *testing.T) {
	long := func(first byte, rest ...byte) []byte { return append(bytes.Repeat([]byte{first}, 1<<17), rest...) }
	for _, c := range []struct {
		bytes []byte
		scale int
		want  float64
		err   error
	}{
		{nil, 2, 0, nil},
		{[]byte{0}, 2, 0, nil},
		{[]byte{0x7f}, 1, 12.7, nil},
		{[]byte{0x80}, 1, -12.8, nil},
		{[]byte{0xff}, 0, -1, nil},
		{long(0, 0x80), 0, 128, nil},
		{long(0xff, 0x7f), 0, -129, nil},
		{long(0, 1, 0), 2, 2.56, nil},
		{append([]byte{1}, make([]byte, 128)...), 1000, 0, nil}, // below the smallest float64
		{append([]byte{1}, make([]byte, 128)...), 0, 0, format.ErrOverflow},
		{append([]byte{1}, make([]byte, 499)...), 1000, 0, format.ErrOverflow},
		{long(0x7f), 1000, 0, format.ErrOverflow},
		{long(0x80), 1000, 0, format.ErrOverflow},
	} {
		got := 0.0
		m, err := integerOf(c.bytes)
		if err == nil {
			got, err = scaled(m, c.scale)
		}
		if !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%d bytes, scale %d: %v, %v, want %v, %v", len(c.bytes), c.scale, got, err, c.want, c.err)
		}
	}
	wide := field{kind: decimal, isID: true}
	if s := wide.text(append([]byte{1}, make([]byte, 8)...)); string(s.text) != "18446744073709551616" || s.err != nil {
		t.Errorf("an id beyond an int64: %+v", s)
	}
}
