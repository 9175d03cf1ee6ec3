// Package idx reads the binary array format of the MNIST files.
package idx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Format is IDX: the first dimension is the rows, the others are flattened to
// columns, zeros are left out.
var Format = format.Format{Name: "idx", Sniff: func(h format.Head) bool { return hasMagic(h.Bytes) }, Open: open}

// A reader reads two zero bytes, the type, the
// number of dimensions, each dimension as a big-endian uint32, then the elements
// big-endian in row-major order (Y. LeCun, C. Cortes, C. Burges, "The MNIST database").
type reader struct {
	in         *format.Input
	kind       byte
	size       int64 // of an element
	header     int64 // bytes
	rows, cols int64
	total      int64 // bytes of elements declared
	at         int64 // of the next element, behind the header
}

// sizes are the bytes of an element by type code.
var sizes = map[byte]int64{0x08: 1, 0x09: 1, 0x0b: 2, 0x0c: 4, 0x0d: 4, 0x0e: 8}

func hasMagic(head []byte) bool {
	return len(head) >= 4 && head[0] == 0 && head[1] == 0 && sizes[head[2]] > 0 && head[3] > 0
}

// open reads the header.
func open(in *format.Input) (format.Reader, error) {
	p := &reader{in: in}
	fail := func(err error) error { return &format.ParseError{File: in.Name, Err: err} }
	var magic [4]byte
	if err := p.readHeader(magic[:]); err != nil {
		return nil, err
	}
	size := sizes[magic[2]]
	if magic[0] != 0 || magic[1] != 0 || size == 0 || magic[3] == 0 {
		return nil, fail(fmt.Errorf("%w: %x is no IDX magic number", format.ErrHeader, magic))
	}
	p.kind, p.size = magic[2], size
	dims := make([]byte, 4*int(magic[3]))
	if err := p.readHeader(dims); err != nil {
		return nil, err
	}
	p.rows = int64(binary.BigEndian.Uint32(dims))
	p.cols = 1
	for d := dims[4:]; len(d) > 0; d = d[4:] {
		hi, lo := bits.Mul64(uint64(p.cols), uint64(binary.BigEndian.Uint32(d)))
		if hi != 0 || lo >= 1<<40 {
			return nil, fail(fmt.Errorf("%w: dimensions too large", format.ErrHeader))
		}
		p.cols = int64(lo)
	}
	hi, total := bits.Mul64(uint64(p.rows), uint64(p.cols)*uint64(size))
	if hi != 0 || total >= 1<<62 {
		return nil, fail(fmt.Errorf("%w: dimensions too large", format.ErrHeader))
	}
	p.total = int64(total)
	if err := in.Declare(p.rows, p.cols); err != nil {
		return nil, fail(err)
	}
	return p, nil
}

// readHeader reads the next bytes of the header.
func (p *reader) readHeader(b []byte) error {
	_, err := io.ReadFull(p.in, b)
	p.header += int64(len(b))
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &format.ParseError{File: p.in.Name, Err: fmt.Errorf("%w: the data end within the header", format.ErrTruncated)}
	}
	return err
}

// mostElements is how many elements a chunk has, at most: each may become an entry of 24 bytes.
const mostElements = 1 << 16

// Next reads whole elements and holds their number to the declared one.
func (p *reader) Next(c *format.Chunk) error {
	want := min(p.total-p.at, min(int64(cap(c.Data))/p.size, mostElements)*p.size)
	if want == 0 {
		if _, err := p.in.Peek(1); err != nil {
			return err
		}
		return &format.ParseError{File: p.in.Name, Err: fmt.Errorf("%w: more data than the header declares (%d bytes)", format.ErrCount, p.total)}
	}
	c.Data = c.Data[:want]
	n, err := io.ReadFull(p.in, c.Data)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &format.ParseError{File: p.in.Name, Err: fmt.Errorf("%w: %d bytes of data, the header declares %d", format.ErrTruncated, p.at+int64(n), p.total)}
	}
	c.Begin.Byte = p.header + p.at
	p.at += want
	c.End.Byte = p.header + p.at
	return err
}

// Seek goes on at an element.
func (p *reader) Seek(at format.Position) error {
	n := at.Byte - p.header
	err := p.in.Skip(n - p.at)
	p.at = n
	return err
}

// Locate is the place of entry n, the zeros between counted.
func (p *reader) Locate(c *format.Chunk, n int) format.Position {
	at := c.Begin
	for d := c.Data; len(d) > 0; d = d[p.size:] {
		if p.element(d) != 0 {
			if n--; n < 0 {
				break
			}
		}
		at.Byte += p.size
	}
	return at
}

// Check has nothing to do: Next counts.
func (p *reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

// Parse leaves zeros out. An element that is not finite is an error: there are no lines to leave out.
func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	first := (c.Begin.Byte - p.header) / p.size
	row, col := first/p.cols, first%p.cols
	rows, cols, vals := b.Row.Ints, b.Col.Ints, b.Val
	for d := c.Data; len(d) > 0; d = d[p.size:] {
		v := p.element(d)
		if v-v != 0 { // NaN or ±Inf
			return &format.ParseError{File: p.in.Name, Text: fmt.Sprint(v),
				Err: fmt.Errorf("%w, at row %d, column %d (from 0)", format.ErrNotFinite, row, col)}
		}
		if v != 0 {
			rows, cols, vals = append(rows, row), append(cols, col), append(vals, v)
		}
		if col++; col == p.cols {
			row, col = row+1, 0
		}
	}
	b.Row.Ints, b.Col.Ints, b.Val = rows, cols, vals
	return nil
}

// element decodes the first element of d.
func (p *reader) element(d []byte) float64 {
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
