package crc

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The check value of CRC-32C: that of the digits 1 to 9 (RFC 3720, appendix B.4, has others).
func TestCheckValue(t *testing.T) {
	const want = 0xe3069283
	text := []byte("123456789")
	if got := Of(text); got != want {
		t.Errorf("Of = %#x, want %#x", got, want)
	}
	if got := Update(Update(0, text[:4]), text[4:]); got != want {
		t.Errorf("Update in two parts = %#x, want %#x", got, want)
	}
	h := New()
	h.Write(text)
	if got := h.Sum32(); got != want {
		t.Errorf("New = %#x, want %#x", got, want)
	}
}

// What is read is summed up and shown once, whatever pieces it comes in; an error of either side ends it.
func TestRead(t *testing.T) {
	for what, r := range map[string]io.Reader{
		"whole": strings.NewReader("123456789"), "bytes": iotest.OneByteReader(strings.NewReader("123456789")), "end with data": iotest.DataErrReader(strings.NewReader("123456789")),
	} {
		var seen []byte
		sum, err := Read(r, func(b []byte) error { seen = append(seen, b...); return nil })
		if err != nil || sum != 0xe3069283 || string(seen) != "123456789" {
			t.Errorf("%s: %v of %q, %v", what, sum, seen, err)
		}
	}
	bad := errors.New("bad")
	if _, err := Read(iotest.ErrReader(bad), func([]byte) error { return nil }); !errors.Is(err, bad) {
		t.Error(err)
	}
	if _, err := Read(strings.NewReader("x"), func([]byte) error { return bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
}
