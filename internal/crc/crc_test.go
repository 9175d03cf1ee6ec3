package crc

import (
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCheckValue checks the CRC-32C of the digits 1 to 9, its published check value (RFC 3720, appendix B.4, has others).
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

// TestRead checks that Read sums the bytes and shows them once, for several readers, and returns errors of both sides.
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

// TestPieces checks the sums of pieces for several sizes of writes, and that they survive a round trip through text.
func TestPieces(t *testing.T) {
	data := []byte(strings.Repeat("0123456789abcdef", 3*Piece/32))
	for _, step := range []int{Piece, Piece - 7, 2*Piece + 1} {
		var s Summer
		for rest := data; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			_, _ = s.Write(rest[:min(step, len(rest))])
		}
		text, err := s.Pieces.MarshalText()
		var back Pieces
		if err = errors.Join(err, back.UnmarshalText(text)); err != nil || len(back) != 2 || uint32(s.CRC) != Of(data) || s.Size != int64(len(data)) {
			t.Fatalf("%d bytes at a time: %+v, %v, %v", step, s, back, err)
		}
		if uint32(back[0]) != Of(data[:Piece]) || uint32(back[1]) != Of(data[Piece:]) {
			t.Errorf("%d bytes at a time: %v", step, back)
		}
	}
	for _, bad := range []string{"0123456", "0123456g", "0123456A"} {
		if err := new(Pieces).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// TestJoin checks that sums of parts, which know the offset of their first byte, join to the sum of the whole for any cuts.
func TestJoin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 50 {
		data := make([]byte, 1+rng.IntN(3*Piece))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		var want, got Summer
		_, _ = want.Write(data)
		for at := 0; at < len(data); {
			n := min(len(data)-at, 1+rng.IntN(Piece*3/2))
			if rng.IntN(4) == 0 { // up to the beginning of a piece
				n = min(len(data)-at, Piece-at%Piece)
			}
			part := Summer{Size: int64(at)}
			for rest := data[at : at+n]; len(rest) > 0; {
				some := 1 + rng.IntN(len(rest))
				_, _ = part.Write(rest[:some])
				rest = rest[some:]
			}
			at += n
			got.Join(int64(at), part.Pieces)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("trial %d, %d bytes: %v, want %v", trial, len(data), got, want)
		}
	}
}
