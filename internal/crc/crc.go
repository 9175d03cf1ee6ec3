// Package crc computes the checksum of everything that gdsvd writes: CRC-32C (Castagnoli).
package crc

import (
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strconv"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// ErrMismatch is the error for bytes whose checksum differs from the expected one.
var ErrMismatch = errors.New("checksum mismatch")

func Of(b []byte) uint32 { return crc32.Checksum(b, table) }

// Update returns the CRC-32C of a sequence of bytes with the CRC-32C sum, followed by b. The CRC-32C of no bytes is 0.
func Update(sum uint32, b []byte) uint32 { return crc32.Update(sum, table, b) }

func New() hash.Hash32 { return crc32.New(table) }

// Read returns the CRC-32C of all bytes of r. It calls visit with each chunk read; an error from visit ends the reading.
func Read(r io.Reader, visit func(chunk []byte) error) (Sum, error) {
	sum, buf := uint32(0), make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		sum = Update(sum, buf[:n])
		if n > 0 {
			if err := visit(buf[:n]); err != nil {
				return Sum(sum), err
			}
		}
		if err == io.EOF {
			return Sum(sum), nil
		}
		if err != nil {
			return Sum(sum), err
		}
	}
}

// Sum is a checksum; in JSON it is a string of eight lower-case hexadecimal digits.
type Sum uint32

func (s Sum) String() string               { return fmt.Sprintf("%08x", uint32(s)) }
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s *Sum) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 16, 32)
	if err != nil || Sum(v).String() != string(b) {
		return fmt.Errorf("checksum %q is not eight lower-case hex digits", b)
	}
	*s = Sum(v)
	return nil
}

// Piece is the size in bytes of the pieces whose checksums Pieces holds; the last piece of a file may be shorter.
const Piece = 1 << 20

// Pieces are the checksums of the pieces of a file, in order. In JSON they are one string of eight hexadecimal digits each.
type Pieces []Sum

func (p Pieces) MarshalText() ([]byte, error) {
	text := make([]byte, 0, 8*len(p))
	for _, s := range p {
		text = fmt.Appendf(text, "%08x", uint32(s))
	}
	return text, nil
}

func (p *Pieces) UnmarshalText(text []byte) error {
	if len(text)%8 != 0 {
		return fmt.Errorf("checksums of %d digits, want a multiple of 8", len(text))
	}
	*p = make(Pieces, len(text)/8)
	for i := range *p {
		if err := (*p)[i].UnmarshalText(text[8*i : 8*i+8]); err != nil {
			return err
		}
	}
	return nil
}

// Summer computes the checksums of the bytes written to it, of all and of each piece. The zero value stands for no bytes. A
// Summer that starts with a Size > 0 sums the bytes of a file from byte offset Size on.
type Summer struct {
	Size   int64
	CRC    Sum
	Pieces Pieces
}

// Write implements io.Writer. It never fails.
func (s *Summer) Write(b []byte) (int, error) {
	s.CRC = Sum(Update(uint32(s.CRC), b))
	for rest := b; len(rest) > 0; {
		at := s.Size % Piece
		if at == 0 || len(s.Pieces) == 0 {
			s.Pieces = append(s.Pieces, 0)
		}
		part := rest[:min(int64(len(rest)), Piece-at)]
		last := &s.Pieces[len(s.Pieces)-1]
		*last = Sum(Update(uint32(*last), part))
		s.Size += int64(len(part))
		rest = rest[len(part):]
	}
	return len(b), nil
}

// Join appends bytes s.Size to end of a file, given the checksums of their pieces from a Summer that started with that Size.
func (s *Summer) Join(end int64, next Pieces) {
	for _, sum := range next {
		n := min(Piece-s.Size%Piece, end-s.Size)
		if s.Size%Piece == 0 {
			s.Pieces = append(s.Pieces, 0)
		}
		last := &s.Pieces[len(s.Pieces)-1]
		*last, s.CRC = joined(*last, sum, n), joined(s.CRC, sum, n)
		s.Size += n
	}
}

// joined returns the checksum of bytes with checksum a followed by n bytes with checksum b: a·x^(8n) + b modulo the
// polynomial of the CRC, whose highest bit is the coefficient of x⁰ (as crc32_combine of zlib).
func joined(a, b Sum, n int64) Sum {
	times := func(a, b uint32) (p uint32) {
		for ; a != 0; a <<= 1 {
			if a>>31 != 0 {
				p ^= b
			}
			b = b>>1 ^ b&1*crc32.Castagnoli
		}
		return p
	}
	x := uint32(1) << 31 >> 8 // x⁸, x¹⁶, x³², …
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			a = Sum(times(uint32(a), x))
		}
		x = times(x, x)
	}
	return a ^ b
}
