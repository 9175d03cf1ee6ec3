package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// chunkSize is how much text is parsed at a time; no line may be longer. It
// does not depend on options: whether an input is accepted must not either.
const chunkSize = 256 << 10

// A lineReader cuts a text into chunks of whole lines and knows line numbers.
type lineReader struct {
	in       *input
	nextLine int64  // its number, from 1
	held     []byte // read, but behind the last line end
	err      error  // met after held
}

// utf8BOM is tolerated at the beginning of a text.
const utf8BOM = "\xef\xbb\xbf"

func newLineReader(in *input) *lineReader {
	if b, _ := in.r.Peek(len(utf8BOM)); string(b) == utf8BOM {
		_, _ = in.r.Discard(len(utf8BOM)) // peeked: cannot fail
	}
	return &lineReader{in: in, nextLine: 1}
}

// peek is the beginning of what is left, up to the reader's buffer; complete
// means that it is all there is. With an error there may be something, too.
func (lr *lineReader) peek() (head []byte, complete bool, err error) {
	head, err = lr.in.r.Peek(lr.in.r.Size())
	switch err {
	case nil, bufio.ErrBufferFull:
		return head, false, nil
	case io.EOF:
		return head, true, nil
	}
	return head, false, lr.in.readError(lr.nextLine, err)
}

// next reads one line, without its end. It is io.EOF after the last one.
// The line is valid until the next read.
func (lr *lineReader) next() ([]byte, error) {
	b, err := lr.in.r.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, lr.tooLong(b)
	case err == io.EOF && len(b) > 0: // the last line may lack its end
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, lr.in.readError(lr.nextLine, err)
	}
	lr.nextLine++
	return trimEnd(b), nil
}

// trimEnd cuts the line end, LF or CRLF.
func trimEnd(b []byte) []byte {
	b = bytes.TrimSuffix(b, []byte{'\n'})
	return bytes.TrimSuffix(b, []byte{'\r'})
}

// fill puts the next whole lines into c.data's capacity. It is io.EOF after
// the last of them. After a failing read the lines before the failure come first.
func (lr *lineReader) fill(c *chunk) error {
	buf := c.data[:cap(c.data)]
	n := copy(buf, lr.held)
	lr.held = lr.held[:0]
	for n < len(buf) && lr.err == nil {
		var k int
		k, lr.err = lr.in.Read(buf[n:])
		n += k
	}
	end := n
	if lr.err != io.EOF {
		// What lies behind the last line end is not a whole line, or not yet known to be one.
		end = bytes.LastIndexByte(buf[:n], '\n') + 1
	}
	if end == 0 {
		switch {
		case lr.err == nil:
			return lr.tooLong(buf)
		case lr.err != io.EOF:
			return lr.in.readError(lr.nextLine, lr.err)
		}
		return io.EOF
	}
	lr.held = append(lr.held, buf[end:n]...)
	c.data, c.firstLine = buf[:end], lr.nextLine
	lr.nextLine += int64(bytes.Count(c.data, []byte{'\n'}))
	return nil
}

func (lr *lineReader) rest() int { return len(lr.held) }

func (lr *lineReader) line() int64 { return lr.nextLine }

func (lr *lineReader) moved(_, line int64) { lr.nextLine = line }

func (lr *lineReader) tooLong(b []byte) error {
	return &ParseError{File: lr.in.name, Line: lr.nextLine, Text: shorten(b),
		Err: fmt.Errorf("%w: more than %d bytes without a line end", ErrLineTooLong, len(b))}
}

// cutLine takes the first line off text, without its end.
func cutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return trimEnd(text), nil
	}
	line, rest = text[:i], text[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}

// blank tells whether a line holds nothing but blanks.
func blank(l []byte) bool {
	for _, c := range l {
		if c != ' ' && c != '\t' {
			return false
		}
	}
	return true
}

// An elementReader cuts binary data into chunks of whole elements and holds
// their number to the declared one.
type elementReader struct {
	in     *input
	size   int   // of an element
	offset int64 // of the next byte behind the header
	total  int64 // bytes declared
}

func (er *elementReader) rest() int { return 0 }

func (er *elementReader) line() int64 { return 0 }

func (er *elementReader) moved(bytes, _ int64) { er.offset += bytes }

func (er *elementReader) fill(c *chunk) error {
	want := min(er.total-er.offset, int64(cap(c.data)/er.size*er.size))
	if want == 0 {
		if _, err := er.in.r.ReadByte(); err == nil {
			return &ParseError{File: er.in.name, Err: fmt.Errorf("%w: more data than the header declares (%d bytes)", ErrCount, er.total)}
		} else if err != io.EOF {
			return er.in.readError(0, err)
		}
		return io.EOF
	}
	n, err := io.ReadFull(er.in.r, c.data[:want])
	if err != nil && (er.in.raw.err != nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF)) {
		return er.in.readError(0, err)
	}
	if err != nil {
		return &ParseError{File: er.in.name, Err: fmt.Errorf("%w: %d bytes of data, the header declares %d", ErrTruncated, er.offset+int64(n), er.total)}
	}
	c.data, c.offset = c.data[:want], er.offset
	er.offset += want
	return nil
}
