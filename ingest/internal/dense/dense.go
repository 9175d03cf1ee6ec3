// Package dense reads arrays of numbers of a fixed size: its Reader is a format.Reader of the elements behind a header. Zeros
// are left out.
package dense

import (
	"fmt"
	"io"
	"math/bits"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// A Reader reads the elements of a Rows × Cols matrix, row by row or column by column. If the input has random access, Parse
// reads the elements.
type Reader struct {
	In         *format.Input
	Header     int64 // bytes before the elements, which have been read
	Rows, Cols int64
	ByColumn   bool
	Type       npy.Type

	total int64 // bytes of the elements
	at    int64 // offset of the next element, behind the header
}

// New declares the shape and returns the Reader. It refuses a plain file of another size.
func New(r Reader) (format.Reader, error) {
	fail := func(err error) (format.Reader, error) { return nil, &format.ParseError{File: r.In.Name, Err: err} }
	hi, lo := bits.Mul64(uint64(r.Rows), uint64(r.Cols))
	over, total := bits.Mul64(lo, uint64(r.Type.Size))
	if hi != 0 || over != 0 || total >= 1<<62 {
		return fail(fmt.Errorf("%w: dimensions too large", format.ErrHeader))
	}
	r.total = int64(total)
	if err := r.In.Declare(format.Shape{Rows: r.Rows, Cols: r.Cols}); err != nil {
		return fail(err)
	}
	if have := r.In.Size - r.Header; r.In.At != nil && have < r.total {
		return fail(r.truncated(have))
	} else if r.In.At != nil && have > r.total {
		return fail(r.more())
	}
	return &r, nil
}

func (r *Reader) truncated(have int64) error {
	return fmt.Errorf("%w: %d bytes of data, the header declares %d", format.ErrTruncated, have, r.total)
}

func (r *Reader) more() error {
	return fmt.Errorf("%w: more data than the header declares (%d bytes)", format.ErrCount, r.total)
}

// mostElements is the largest number of elements of a chunk: each may become an entry of 24 bytes.
const mostElements = 1 << 16

// Next cuts off whole elements and checks that there are as many as declared.
func (r *Reader) Next(c *format.Chunk) error {
	size := int64(r.Type.Size)
	want := min(r.total-r.at, min(int64(cap(c.Data))/size, mostElements)*size)
	switch {
	case want == 0 && r.In.At != nil:
		return io.EOF
	case want == 0:
		if _, err := r.In.Peek(1); err != nil {
			return err
		}
		return &format.ParseError{File: r.In.Name, Err: r.more()}
	}
	if r.In.At == nil {
		c.Data = c.Data[:want]
		n, err := io.ReadFull(r.In, c.Data)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return &format.ParseError{File: r.In.Name, Err: r.truncated(r.at + int64(n))}
		}
		if err != nil {
			return err
		}
	}
	c.Begin.Byte = r.Header + r.at
	r.at += want
	c.End.Byte = r.Header + r.at
	return nil
}

func (r *Reader) Seek(at format.Position) error {
	n := at.Byte - r.Header
	skip := n - r.at
	r.at = n
	if r.In.At != nil {
		return nil
	}
	return r.In.Skip(skip)
}

func (r *Reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }

// load reads a chunk that Next has only delimited.
func (r *Reader) load(c *format.Chunk) error {
	n := c.End.Byte - c.Begin.Byte
	if int64(len(c.Data)) == n {
		return nil
	}
	c.Data = c.Data[:n]
	if k, err := r.In.At.ReadAt(c.Data, c.Begin.Byte); int64(k) < n {
		if err == io.EOF {
			err = &format.ParseError{File: r.In.Name, Err: r.truncated(c.Begin.Byte - r.Header + int64(k))}
		}
		return err
	}
	return nil
}

// Parse leaves out zeros. An element that is not finite is an error: there are no lines that could be left out.
func (r *Reader) Parse(c *format.Chunk, b *format.Batch) error {
	if err := r.load(c); err != nil {
		return err
	}
	size := int64(r.Type.Size)
	n := int64(len(c.Data)) / size
	all := format.Resized(b.Val, int(n))
	r.Type.Floats(all, c.Data)
	length := r.Cols
	if r.ByColumn {
		length = r.Rows
	}
	first := (c.Begin.Byte - r.Header) / size
	line, at := first/length, first%length
	lines, ats, kept := b.Row.Ints, b.Col.Ints, all[:0]
	for i, v := range all {
		if v-v != 0 { // NaN or ±Inf
			row, col := line, at
			if r.ByColumn {
				row, col = at, line
			}
			return &format.ParseError{File: r.In.Name, Byte: c.Begin.Byte + int64(i)*size, Text: fmt.Sprint(v),
				Err: fmt.Errorf("%w, at row %d, column %d (from 0)", format.ErrNotFinite, row, col)}
		}
		if v != 0 {
			lines, ats, kept = append(lines, line), append(ats, at), append(kept, v)
		}
		at++
		if at == length {
			line, at = line+1, 0
		}
	}
	b.Row.Ints, b.Col.Ints, b.Val = lines, ats, kept
	if r.ByColumn {
		b.Row.Ints, b.Col.Ints = ats, lines
	}
	return nil
}

// Locate returns the place of entry n of the chunk, counting the zeros between the entries.
func (r *Reader) Locate(c *format.Chunk, n int) format.Position {
	at := c.Begin
	if r.load(c) != nil {
		return at // only a message needs the place
	}
	var v [1]float64
	for d := c.Data; len(d) > 0; d = d[r.Type.Size:] {
		r.Type.Floats(v[:], d)
		if v[0] != 0 {
			n--
			if n < 0 {
				break
			}
		}
		at.Byte += int64(r.Type.Size)
	}
	return at
}
