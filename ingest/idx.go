package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// idx parses the format of the MNIST files: two zero bytes, the type, the
// number of dimensions, each dimension as a big-endian uint32, then the elements
// big-endian in row-major order (Y. LeCun, C. Cortes, C. Burges, "The MNIST database").
type idx struct {
	file       string
	kind       byte
	rows, cols int64
	pack       keyPacker
}

// idxSizes are the bytes of an element by type code.
var idxSizes = map[byte]int{0x08: 1, 0x09: 1, 0x0b: 2, 0x0c: 4, 0x0d: 4, 0x0e: 8}

func hasIDXMagic(head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && idxSizes[head[2]] > 0 && head[3] > 0
}

// newIDX reads the header.
func newIDX(in *input, o Orientation) (*idx, *elementReader, error) {
	p := &idx{file: in.name}
	fail := func(err error) error { return &ParseError{File: p.file, Err: err} }
	var magic [4]byte
	if err := p.header(in, magic[:]); err != nil {
		return nil, nil, err
	}
	size := idxSizes[magic[2]]
	if magic[0] != 0 || magic[1] != 0 || size == 0 || magic[3] == 0 {
		return nil, nil, fail(fmt.Errorf("%w: %x is no IDX magic number", ErrHeader, magic))
	}
	p.kind = magic[2]
	dims := make([]byte, 4*int(magic[3]))
	if err := p.header(in, dims); err != nil {
		return nil, nil, err
	}
	p.rows = int64(binary.BigEndian.Uint32(dims))
	p.cols = 1
	for d := dims[4:]; len(d) > 0; d = d[4:] {
		hi, lo := bits.Mul64(uint64(p.cols), uint64(binary.BigEndian.Uint32(d)))
		if hi != 0 || lo >= 1<<40 {
			return nil, nil, fail(fmt.Errorf("%w: dimensions too large", ErrHeader))
		}
		p.cols = int64(lo)
	}
	hi, total := bits.Mul64(uint64(p.rows), uint64(p.cols)*uint64(size))
	if hi != 0 || total >= 1<<62 {
		return nil, nil, fail(fmt.Errorf("%w: dimensions too large", ErrHeader))
	}
	var err error
	if p.pack, err = newKeyPacker(p.rows, p.cols, o); err != nil {
		return nil, nil, fail(err)
	}
	return p, &elementReader{in: in, size: size, total: int64(total)}, nil
}

func (p *idx) header(in *input, b []byte) error {
	_, err := io.ReadFull(in.r, b)
	switch {
	case err == nil:
		return nil
	case in.raw.err == nil && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)):
		return &ParseError{File: p.file, Err: fmt.Errorf("%w: the data end within the header", ErrTruncated)}
	}
	return in.readError(0, err)
}

// parse leaves zeros out. An element that is not finite is an error whatever
// the limit: there are no lines to leave out.
func (p *idx) parse(c *chunk, b *batch, _ int64) {
	size := idxSizes[p.kind]
	first := c.offset / int64(size)
	row, col := first/p.cols, first%p.cols
	for d := c.data; len(d) > 0; d = d[size:] {
		v := p.element(d)
		if v-v != 0 { // NaN or ±Inf
			b.fatal = &ParseError{File: p.file, Text: fmt.Sprint(v),
				Err: fmt.Errorf("%w, at row %d, column %d (from 0)", ErrNotFinite, row, col)}
			return
		}
		if v != 0 {
			b.keys = append(b.keys, p.pack.key(row, col))
			b.addValue(v)
			b.entries++
		}
		if col++; col == p.cols {
			row, col = row+1, 0
		}
	}
}

// element decodes the first element of d.
func (p *idx) element(d []byte) float64 {
	switch p.kind {
	case 0x08:
		return float64(d[0])
	case 0x09:
		return float64(int8(d[0]))
	case 0x0b:
		return float64(int16(binary.BigEndian.Uint16(d)))
	case 0x0c:
		return float64(int32(binary.BigEndian.Uint32(d)))
	case 0x0d:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(d)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(d))
}
