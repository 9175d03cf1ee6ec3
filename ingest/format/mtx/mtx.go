// Package mtx reads Matrix Market files, in the coordinate and in the array format.
//
// A matrix has its declared shape. Stored entries are kept even when their value is zero. A symmetric or skew-symmetric file is
// expanded; it may hold either triangle, but not entries of both. An array is dense, column after column; for a symmetric matrix
// it holds the lower triangle. Its zeros are left out. Integers beyond 2⁵³ are rounded to the nearest float64.
package mtx

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"sort"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

var Format = format.Format{Name: "mtx", Sniff: hasBanner, Open: open}

// bannerWord begins every Matrix Market file (R. F. Boisvert, R. Pozo, K. A.
// Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935, 1996).
const bannerWord = "%%MatrixMarket"

func hasBanner(h format.Head) bool {
	head := bytes.TrimPrefix(h.Bytes, []byte(text.BOM))
	return len(head) >= len(bannerWord) && strings.EqualFold(string(head[:len(bannerWord)]), bannerWord)
}

// A reader reads the coordinate and the array format. Comments and blank lines may stand anywhere below the banner. The
// standard allows only the lower triangle of a symmetric or skew-symmetric matrix; the reader accepts the upper one as well.
type reader struct {
	text.Counted // counts the values of an array
	rows, cols   int64
	entries      int64 // declared
	integer      bool
	pattern      bool
	symmetric    bool // symmetric or skew-symmetric
	skew         bool
	array        bool
}

func open(in *format.Input) (format.Reader, error) {
	lines, err := text.NewLines(in)
	if err != nil {
		return nil, err
	}
	p := &reader{Counted: text.Counted{Lines: lines, Comment: '%'}}
	const want = bannerWord + " matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric"
	l, err := p.ReadLine()
	if err != nil {
		return nil, err
	}
	if err := p.banner(string(l)); err != nil {
		p.Want = want
		return nil, p.Fail(1, -1, "", l, err)
	}
	for {
		line := p.Line()
		l, err := p.ReadLine()
		if err == io.EOF {
			return nil, &format.ParseError{File: p.In.Name, Line: line, Err: fmt.Errorf("%w: no size line", format.ErrTruncated), Want: p.sizes()}
		}
		if err != nil {
			return nil, err
		}
		if !text.Counts(l, '%') {
			continue
		}
		if err := p.size(l); err != nil {
			return nil, &format.ParseError{File: p.In.Name, Line: line, Text: text.Shorten(l), Err: err, Want: p.sizes()}
		}
		return p, nil
	}
}

// banner reads the first line; case does not matter.
func (p *reader) banner(l string) error {
	f := strings.Fields(strings.ToLower(l))
	if len(f) == 0 || f[0] != strings.ToLower(bannerWord) {
		return fmt.Errorf("%w: no Matrix Market banner", format.ErrHeader)
	}
	if len(f) != 5 {
		return fmt.Errorf("%w: %d words in the banner instead of 5", format.ErrHeader, len(f))
	}
	object, kind, field, symmetry := f[1], f[2], f[3], f[4]
	switch {
	case object == "vector":
		return fmt.Errorf("vector: %w", format.ErrUnsupported)
	case object != "matrix":
		return fmt.Errorf("%w: unknown object %q", format.ErrHeader, object)
	case kind != "coordinate" && kind != "array":
		return fmt.Errorf("%w: unknown format %q", format.ErrHeader, kind)
	case field == "complex":
		return fmt.Errorf("complex values: %w; take their real part or modulus", format.ErrUnsupported)
	case field != "real" && field != "double" && field != "integer" && field != "unsigned-integer" && field != "pattern":
		return fmt.Errorf("%w: unknown field %q", format.ErrHeader, field)
	case symmetry == "hermitian":
		return fmt.Errorf("hermitian symmetry: %w; it is of complex matrices", format.ErrUnsupported)
	case symmetry != "general" && symmetry != "symmetric" && symmetry != "skew-symmetric":
		return fmt.Errorf("%w: unknown symmetry %q", format.ErrHeader, symmetry)
	case field == "pattern" && kind == "array":
		return fmt.Errorf("%w: an array has values", format.ErrHeader)
	case field == "pattern" && symmetry == "skew-symmetric":
		return fmt.Errorf("%w: a pattern cannot be skew-symmetric", format.ErrHeader)
	}
	p.integer, p.pattern = strings.HasSuffix(field, "integer"), field == "pattern" // SciPy also writes unsigned-integer
	p.skew = symmetry == "skew-symmetric"
	p.symmetric = symmetry != "general"
	p.array = kind == "array"
	p.Want = "row column value"
	if p.array {
		p.Want = "value"
	}
	if p.pattern {
		p.Want = "row column"
	}
	return nil
}

func (p *reader) size(l []byte) error {
	f, sizes := text.SplitBlanks(l, nil), []*int64{&p.rows, &p.cols, &p.entries}
	if p.array {
		sizes = sizes[:2]
	}
	if len(f) != len(sizes) {
		return fmt.Errorf("%w: %d instead of %d", text.ErrFields, len(f), len(sizes))
	}
	for i, n := range sizes {
		word := l[f[i].A:f[i].B]
		v, ok := text.ParseIndex(word)
		if !ok {
			return fmt.Errorf("%q: %w", text.Shorten(word), format.ErrHeader)
		}
		*n = v
	}
	if p.symmetric && p.rows != p.cols {
		return fmt.Errorf("%w: a symmetric matrix must be square", format.ErrHeader)
	}
	if p.entries > 0 && (p.rows == 0 || p.cols == 0) {
		return fmt.Errorf("%w: entries in a matrix without any place", format.ErrHeader)
	}
	if p.array {
		if hi, lo := bits.Mul64(uint64(p.rows), uint64(p.cols)); hi != 0 || lo >= 1<<62 {
			return fmt.Errorf("%w: dimensions too large", format.ErrHeader)
		}
		p.entries = p.places()
	}
	return p.In.Declare(format.Shape{Rows: p.rows, Cols: p.cols})
}

func (p *reader) sizes() string {
	if p.array {
		return "rows columns"
	}
	return "rows columns entries"
}

func (p *reader) Next(c *format.Chunk) error {
	if p.array {
		return p.Counted.Next(c)
	}
	return p.Lines.Next(c)
}

// Parse reads whole lines. Values after the last element of an array are left to Check.
func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	var spans []text.Span
	k, i, j := c.Begin.Row, int64(0), int64(0)
	if p.array && k < p.entries {
		i, j = p.place(k)
	}
	text.Each(c, b, '%', func(l []byte, line int64) error {
		spans = text.SplitBlanks(l, spans[:0])
		if !p.array {
			return p.line(l, spans, line, b)
		}
		v, err := 0.0, error(nil)
		if len(spans) != 1 {
			err = p.Fail(line, -1, "", l, fmt.Errorf("%w: %d instead of 1", text.ErrFields, len(spans)))
		} else {
			v, err = p.value(l, line, spans[0])
		}
		if err == nil && v != 0 && k < p.entries {
			p.add(i, j, v, b)
		}
		k, i = k+1, i+1
		if i == p.rows {
			j++
			i = p.top(j)
		}
		return err
	})
	return nil
}

func (p *reader) line(l []byte, spans []text.Span, line int64, b *format.Batch) error {
	n := 3
	if p.pattern {
		n = 2
	}
	if len(spans) != n {
		return p.Fail(line, -1, "", l, fmt.Errorf("%w: %d instead of %d", text.ErrFields, len(spans), n))
	}
	i, err := p.index(l, line, spans[0], "row", p.rows)
	if err != nil {
		return err
	}
	j, err := p.index(l, line, spans[1], "column", p.cols)
	if err != nil {
		return err
	}
	v := 1.0
	if !p.pattern {
		if v, err = p.value(l, line, spans[2]); err != nil {
			return err
		}
	}
	if p.symmetric {
		if err := p.triangle(i, j, line, l, b); err != nil {
			return err
		}
	}
	p.add(i, j, v, b)
	return nil
}

func (p *reader) add(i, j int64, v float64, b *format.Batch) {
	b.Row.AddInt(i)
	b.Col.AddInt(j)
	b.AddValue(v)
	if p.symmetric && i != j {
		if p.skew {
			v = -v
		}
		b.Row.AddInt(j)
		b.Col.AddInt(i)
		b.AddValue(v)
	}
}

func (p *reader) value(l []byte, line int64, s text.Span) (v float64, err error) {
	if p.integer {
		v, err = text.ParseInteger(l[s.A:s.B])
	} else {
		v, err = text.ParseFloat(l[s.A:s.B])
	}
	if err != nil {
		err = p.Fail(line, s.Col, "value", l[s.A:s.B], err)
	}
	return v, err
}

// index reads a 1-based index and returns it from 0.
func (p *reader) index(l []byte, line int64, s text.Span, field string, n int64) (int64, error) {
	t := l[s.A:s.B]
	i, ok := text.ParseIndex(t)
	if !ok {
		digits := bytes.TrimLeft(t, "-")
		if len(digits) == len(t) || len(bytes.Trim(digits, "0123456789")) > 0 {
			return 0, p.Fail(line, s.Col, field, t, text.ErrInteger)
		}
		i = 0 // a negative number
	}
	if i < 1 || i > n {
		return 0, p.Fail(line, s.Col, field, t, fmt.Errorf("%w: 1 to %d", text.ErrIndex, n))
	}
	return i - 1, nil
}

// The kinds of entries of format.Tally.First.
const lower, upper = 0, 1

// triangle records on which side of the diagonal the entry is; Check compares across batches.
func (p *reader) triangle(i, j, line int64, l []byte, b *format.Batch) error {
	switch {
	case i == j && p.skew:
		return p.Fail(line, -1, "", l, fmt.Errorf("%w: a skew-symmetric matrix has no diagonal", text.ErrTriangle))
	case i > j && b.Tally.First[lower] == 0:
		b.Tally.First[lower] = line
	case i < j && b.Tally.First[upper] == 0:
		b.Tally.First[upper] = line
	}
	return nil
}

// Check compares all batches so far with the header: the triangle and the number of entries. It returns the error with the
// smallest line.
func (p *reader) Check(t format.Tally, c *format.Chunk, b *format.Batch) error {
	if c == nil {
		if t.Entries < p.entries {
			return &format.ParseError{File: p.In.Name, Line: p.Line(), Err: fmt.Errorf("%w: %d instead of the %d declared", format.ErrCount, t.Entries, p.entries)}
		}
		return nil
	}
	var over, both error
	if t.Entries > p.entries {
		line := lineOfEntry(c, b.Tally.Entries-(t.Entries-p.entries))
		over = &format.ParseError{File: p.In.Name, Line: line, Err: fmt.Errorf("%w: more than the %d declared", format.ErrCount, p.entries)}
	}
	if t.First[lower] > 0 && t.First[upper] > 0 {
		line, other := max(t.First[lower], t.First[upper]), min(t.First[lower], t.First[upper])
		both = &format.ParseError{File: p.In.Name, Line: line, Err: fmt.Errorf("%w: the entry at line %d is on the other side of the diagonal; a symmetric file holds one triangle", text.ErrTriangle, other)}
	}
	return text.FirstError(over, both)
}

func (p *reader) Symmetric() (mirrored, skew bool) { return p.symmetric, p.skew }

// Locate returns the line of an entry; a mirrored entry has the line of the stored one.
func (p *reader) Locate(c *format.Chunk, n int) format.Position {
	k := c.Begin.Row
	return text.Locate(c, n, func(one *format.Chunk, b *format.Batch) error {
		one.Begin.Row = k
		k += text.CountLines(one.Data, '%')
		return p.Parse(one, b)
	})
}

// lineOfEntry returns the line of entry n of a chunk, counted from 0.
func lineOfEntry(c *format.Chunk, n int64) (line int64) {
	text.Each(c, new(format.Batch), '%', func(_ []byte, at int64) error {
		line, n = at, n-1
		if n < 0 {
			return format.ErrCount // stops the loop
		}
		return nil
	})
	return line
}

// Describe returns the declared number of entries, which is not known for an array, because its zeros are left out.
func (p *reader) Describe() format.Description {
	d := format.Description{Entries: p.entries}
	switch {
	case p.skew:
		d.Notes = append(d.Notes, "skew-symmetric: the other triangle is added, negated")
	case p.symmetric:
		d.Notes = append(d.Notes, "symmetric: the other triangle is added")
	}
	if p.pattern {
		d.Notes = append(d.Notes, "a pattern: every entry is 1")
	}
	if p.array {
		d.Entries, d.Notes = 0, append(d.Notes, "a dense array: zeros are left out")
	}
	return d
}

// places returns the number of values of an array: one a line, column after column. A symmetric matrix has those of the lower
// triangle, a skew-symmetric one without the diagonal.
func (p *reader) places() int64 {
	switch {
	case p.skew:
		return p.rows * max(0, p.rows-1) / 2
	case p.symmetric:
		return p.rows * (p.rows + 1) / 2
	}
	return p.rows * p.cols
}

// top returns the first row of column j that has a value.
func (p *reader) top(j int64) int64 {
	switch {
	case p.skew:
		return j + 1
	case p.symmetric:
		return j
	}
	return 0
}

func (p *reader) place(k int64) (i, j int64) {
	if !p.symmetric {
		return k % p.rows, k / p.rows
	}
	j = int64(sort.Search(int(p.cols-1), func(j int) bool { return p.before(int64(j)+1) > k })) // the last column that begins at value k or before
	return p.top(j) + k - p.before(j), j
}

// before returns the number of values of a triangle before column j.
func (p *reader) before(j int64) int64 {
	n := p.rows
	if p.skew {
		n--
	}
	return j*n - j*(j-1)/2
}
