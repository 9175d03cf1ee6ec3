package parquet

import (
	"encoding/binary"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// cells are the values of a column in a chunk. There they are a byte that is 1 if some are null; numbers of 8 bytes, or the number
// of distinct texts, the end of each, which of them each row has, of 4 bytes, and the texts; and, if some are null, a
// byte for each row that tells it of this one.
type cells struct {
	*field
	nulls []byte // nil: none
	nums  []byte
	ends  []byte
	codes []byte
	data  []byte
}

type row []cells

func (p *reader) cells(c *format.Chunk) row {
	all, n := make(row, len(p.fields)), int(c.End.Byte-c.Begin.Byte)
	rest := c.Data
	take := func(n int) []byte {
		part := rest[:n]
		rest = rest[n:]
		return part
	}
	for i, f := range p.fields {
		s := &all[i]
		s.field = f
		hasNulls := take(1)[0] == 1
		if f.kind <= number {
			s.nums = take(8 * n)
		} else {
			words := int(binary.LittleEndian.Uint32(take(4)))
			s.ends, s.codes = take(4*words), take(4*n)
			if words > 0 {
				s.data = take(s.end(words - 1))
			}
		}
		if hasNulls {
			s.nulls = take(n)
		}
	}
	return all
}

func (s *cells) end(word int) int { return int(binary.LittleEndian.Uint32(s.ends[4*word:])) }

func (s *cells) word(word int) []byte {
	begin := 0
	if word > 0 {
		begin = s.end(word - 1)
	}
	return s.data[begin:s.end(word)]
}

func (s *cells) part(i int) part {
	switch {
	case s.nulls != nil && s.nulls[i] == 1:
		return part{err: errNull}
	case s.nums != nil:
		return s.number(binary.LittleEndian.Uint64(s.nums[8*i:]))
	}
	return s.text(s.word(int(binary.LittleEndian.Uint32(s.codes[4*i:]))))
}

// sound tells whether all cells are ids and values as they are, without times.
func (r row) sound() bool {
	for i := range r {
		if s := &r[i]; s.nulls != nil || s.isTime || !s.clean() {
			return false
		}
	}
	return true
}

func (s *cells) clean() bool {
	switch {
	case s.kind == texts && s.isID:
		for word := range len(s.ends) / 4 {
			if n := len(s.word(word)); n == 0 || n > maxText {
				return false
			}
		}
		return true
	case s.kind == natural && s.isID:
		all := uint64(0)
		for b := s.nums; len(b) > 0; b = b[8:] {
			all |= binary.LittleEndian.Uint64(b)
		}
		return all <= math.MaxInt64
	case s.kind == number && !s.isID:
		sum := 0.0 // of differences that are 0, or NaN
		for b := s.nums; len(b) > 0; b = b[8:] {
			x := math.Float64frombits(binary.LittleEndian.Uint64(b))
			sum += x - x
		}
		return sum == 0
	}
	return (s.kind == integer || s.kind == natural) && (s.isID || s.scale == 0)
}

func (s *cells) ids(k *format.Keys) {
	if s.kind == texts {
		k.AddWords(len(s.ends)/4, s.word, s.codes)
		return
	}
	for b := s.nums; len(b) > 0; b = b[8:] {
		k.Ints = append(k.Ints, int64(binary.LittleEndian.Uint64(b)))
	}
}

func (s *cells) values(to *format.Batch) {
	for b := s.nums; len(b) > 0; b = b[8:] {
		switch bits := binary.LittleEndian.Uint64(b); s.kind {
		case number:
			to.AddValue(math.Float64frombits(bits))
		case natural:
			to.AddValue(float64(bits))
		default:
			to.AddValue(float64(int64(bits)))
		}
	}
}
