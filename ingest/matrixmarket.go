package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// mmBanner begins every Matrix Market file (R. F. Boisvert, R. Pozo, K. A.
// Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935, 1996).
const mmBanner = "%%MatrixMarket"

func hasBanner(head []byte) bool {
	return len(head) >= len(mmBanner) && strings.EqualFold(string(head[:len(mmBanner)]), mmBanner)
}

// matrixMarket parses the coordinate format. Comments and blank lines may
// stand anywhere below the banner. Stored entries, explicit zeros
// included, are kept; the other triangle of a symmetric or skew-symmetric
// matrix is added. Such a file may hold the lower or, against the letter of the
// standard, the upper triangle, but not entries of both.
type matrixMarket struct {
	file       string
	rows, cols int64
	entries    int64 // declared
	integer    bool
	pattern    bool
	symmetric  bool // or skew
	skew       bool
	want       string
	pack       keyPacker
}

// newMatrixMarket reads the banner and the size line.
func newMatrixMarket(lr *lineReader, o Orientation) (*matrixMarket, error) {
	p := &matrixMarket{file: lr.in.name}
	const want = mmBanner + " matrix coordinate real|integer|pattern general|symmetric|skew-symmetric"
	l, err := lr.next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	if err := p.banner(string(l)); err != nil {
		return nil, &ParseError{File: p.file, Line: 1, Text: shorten(l), Err: err, Want: want}
	}
	for {
		line := lr.nextLine
		l, err := lr.next()
		if err == io.EOF {
			return nil, &ParseError{File: p.file, Line: line, Err: fmt.Errorf("%w: no size line", ErrTruncated), Want: "rows columns entries"}
		}
		if err != nil {
			return nil, err
		}
		if blank(l) || l[0] == '%' {
			continue
		}
		if err := p.size(l, o); err != nil {
			return nil, &ParseError{File: p.file, Line: line, Text: shorten(l), Err: err, Want: "rows columns entries"}
		}
		return p, nil
	}
}

// banner reads the first line; case does not matter.
func (p *matrixMarket) banner(l string) error {
	f := strings.Fields(strings.ToLower(l))
	if len(f) == 0 || f[0] != strings.ToLower(mmBanner) {
		return fmt.Errorf("%w: no Matrix Market banner", ErrHeader)
	}
	if len(f) != 5 {
		return fmt.Errorf("%w: %d words in the banner instead of 5", ErrHeader, len(f))
	}
	object, format, field, symmetry := f[1], f[2], f[3], f[4]
	switch {
	case object == "vector":
		return fmt.Errorf("vector: %w", ErrUnsupported)
	case object != "matrix":
		return fmt.Errorf("%w: unknown object %q", ErrHeader, object)
	case format == "array":
		return fmt.Errorf("dense array: %w", ErrUnsupported)
	case format != "coordinate":
		return fmt.Errorf("%w: unknown format %q", ErrHeader, format)
	case field == "complex":
		return fmt.Errorf("complex values: %w", ErrUnsupported)
	case field != "real" && field != "double" && field != "integer" && field != "pattern":
		return fmt.Errorf("%w: unknown field %q", ErrHeader, field)
	case symmetry == "hermitian":
		return fmt.Errorf("hermitian symmetry: %w", ErrUnsupported)
	case symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric":
		return fmt.Errorf("%w: unknown symmetry %q", ErrHeader, symmetry)
	case field == "pattern" && symmetry == "skew-symmetric":
		return fmt.Errorf("%w: a pattern cannot be skew-symmetric", ErrHeader)
	}
	p.integer, p.pattern = field == "integer", field == "pattern"
	p.skew = symmetry == "skew-symmetric"
	p.symmetric = symmetry != "general"
	p.want = "row column value"
	if p.pattern {
		p.want = "row column"
	}
	return nil
}

func (p *matrixMarket) size(l []byte, o Orientation) error {
	f := bytes.Fields(l)
	if len(f) != 3 {
		return fmt.Errorf("%w: %d instead of 3", ErrFields, len(f))
	}
	for i, n := range []*int64{&p.rows, &p.cols, &p.entries} {
		v, ok := parseIndex(f[i])
		if !ok {
			return fmt.Errorf("%q: %w", shorten(f[i]), ErrHeader)
		}
		*n = v
	}
	if p.symmetric && p.rows != p.cols {
		return fmt.Errorf("%w: a symmetric matrix must be square", ErrHeader)
	}
	if p.entries > 0 && (p.rows == 0 || p.cols == 0) {
		return fmt.Errorf("%w: entries in a matrix without any place", ErrHeader)
	}
	var err error
	p.pack, err = newKeyPacker(p.rows, p.cols, o)
	return err
}

func (p *matrixMarket) parse(c *chunk, b *batch, limit int64) {
	for text, line := c.data, c.firstLine; len(text) > 0; line++ {
		var l []byte
		l, text = cutLine(text)
		b.lines++
		if len(l) == 0 || l[0] == '%' || blank(l) {
			continue
		}
		b.entries++
		if err := p.line(l, line, b); err != nil && !b.addBad(err, limit) {
			return
		}
	}
}

func (p *matrixMarket) line(l []byte, line int64, b *batch) error {
	b.spans = splitBlanks(l, b.spans[:0])
	n := 3
	if p.pattern {
		n = 2
	}
	if len(b.spans) != n {
		return p.fail(line, -1, "", l, fmt.Errorf("%w: %d instead of %d", ErrFields, len(b.spans), n))
	}
	i, err := p.index(l, line, b.spans[0], "row", p.rows)
	if err != nil {
		return err
	}
	j, err := p.index(l, line, b.spans[1], "column", p.cols)
	if err != nil {
		return err
	}
	v := 1.0
	if !p.pattern {
		s := b.spans[2]
		if p.integer {
			v, err = parseInteger(l[s.a:s.b])
		} else {
			v, err = parseFloat(l[s.a:s.b])
		}
		if err != nil {
			return p.fail(line, s.col, "value", l[s.a:s.b], err)
		}
	}
	if p.symmetric {
		if err := p.triangle(i, j, line, l, b); err != nil {
			return err
		}
	}
	b.keys = append(b.keys, p.pack.key(i, j))
	b.addValue(v)
	if p.symmetric && i != j {
		if p.skew {
			v = -v
		}
		b.keys = append(b.keys, p.pack.key(j, i))
		b.addValue(v)
	}
	return nil
}

// index reads a 1-based index and returns it from 0.
func (p *matrixMarket) index(l []byte, line int64, s span, field string, n int64) (int64, error) {
	t := l[s.a:s.b]
	i, ok := parseIndex(t)
	if !ok {
		digits := bytes.TrimLeft(t, "-")
		if len(digits) == len(t) || len(bytes.Trim(digits, "0123456789")) > 0 {
			return 0, p.fail(line, s.col, field, t, ErrInteger)
		}
		i = 0 // a negative number
	}
	if i < 1 || i > n {
		return 0, p.fail(line, s.col, field, t, fmt.Errorf("%w: 1 to %d", ErrIndex, n))
	}
	return i - 1, nil
}

// triangle notes on which side of the diagonal the entry is; check compares
// across batches.
func (p *matrixMarket) triangle(i, j, line int64, l []byte, b *batch) error {
	switch {
	case i == j && p.skew:
		return p.fail(line, -1, "", l, fmt.Errorf("%w: a skew-symmetric matrix has no diagonal", ErrTriangle))
	case i > j && b.lower == 0:
		b.lower = line
	case i < j && b.upper == 0:
		b.upper = line
	}
	return nil
}

func (p *matrixMarket) fail(line int64, col int, field string, text []byte, err error) error {
	return &ParseError{File: p.file, Line: line, Column: col + 1, Field: field, Text: shorten(text), Err: err, Want: p.want}
}

// mmCheck holds what is true only of all batches together: the triangle and
// the number of entries. It sees the batches in input order.
type mmCheck struct {
	p     *matrixMarket
	tally *tally
}

// batch returns the error of the smallest line beyond the batch's own, if any.
func (m *mmCheck) batch(c *chunk, b *batch) error {
	if m.tally.Lower == 0 {
		m.tally.Lower = b.lower
	}
	if m.tally.Upper == 0 {
		m.tally.Upper = b.upper
	}
	var over, both error
	m.tally.Entries += b.entries
	if m.tally.Entries > m.p.entries {
		line := lineOfEntry(c, b.entries-(m.tally.Entries-m.p.entries))
		over = &ParseError{File: m.p.file, Line: line, Err: fmt.Errorf("%w: more than the %d declared", ErrCount, m.p.entries)}
	}
	if m.tally.Lower > 0 && m.tally.Upper > 0 {
		line, other := max(m.tally.Lower, m.tally.Upper), min(m.tally.Lower, m.tally.Upper)
		both = &ParseError{File: m.p.file, Line: line, Err: fmt.Errorf("%w: the entry at line %d is on the other side of the diagonal; a symmetric file holds one triangle", ErrTriangle, other)}
	}
	return firstError(over, both)
}

func (m *mmCheck) end(line int64) error {
	if m.tally.Entries < m.p.entries {
		return &ParseError{File: m.p.file, Line: line, Err: fmt.Errorf("%w: %d instead of the %d declared", ErrCount, m.tally.Entries, m.p.entries)}
	}
	return nil
}

// lineOfEntry is the line of entry n of a chunk, counted from 0.
func lineOfEntry(c *chunk, n int64) int64 {
	line := c.firstLine
	for text := c.data; len(text) > 0; line++ {
		var l []byte
		l, text = cutLine(text)
		if blank(l) || l[0] == '%' {
			continue
		}
		if n == 0 {
			break
		}
		n--
	}
	return line
}

// firstError is the error of the smaller line.
func firstError(errs ...error) error {
	var first error
	var at int64
	for _, err := range errs {
		if pe := (*ParseError)(nil); errors.As(err, &pe) && (first == nil || pe.Line < at) {
			first, at = err, pe.Line
		}
	}
	return first
}
