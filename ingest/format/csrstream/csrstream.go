// Package csrstream reads the csr-stream: a sparse matrix, row by row, from one program
// to another. FORMAT.md is its contract.
//
// The header and each frame have a CRC-32. The writer may leave the payload out of the sum of a frame, for use in a pipe. The
// end of the stream states the number of entries.
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

var Format = format.Format{
	Name:  "csr-stream",
	Sniff: func(h format.Head) bool { return bytes.HasPrefix(h.Bytes, []byte(magic)) },
	Open:  open,
}

// ErrSum is the error for bytes whose CRC-32 differs from the one written.
var ErrSum = errors.New("damaged: the CRC-32 differs")

const (
	magic       = "\x89CSR\r\n\x1a\n"
	version     = 1
	headerBytes = 48
	frameBytes  = 32
	// maxPayload and maxEntries are such that a frame fits in one chunk, and its batch is not much longer than those of text.
	maxPayload = format.ChunkBytes - frameBytes
	maxEntries = 1 << 15

	bare = 1 // flag: the sums of frames do not cover the payloads

	kindRows = "ROWS"
	kindDone = "DONE"
)

var le = binary.LittleEndian

const textIDs = "s"

// sizeOf returns the bytes of a number of a type of FORMAT.md; for a text, the bytes of its length.
func sizeOf(t string) int {
	switch t {
	case "":
		return 0
	case textIDs:
		return 4
	}
	return int(t[1] - '0')
}

// A header holds what the header of a stream says about the matrix. Types are written as in FORMAT.md.
type header struct {
	rowKeys    string // empty: rows are numbered, and the stream declares a shape
	colKeys    string
	values     string // empty: every entry is 1
	rows, cols int64  // 0 for ids
	bare       bool   // the sums of frames do not cover the payloads
}

func (h *header) byID() bool { return h.rowKeys != "" }

func (h *header) check() error {
	keys := []string{"i4", "u4", "i8", "u8"}
	if h.byID() {
		keys = []string{"i8", textIDs}
	}
	switch {
	case !slices.Contains([]string{"", "i8", textIDs}, h.rowKeys):
		return fmt.Errorf("%w: row keys of type %q", format.ErrHeader, h.rowKeys)
	case !slices.Contains(keys, h.colKeys):
		return fmt.Errorf("%w: column keys of type %q", format.ErrHeader, h.colKeys)
	case !slices.Contains([]string{"", "b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"}, h.values):
		return fmt.Errorf("%w: values of type %q", format.ErrHeader, h.values)
	case h.rows < 0 || h.cols < 0 || h.byID() && (h.rows != 0 || h.cols != 0):
		return fmt.Errorf("%w: a shape of %d × %d", format.ErrHeader, h.rows, h.cols)
	}
	return nil
}

func parseHeader(b []byte) (h header, err error) {
	switch {
	case string(b[:8]) != magic:
		return h, fmt.Errorf("%w: it does not begin with the magic number of a csr-stream", format.ErrHeader)
	case le.Uint32(b[8:]) != version:
		return h, fmt.Errorf("csr-stream of version %d: %w; this program reads version %d", le.Uint32(b[8:]), format.ErrUnsupported, version)
	case le.Uint32(b[44:]) != crc32.ChecksumIEEE(b[:44]):
		return h, fmt.Errorf("header %w", ErrSum)
	case le.Uint32(b[40:])&^bare != 0:
		return h, fmt.Errorf("%w: flags %#x, of which this program knows %#x", format.ErrHeader, le.Uint32(b[40:]), bare)
	}
	typeAt := func(at int) string { return string(bytes.TrimRight(b[at:at+4], "\x00")) }
	h = header{typeAt(12), typeAt(16), typeAt(20), int64(le.Uint64(b[24:])), int64(le.Uint64(b[32:])), le.Uint32(b[40:]) == bare}
	return h, h.check()
}

type frame struct {
	kind          string
	sum           uint32
	size, rows, n int
	first         uint64
}

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

type reader struct {
	in *format.Input
	header
	at    int64 // offset of the next frame
	done  bool  // the last frame has been read
	total int64 // number of entries according to the last frame
}

func open(in *format.Input) (format.Reader, error) {
	p := &reader{in: in, at: headerBytes}
	var b [headerBytes]byte
	if _, err := io.ReadFull(in, b[:]); err != nil {
		return nil, p.cut(err, "within the header", 0)
	}
	var err error
	if p.header, err = parseHeader(b[:]); err == nil && !p.byID() {
		err = in.Declare(format.Shape{Rows: p.rows, Cols: p.cols})
	}
	if err != nil {
		return nil, p.fail(0, err)
	}
	return p, nil
}

func (p *reader) fail(at int64, err error) error {
	return &format.ParseError{File: p.in.Name, Byte: at, Err: err}
}

// cut returns the error for a read that failed or reached the end of the stream too early.
func (p *reader) cut(err error, where string, at int64) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return p.fail(at, fmt.Errorf("%w: the stream ends %s; its writer has stopped before the end", format.ErrTruncated, where))
	}
	return err
}

// Next reads one frame. It checks the sizes in the head of the frame; Parse checks the rest.
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

func (p *reader) end(c *format.Chunk) error {
	f, err := p.verify(c)
	if err != nil {
		return err
	}
	p.done, p.total = true, int64(f.first)
	if _, err := p.in.Peek(1); err != nil {
		return err
	}
	return p.fail(p.at+frameBytes, fmt.Errorf("%w: data behind the end of the stream", format.ErrCount))
}

func (p *reader) verify(c *format.Chunk) (frame, error) {
	f, err := parseFrame(c.Data)
	summed := c.Data[8:]
	if p.bare {
		summed = c.Data[8:frameBytes]
	}
	if err == nil && crc32.ChecksumIEEE(summed) != f.sum {
		err = ErrSum
	}
	if err != nil {
		err = p.fail(c.Begin.Byte, err)
	}
	return f, err
}

func (p *reader) Seek(to format.Position) error {
	err := p.in.Skip(to.Byte - p.at)
	p.at = to.Byte
	return err
}

// Check compares the number of entries with that in the last frame.
func (p *reader) Check(t format.Tally, c *format.Chunk, _ *format.Batch) error {
	if c == nil && t.Entries != p.total {
		return p.fail(p.at, fmt.Errorf("%w: %d, the end of the stream says %d", format.ErrCount, t.Entries, p.total))
	}
	return nil
}
