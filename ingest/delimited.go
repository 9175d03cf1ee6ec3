package ingest

import (
	"errors"
	"fmt"
	"strings"
)

// A parser turns chunks of one input into batches. It is safe for concurrent
// use with distinct batches. It goes on after a bad line while the batch has
// no more than limit of them.
type parser interface {
	parse(c *chunk, b *batch, limit int64)
}

// delimited parses text of one entry a line.
type delimited struct {
	file              string
	sep               separator
	fields            int // in every line
	user, item, value int // their columns, from 0; value −1: every entry is 1
	stamp             int // a column that must be an integer, or −1
	names             [3]string
	want              string
	format            Format // MovieLens or Delimited
}

func (p *delimited) parse(c *chunk, b *batch, limit int64) {
	fast := p.fastLines()
	for text, line := c.data, c.firstLine; len(text) > 0; line++ {
		if fast {
			taken, n := p.fast(text, b)
			text = text[taken:]
			line, b.lines, b.entries = line+n, b.lines+n, b.entries+n
			if len(text) == 0 {
				return
			}
		}
		var l []byte
		l, text = cutLine(text)
		b.lines++
		if blank(l) {
			continue
		}
		b.entries++
		if err := p.line(l, line, b); err != nil && !b.addBad(err, limit) {
			return
		}
	}
}

// line appends the entry of one line to b, or nothing and tells why.
func (p *delimited) line(l []byte, line int64, b *batch) error {
	base, col, err := p.sep.split(l, b)
	if err != nil {
		return p.fail(line, col, "", l[col:], err)
	}
	if len(b.spans) != p.fields {
		return p.fail(line, -1, "", l, fmt.Errorf("%w: %d instead of %d", ErrFields, len(b.spans), p.fields))
	}
	user, item := b.spans[p.user], b.spans[p.item]
	if user.a == user.b {
		return p.fail(line, user.col, p.names[0], nil, ErrEmptyField)
	}
	if item.a == item.b {
		return p.fail(line, item.col, p.names[1], nil, ErrEmptyField)
	}
	v := 1.0
	if p.value >= 0 {
		s := b.spans[p.value]
		if s.a == s.b {
			return p.fail(line, s.col, p.names[2], nil, ErrEmptyField)
		}
		if v, err = parseFloat(base[s.a:s.b]); err != nil {
			return p.fail(line, s.col, p.names[2], base[s.a:s.b], err)
		}
	}
	if p.stamp >= 0 && p.stamp < len(b.spans) {
		s := b.spans[p.stamp]
		if _, ok := parseID(base[s.a:s.b]); !ok {
			return p.fail(line, s.col, "timestamp", base[s.a:s.b], ErrInteger)
		}
	}
	b.user.add(base[user.a:user.b])
	b.item.add(base[item.a:item.b])
	b.addValue(v)
	return nil
}

func (p *delimited) fail(line int64, col int, field string, text []byte, err error) error {
	return &ParseError{File: p.file, Line: line, Column: col + 1, Field: field, Text: shorten(text), Err: err, Want: p.want}
}

// sampleLines is how many lines the layout of an input is recognised by.
const sampleLines = 50

// newDelimited recognises the layout of a text by its first lines, and
// consumes leading comments and the header. prev is the layout of the input
// before, which a part without a header of its own continues.
func newDelimited(lr *lineReader, o Options, prev *delimited) (*delimited, error) {
	comments, sample, err := sampleOf(lr)
	if err != nil {
		return nil, err
	}
	for range comments {
		if _, err := lr.next(); err != nil {
			return nil, err
		}
	}
	if len(sample) == 0 {
		return nil, &ParseError{File: lr.in.name, Err: ErrEmpty, Want: "one entry a line"}
	}
	p := &delimited{file: lr.in.name, stamp: -1, format: Delimited}
	switch {
	case o.Separator != "":
		p.sep = newSeparator(o.Separator)
	case prev != nil:
		p.sep = prev.sep
	default:
		p.sep = detectSeparator(sample, o.Format)
	}
	if o.Format == Auto && p.sep.text == "::" && len(o.Columns) == 0 && o.Header == HeaderAuto {
		o.Format = MovieLens
	}
	if o.Format == MovieLens {
		p.format = MovieLens
	}
	if err := p.layOut(lr, sample, o, prev); err != nil {
		return nil, err
	}
	return p, nil
}

// sampleOf looks at the first lines without consuming them: comments is how
// many to skip before the sample, whose lines are not blank. A comment is a
// line that begins with "# " or "% ", or is just the sign, before any other.
func sampleOf(lr *lineReader) (comments int, sample [][]byte, err error) {
	head, complete, err := lr.peek() // an error will be met again, by then with its line known
	for len(head) > 0 && len(sample) < sampleLines {
		l, rest := cutLine(head)
		if rest == nil && !complete {
			if len(sample) == 0 && err == nil {
				err = lr.tooLong(head)
			}
			if len(sample) == 0 {
				return 0, nil, err
			}
			break // perhaps half a line
		}
		head = rest
		switch {
		case len(sample) > 0 && blank(l):
		case blank(l), isComment(l):
			if len(sample) == 0 {
				comments++
			} else {
				sample = append(sample, l)
			}
		default:
			sample = append(sample, l)
		}
	}
	return comments, sample, nil
}

func isComment(l []byte) bool {
	return (l[0] == '#' || l[0] == '%') && (len(l) == 1 || l[1] == ' ' || l[1] == '\t')
}

// detectSeparator takes the first candidate that cuts all lines of the sample
// into the same number of fields, three or more rather than two. If there is
// none, the first line decides, and a line that does not fit will be refused.
func detectSeparator(sample [][]byte, f Format) separator {
	best, bestRank := candidates[0], 0
	for _, s := range candidates {
		if r := s.rank(sample); r > bestRank {
			best, bestRank = s, r
		}
		if f == MovieLens && s.text == "," {
			break // the data sets use no others
		}
	}
	return best
}

// rank is 0 if s does not occur in the first line, 1 or 2 if it does (two
// fields, or more), and 2 higher if all lines have equally many fields.
func (s separator) rank(sample [][]byte) int {
	var b batch
	fields, same := 0, true
	for i, l := range sample {
		_, _, err := s.split(l, &b)
		if i == 0 {
			fields = len(b.spans)
		}
		same = same && err == nil && len(b.spans) == fields
	}
	switch {
	case fields < 2:
		return 0
	case same:
		return min(fields, 3) + 1
	}
	return min(fields, 3) - 1
}

// layOut finds the header and the columns, and consumes the header.
func (p *delimited) layOut(lr *lineReader, sample [][]byte, o Options, prev *delimited) error {
	first, err := p.cut(sample[0])
	if err != nil {
		return &ParseError{File: p.file, Line: lr.nextLine, Text: shorten(sample[0]), Err: err}
	}
	p.fields = len(first)
	if err := p.columns(first, o, prev); err != nil {
		return &ParseError{File: p.file, Line: lr.nextLine, Text: shorten(sample[0]), Err: err, Want: p.want}
	}
	header := p.isHeader(first, sample, o, prev)
	p.name(first, header, o)
	if header {
		if _, err := lr.next(); err != nil {
			return err
		}
	}
	return nil
}

// cut splits a line into copies of its fields.
func (p *delimited) cut(l []byte) ([]string, error) {
	var b batch
	base, _, err := p.sep.split(l, &b)
	if err != nil {
		return nil, err
	}
	var f []string
	for _, s := range b.spans {
		f = append(f, string(base[s.a:s.b]))
	}
	return f, nil
}

// columns decides which field is which.
func (p *delimited) columns(first []string, o Options, prev *delimited) error {
	p.user, p.item, p.value = 0, 1, -1
	p.want = "two or more fields separated by " + p.sep.String()
	if o.Format == MovieLens {
		p.want = p.sep.join([]string{"user", "item", "rating"}) + "[" + p.sep.join([]string{"", "timestamp"}) + "]"
	}
	switch {
	case o.Format == MovieLens && (p.fields < 3 || p.fields > 4):
		return fmt.Errorf("%w: %d instead of 3 or 4", ErrFields, p.fields)
	case p.fields < 2:
		return fmt.Errorf("%w: no separator found", ErrFields)
	case len(o.Columns) == 0:
		if p.fields > 2 {
			p.value = 2
		}
		return nil
	}
	cols := []*int{&p.user, &p.item, &p.value}
	old := []int{}
	if prev != nil && prev.fields == p.fields {
		old = []int{prev.user, prev.item, prev.value}
	}
	for i, name := range o.Columns {
		n, err := findColumn(name, first, o.Header)
		if err != nil && old != nil && len(old) > 0 {
			n, err = old[i], nil // a part without header
		}
		if err != nil {
			return err
		}
		*cols[i] = n
	}
	if p.user == p.item || p.user == p.value || p.item == p.value {
		return fmt.Errorf("%w: one column named twice", ErrHeader)
	}
	return nil
}

// findColumn finds a column by number from 1 or by name in the header.
func findColumn(name string, header []string, h Header) (int, error) {
	if n, ok := parseIndex([]byte(name)); ok {
		if n < 1 || n > int64(len(header)) {
			return 0, fmt.Errorf("%w: no column %d among %d", ErrFields, n, len(header))
		}
		return int(n) - 1, nil
	}
	if h == HeaderNo {
		return 0, fmt.Errorf("%w: column %q is chosen by name, but there is to be no header", ErrHeader, name)
	}
	for _, equal := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i, s := range header {
			if equal(s, name) {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: no column %q", ErrHeader, name)
}

// isHeader decides whether the first line holds names.
func (p *delimited) isHeader(first []string, sample [][]byte, o Options, prev *delimited) bool {
	switch {
	case o.Header == HeaderYes:
		return true
	case o.Header == HeaderNo:
		return false
	}
	for i, name := range o.Columns {
		if _, isNumber := parseIndex([]byte(name)); !isNumber {
			n := []int{p.user, p.item, p.value}[i]
			return prev == nil || strings.EqualFold(first[n], name)
		}
	}
	if isInteger(first[p.user]) || isInteger(first[p.item]) {
		return false
	}
	if p.value >= 0 {
		_, err := parseFloat([]byte(first[p.value]))
		return errors.Is(err, ErrNumber) && first[p.value] != ""
	}
	if len(sample) < 2 {
		return false
	}
	second, err := p.cut(sample[1])
	return err == nil && len(second) == p.fields && isInteger(second[p.user]) && isInteger(second[p.item])
}

func isInteger(s string) bool {
	_, ok := parseID([]byte(s))
	return ok
}

// name settles what messages call the fields and the form of a line.
func (p *delimited) name(first []string, header bool, o Options) {
	p.names = [3]string{"user", "item", "rating"}
	if o.Format == MovieLens {
		if p.fields == 4 {
			p.stamp = 3
		}
		return
	}
	all := make([]string, p.fields)
	for i := range all {
		all[i] = "…"
	}
	if header {
		copy(all, first)
	}
	for i, c := range []int{p.user, p.item, p.value} {
		switch {
		case c < 0:
		case header:
			p.names[i] = first[c]
		default:
			if i == 2 {
				p.names[i] = "value"
			}
			all[c] = p.names[i]
		}
	}
	const most = 8 // columns worth repeating
	if len(all) > most {
		all = append(all[:most], "…")
	}
	p.want = p.sep.join(all)
}
