// Package text reads lines, fields and numbers of text formats.
package text

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"sync"

	"github.com/gdsvd/gdsvd/ingest/format"
)

// Errors of a text; a format.ParseError wraps one of these.
var (
	ErrNumber      = errors.New("not a number")
	ErrInteger     = errors.New("not an integer")
	ErrFields      = errors.New("wrong number of fields")
	ErrEmptyField  = errors.New("empty field")
	ErrQuote       = errors.New("malformed quoted field, or a line break in it")
	ErrIndex       = errors.New("index outside the declared shape")
	ErrTriangle    = errors.New("entry in the wrong triangle")
	ErrLineTooLong = errors.New("line too long")
	ErrParts       = errors.New("not a part of the same matrix")
	ErrJoined      = errors.New("another file begins here")
)

// Kinds returns the errors that a refused line can have.
func Kinds() []error {
	return []error{ErrNumber, ErrInteger, format.ErrNotFinite, format.ErrOverflow, ErrFields, ErrEmptyField, ErrQuote, ErrIndex, ErrTriangle}
}

// Pattern returns a function that compiles a regular expression at its first call: most runs do not need it.
func Pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}

// BOM is the UTF-8 byte order mark, tolerated at the beginning of a text.
const BOM = "\xef\xbb\xbf"

// Lines cuts an input into chunks of whole lines and counts lines and bytes. Its Next and Seek are those of a format.Reader.
type Lines struct {
	In   *format.Input
	Want string // the form of a line, for Fail
	// Longest is the largest length of a line in bytes, if it exceeds a chunk: the capacity of chunks grows up to it.
	Longest int
	next    format.Position // position behind the lines that have been returned
	held    []byte          // bytes read behind the last line end
	err     error           // read error behind held
}

// NewLines returns the Lines of a text that is not empty; it skips a byte order mark.
func NewLines(in *format.Input) (*Lines, error) {
	l := &Lines{In: in, next: format.Position{Line: 1}}
	if b, _ := in.Peek(len(BOM)); string(b) == BOM {
		_ = in.Skip(int64(len(BOM))) // cannot fail, as the bytes have been peeked
		l.next.Byte = int64(len(BOM))
	}
	head, _, err := l.Peek()
	if len(head) == 0 && err == nil {
		err = &format.ParseError{File: in.Name, Err: fmt.Errorf("the file is empty: %w", format.ErrEmpty)}
	}
	if len(head) == 0 {
		return nil, err
	}
	return l, nil // an error occurs again, with its line known
}

// Begin is NewLines that also returns a sample of the first lines; it is an error if there are none.
func Begin(in *format.Input, want string) (*Lines, Sample, error) {
	l, err := NewLines(in)
	if err != nil {
		return nil, Sample{}, err
	}
	head, whole, err := l.Peek()
	s := Take(head, whole)
	switch {
	case s.Before > 0 && len(s.Lines) == 0 && !whole && err == nil:
		err = &format.ParseError{File: in.Name, Line: int64(s.Before) + 1, Text: Shorten(s.Long), Want: want,
			Err: fmt.Errorf("%w: with the comments and blank lines before it, more than %d bytes", ErrLineTooLong, len(head))}
	case s.Long != nil && err == nil:
		err = l.TooLong(s.Long)
	case len(s.Lines) == 0 && err == nil:
		err = &format.ParseError{File: in.Name, Err: format.ErrEmpty, Want: want}
	case len(s.Lines) > 0:
		err = nil // the error occurs again behind the sample
	}
	return l, s, err
}

// Fail returns the error about a field that begins at byte at of a line, or, with −1, about the line; what is its text.
func (l *Lines) Fail(line int64, at int, field string, what []byte, err error) error {
	return &format.ParseError{File: l.In.Name, Line: line, Column: at + 1, Field: field, Text: Shorten(what), Err: err, Want: l.Want}
}

func (l *Lines) Line() int64 { return l.next.Line }

// Peek returns the beginning of the unread text; whole reports that it is the whole rest. There may be text beside an error.
func (l *Lines) Peek() (head []byte, whole bool, err error) {
	head, err = l.In.Peek(format.ChunkBytes)
	switch err {
	case nil, bufio.ErrBufferFull:
		return head, false, nil
	case io.EOF:
		return head, true, nil
	}
	return head, false, l.at(err)
}

// ReadLine reads one line, without its end. It returns io.EOF after the last line. The line is valid until the next read.
func (l *Lines) ReadLine() ([]byte, error) {
	b, err := l.In.ReadSlice('\n')
	switch {
	case err == bufio.ErrBufferFull:
		return nil, l.TooLong(b)
	case err == io.EOF && len(b) > 0: // the last line may lack its end
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, l.at(err)
	}
	l.next.Line++
	l.next.Byte += int64(len(b))
	return bytes.TrimSuffix(bytes.TrimSuffix(b, []byte{'\n'}), []byte{'\r'}), nil
}

// Next reads the next whole lines into the capacity of c.Data. It returns io.EOF after the last line. A read error is returned
// after the lines before it.
func (l *Lines) Next(c *format.Chunk) error {
	buf := slices.Grow(c.Data[:0], len(l.held))
	buf = buf[:cap(buf)]
	n, end := copy(buf, l.held), 0
	l.held = l.held[:0]
	for {
		for n < len(buf) && l.err == nil {
			var k int
			k, l.err = l.In.Read(buf[n:])
			n += k
		}
		end = n
		if l.err != io.EOF {
			// The bytes behind the last line end are no whole line, or may not be one.
			end = bytes.LastIndexByte(buf[:n], '\n') + 1
		}
		if end > 0 || l.err != nil || n >= l.Longest {
			break
		}
		longer := make([]byte, min(2*n, l.Longest))
		copy(longer, buf)
		buf = longer
	}
	if end == 0 {
		switch {
		case l.err == nil:
			return l.TooLong(buf)
		case l.err != io.EOF:
			return l.at(l.err)
		}
		return io.EOF
	}
	l.held = append(l.held, buf[end:n]...)
	c.Data, c.Begin = buf[:end], l.next
	l.next.Line += int64(bytes.Count(c.Data, []byte{'\n'}))
	l.next.Byte += int64(end)
	c.End = l.next
	return nil
}

func (l *Lines) Seek(p format.Position) error {
	err := l.In.Skip(p.Byte - l.next.Byte)
	l.next = p
	return l.at(err)
}

// at adds the line to an error of the input.
func (l *Lines) at(err error) error {
	if pe := (*format.ParseError)(nil); errors.As(err, &pe) {
		pe.Line = l.next.Line
	}
	return err
}

// TooLong returns the error for a line that begins with b.
func (l *Lines) TooLong(b []byte) error {
	remedy := ""
	if l.Longest > 0 {
		remedy = "; with more --memory lines may be longer, up to 64 MiB"
	}
	return &format.ParseError{File: l.In.Name, Line: l.next.Line, Text: Shorten(b),
		Err: fmt.Errorf("%w: more than %d bytes without a line end%s", ErrLineTooLong, len(b), remedy)}
}

// Each parses the lines of a chunk that are neither blank nor a comment, and refuses a line with an error. If comment is '\n',
// there are no comments.
func Each(c *format.Chunk, b *format.Batch, comment byte, parse func(l []byte, line int64) error) {
	for rest, line := c.Data, c.Begin.Line; len(rest) > 0; line++ {
		counts := Counts(rest, comment)
		var l []byte
		l, rest = CutLine(rest)
		b.Lines++
		if !counts {
			continue
		}
		b.Tally.Entries++
		if err := parse(l, line); err != nil && !b.Refuse(err) {
			return
		}
	}
}

// Locate returns the position of entry n of a chunk, by parsing line by line.
func Locate(c *format.Chunk, n int, parse func(*format.Chunk, *format.Batch) error) format.Position {
	var b format.Batch
	one := format.Chunk{Begin: c.Begin}
	for text := c.Data; len(text) > 0; text = text[len(one.Data):] {
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			one.Data = text[:i+1]
		} else {
			one.Data = text
		}
		b.Reset(1)
		if err := parse(&one, &b); err != nil || len(b.Val) > n {
			break
		}
		n -= len(b.Val)
		one.Begin.Line++
		one.Begin.Byte += int64(len(one.Data))
	}
	return one.Begin
}

// CutLine returns the first line of text, without its end, LF or CRLF, and the rest.
func CutLine(text []byte) (line, rest []byte) {
	i := bytes.IndexByte(text, '\n')
	if i < 0 {
		return bytes.TrimSuffix(text, []byte{'\r'}), nil
	}
	line, rest = text[:i], text[i+1:]
	if i > 0 && line[i-1] == '\r' {
		line = line[:i-1]
	}
	return line, rest
}

func Blank(l []byte) bool { return len(bytes.TrimLeft(l, " \t")) == 0 }

// Counted is a Lines that numbers the lines that count, each a matrix row or value.
type Counted struct {
	*Lines
	Comment byte  // first byte of a line that does not count
	Row     int64 // number of the next line that counts, from 0
}

// Next sets the number of the first line of the chunk, and of the line behind it.
func (l *Counted) Next(c *format.Chunk) error {
	if err := l.Lines.Next(c); err != nil {
		return err
	}
	c.Begin.Row = l.Row
	l.Row += CountLines(c.Data, l.Comment)
	c.End.Row = l.Row
	return nil
}

func (l *Counted) Seek(at format.Position) error {
	l.Row = at.Row
	return l.Lines.Seek(at)
}

func CountLines(text []byte, comment byte) (n int64) {
	for len(text) > 0 {
		if Counts(text, comment) {
			n++
		}
		_, text = CutLine(text)
	}
	return n
}

// Counts reports whether text begins with a line that is neither blank nor a comment. A comment begins with the byte comment,
// possibly behind blanks.
func Counts(text []byte, comment byte) bool {
	for i, c := range text {
		switch c {
		case ' ', '\t':
		case '\n', comment:
			return false
		case '\r':
			return i+1 < len(text) && text[i+1] != '\n'
		default:
			return true
		}
	}
	return false
}

const maxText = 60

func Shorten(b []byte) string {
	if len(b) <= maxText {
		return string(b)
	}
	return string(b[:maxText]) + "…"
}

// A Span is a field of a line: line[A:B]. Col is the byte at which the field begins in the line, from 0.
type Span struct{ A, B, Col int }

// SplitBlanks appends the fields of a line, which are separated by blanks and tabs, to spans.
func SplitBlanks(line []byte, spans []Span) []Span {
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		a := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		spans = append(spans, Span{a, i, a})
	}
	return spans
}

// Unquote appends the quoted field whose content begins at line[i] to out. It returns the index behind the closing quote, or
// −1 if there is none.
func Unquote(out, line []byte, i int) ([]byte, int) {
	for {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return out, -1
		}
		out = append(out, line[i:i+n]...)
		i += n + 1
		if i == len(line) || line[i] != '"' {
			return out, i
		}
		out = append(out, '"')
		i++
	}
}

// A Sample holds the first lines of a text, by which its layout is recognised.
type Sample struct {
	Before  int      // number of blank lines and comments before Lines
	Comment []byte   // the last comment before Lines
	Lines   [][]byte // lines that are not blank
	Long    []byte   // beginning of the first of Lines, if the head ends within it
}

const sampleLines = 50

// Take returns a sample of the beginning of a text. Before the first other line, a line that begins with "# " or "% ", or is
// only that sign, is a comment.
func Take(head []byte, whole bool) (s Sample) {
	for len(head) > 0 && len(s.Lines) < sampleLines {
		l, rest := CutLine(head)
		if rest == nil && !whole {
			if len(s.Lines) == 0 {
				s.Long = head
			}
			return s // perhaps an incomplete line
		}
		head = rest
		switch {
		case len(s.Lines) > 0 && Blank(l):
		case len(s.Lines) == 0 && Blank(l):
			s.Before++
		case len(s.Lines) == 0 && (l[0] == '#' || l[0] == '%') && (len(l) == 1 || l[1] == ' '):
			s.Before++
			s.Comment = bytes.Clone(l)
		default:
			s.Lines = append(s.Lines, bytes.Clone(l))
		}
	}
	return s
}

// FirstError returns the error with the smallest line; an error without a line comes first.
func FirstError(errs ...error) error {
	var first error
	var at int64
	for _, err := range errs {
		if err == nil {
			continue
		}
		line := int64(0)
		if pe := (*format.ParseError)(nil); errors.As(err, &pe) {
			line = pe.Line
		}
		if first == nil || line < at {
			first, at = err, line
		}
	}
	return first
}
