package crc

import "fmt"

// Piece is the size in bytes of the pieces that Pieces has sums of; the last piece of a file may be shorter.
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

// Summer sums up what is written to it, whole and in pieces. The zero value has no bytes.
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
		if at == 0 {
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
