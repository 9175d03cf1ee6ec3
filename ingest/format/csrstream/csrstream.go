// Package csrstream reads and writes the csr-stream: a sparse matrix, row by row,
// from one program to another. FORMAT.md is its contract.
//
// A [Reader] of the format checks every byte: the header and each frame have a CRC-32, and
// the end of the stream says how many entries there were. A [Writer] makes a stream.
package csrstream

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Format is the csr-stream.
var Format = format.Format{
	Name:  "csr-stream",
	Sniff: func(h format.Head) bool { return bytes.HasPrefix(h.Bytes, []byte(magic)) },
	Open:  open,
}

// ErrSum is the error about bytes that are not those that were written.
var ErrSum = errors.New("damaged: the CRC-32 differs")

const (
	magic       = "\x89CSR\r\n\x1a\n"
	version     = 1
	headerBytes = 48
	frameBytes  = 32
	// maxPayload and maxEntries let a frame be one chunk, and its batch not much longer than those of text.
	maxPayload = format.ChunkBytes - frameBytes
	maxEntries = 1 << 15

	kindRows = "ROWS"
	kindDone = "DONE"
)

var le = binary.LittleEndian

// A Type is that of keys or values: the name of NumPy, without the byte order.
type Type string

// Types of keys and values; see FORMAT.md for where each may stand.
const (
	None    Type = ""
	Bool    Type = "b1"
	Int8    Type = "i1"
	Uint8   Type = "u1"
	Int16   Type = "i2"
	Uint16  Type = "u2"
	Int32   Type = "i4"
	Uint32  Type = "u4"
	Int64   Type = "i8"
	Uint64  Type = "u8"
	Float32 Type = "f4"
	Float64 Type = "f8"
	Text    Type = "s"
)

// size is the bytes of a number of a type; that of a text, its length.
func (t Type) size() int {
	switch {
	case t == None:
		return 0
	case t == Text:
		return 4
	}
	return int(t[1] - '0')
}

// A Header is what a stream says about the matrix.
type Header struct {
	RowKeys    Type  // None: rows are numbered, and the shape is declared
	ColKeys    Type  // Int32, Uint32, Int64 or Uint64; with ids Int64 or Text
	Values     Type  // None: every entry is 1
	Rows, Cols int64 // 0 with ids
}

// IDs tells whether keys are ids rather than indices.
func (h *Header) IDs() bool { return h.RowKeys != None }

func oneOf(t Type, of ...Type) bool {
	for _, o := range of {
		if t == o {
			return true
		}
	}
	return false
}

// check holds types and shape to the rules of FORMAT.md.
func (h *Header) check() error {
	keys := []Type{Int32, Uint32, Int64, Uint64}
	if h.IDs() {
		keys = []Type{Int64, Text}
	}
	switch {
	case !oneOf(h.RowKeys, None, Int64, Text):
		return fmt.Errorf("%w: row keys of type %q", format.ErrHeader, string(h.RowKeys))
	case !oneOf(h.ColKeys, keys...):
		return fmt.Errorf("%w: column keys of type %q", format.ErrHeader, string(h.ColKeys))
	case !oneOf(h.Values, None, Bool, Int8, Uint8, Int16, Uint16, Int32, Uint32, Int64, Uint64, Float32, Float64):
		return fmt.Errorf("%w: values of type %q", format.ErrHeader, string(h.Values))
	case h.Rows < 0 || h.Cols < 0 || h.IDs() && (h.Rows != 0 || h.Cols != 0):
		return fmt.Errorf("%w: a shape of %d × %d", format.ErrHeader, h.Rows, h.Cols)
	}
	return nil
}

// append writes the header to b.
func (h *Header) append(b []byte) []byte {
	at := len(b)
	b = append(b, magic...)
	b = le.AppendUint32(b, version)
	for _, t := range []Type{h.RowKeys, h.ColKeys, h.Values} {
		var field [4]byte
		copy(field[:], t)
		b = append(b, field[:]...)
	}
	b = le.AppendUint64(b, uint64(h.Rows))
	b = le.AppendUint64(b, uint64(h.Cols))
	b = le.AppendUint32(b, 0)
	return le.AppendUint32(b, crc32.ChecksumIEEE(b[at:]))
}

// parseHeader reads a header of headerBytes.
func parseHeader(b []byte) (h Header, err error) {
	switch {
	case string(b[:8]) != magic:
		return h, fmt.Errorf("%w: it does not begin with the magic number of a csr-stream", format.ErrHeader)
	case le.Uint32(b[8:]) != version:
		return h, fmt.Errorf("csr-stream of version %d: %w; this program reads version %d", le.Uint32(b[8:]), format.ErrUnsupported, version)
	case le.Uint32(b[44:]) != crc32.ChecksumIEEE(b[:44]):
		return h, fmt.Errorf("header %w", ErrSum)
	case le.Uint32(b[40:]) != 0:
		return h, fmt.Errorf("%w: reserved bytes that are not 0", format.ErrHeader)
	}
	typeAt := func(at int) Type { return Type(bytes.TrimRight(b[at:at+4], "\x00")) }
	h = Header{RowKeys: typeAt(12), ColKeys: typeAt(16), Values: typeAt(20), Rows: int64(le.Uint64(b[24:])), Cols: int64(le.Uint64(b[32:]))}
	return h, h.check()
}

// A frame is the head of one.
type frame struct {
	kind          string
	sum           uint32
	size, rows, n int
	first         uint64
}

// parseFrame reads frameBytes.
func parseFrame(b []byte) (frame, error) {
	f := frame{string(b[:4]), le.Uint32(b[4:]), int(le.Uint32(b[8:])), int(le.Uint32(b[12:])), int(le.Uint32(b[24:])), le.Uint64(b[16:])}
	switch {
	case f.kind != kindRows && f.kind != kindDone:
		return f, fmt.Errorf("%w: no frame begins here", format.ErrHeader)
	case f.size < 0 || f.size > maxPayload:
		return f, fmt.Errorf("%w: a frame of %d bytes, the limit is %d", format.ErrHeader, uint32(f.size), maxPayload)
	case f.n < 0 || f.n > maxEntries:
		return f, fmt.Errorf("%w: a frame of %d entries, the limit is %d", format.ErrHeader, uint32(f.n), maxEntries)
	case le.Uint32(b[28:]) != 0, f.kind == kindDone && (f.size != 0 || f.rows != 0 || f.n != 0):
		return f, fmt.Errorf("%w: bytes of a frame that must be 0 are not", format.ErrHeader)
	}
	return f, nil
}

// A reader reads a stream, a frame a chunk.
type reader struct {
	in *format.Input
	Header
	at    int64 // of the next frame
	done  bool  // the end has been read
	total int64 // entries, as it says
}

func open(in *format.Input) (format.Reader, error) {
	p := &reader{in: in, at: headerBytes}
	var b [headerBytes]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return nil, p.cut(err, "within the header", 0)
	}
	var err error
	if p.Header, err = parseHeader(b[:]); err == nil && !p.IDs() {
		err = in.Declare(p.Rows, p.Cols)
	}
	if err != nil {
		return nil, p.fail(0, err)
	}
	return p, nil
}

func (p *reader) fail(at int64, err error) error {
	return &format.ParseError{File: p.in.Name, Byte: at, Err: err}
}

// cut is the error for data that end too early, or that cannot be read.
func (p *reader) cut(err error, where string, at int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return p.fail(at, fmt.Errorf("%w: the stream ends %s; its writer has stopped before the end", format.ErrTruncated, where))
	}
	return err
}

// Next reads one frame. What stands in its head is checked here, the rest by Parse.
func (p *reader) Next(c *format.Chunk) error {
	if p.done {
		return io.EOF
	}
	c.Data = slices.Grow(c.Data[:0], frameBytes)[:frameBytes]
	if n, err := io.ReadFull(p.in, c.Data); err != nil {
		return p.cut(err, fmt.Sprintf("after %d bytes, without its last frame", p.at+int64(n)), p.at)
	}
	f, err := parseFrame(c.Data)
	if err != nil {
		return p.fail(p.at, err)
	}
	c.Data = slices.Grow(c.Data, f.size)[:frameBytes+f.size]
	if _, err := io.ReadFull(p.in, c.Data[frameBytes:]); err != nil {
		return p.cut(err, "within a frame", p.at)
	}
	c.Begin.Byte = p.at
	if f.kind == kindDone {
		return p.end(c)
	}
	p.at += int64(len(c.Data))
	c.End.Byte = p.at
	return nil
}

// end reads the last frame.
func (p *reader) end(c *format.Chunk) error {
	f, err := p.verify(c)
	if err != nil {
		return err
	}
	p.done, p.total = true, int64(f.first)
	if _, err := p.in.Peek(1); err != io.EOF {
		if err == nil {
			err = p.fail(p.at+frameBytes, fmt.Errorf("%w: data behind the end of the stream", format.ErrCount))
		}
		return err
	}
	return io.EOF
}

// verify checks the CRC of a frame.
func (p *reader) verify(c *format.Chunk) (frame, error) {
	f, err := parseFrame(c.Data)
	if err == nil && crc32.ChecksumIEEE(c.Data[8:]) != f.sum {
		err = ErrSum
	}
	if err != nil {
		err = p.fail(c.Begin.Byte, err)
	}
	return f, err
}

// Seek goes on at a frame.
func (p *reader) Seek(to format.Position) error {
	err := p.in.Skip(to.Byte - p.at)
	p.at = to.Byte
	return err
}

// Check compares the number of entries with that at the end of the stream.
func (p *reader) Check(t format.Tally, c *format.Chunk, _ *format.Batch) error {
	if c == nil && t.Entries != p.total {
		return p.fail(p.at, fmt.Errorf("%w: %d, the end of the stream says %d", format.ErrCount, t.Entries, p.total))
	}
	return nil
}
