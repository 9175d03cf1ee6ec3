package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// sampleLines is how many lines the layout of an input is recognised by.
const sampleLines = 50

// newDelimited recognises the layout of a text by its first lines, and
// consumes leading comments and the header. prev is the layout of the input
// before, with which this one must agree, and which a part without a header continues.
func newDelimited(lr *lineReader, o Options, prev *delimited) (*delimited, error) {
	comments, last, sample, err := sampleOf(lr)
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
	p.detected.sep, p.detected.header = o.Separator == "", o.Header == HeaderAuto
	fail := func(err error) error {
		e := &ParseError{File: p.file, Line: lr.nextLine, Text: shorten(sample[0]), Err: err}
		if errors.Is(err, ErrFields) {
			e.Want = p.want
		}
		return e
	}
	if o.Format == Auto {
		if err := suspectText(sample); err != nil {
			return nil, fail(err)
		}
	}
	if o.Separator != "" {
		p.sep = newSeparator(o.Separator)
	} else if p.sep, err = detectSeparator(sample, o.Format); err != nil {
		return nil, fail(err)
	}
	if o.Format == Auto && p.sep.text == "::" && bytes.Contains(sample[0], []byte("::")) && len(o.Columns) == 0 && o.Header == HeaderAuto {
		o.Format = MovieLens
	}
	if o.Format == MovieLens {
		p.format = MovieLens
	}
	t, err := p.newTable(sample, last)
	if err == nil {
		p.fields = len(t.first)
		err = p.layOut(t, o, prev)
	}
	if err != nil {
		return nil, fail(err)
	}
	if p.header != nil {
		if _, err := lr.next(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// sampleOf looks at the first lines without consuming them: comments is how
// many to skip before the sample, whose lines are not blank, and last the last
// of them that is not blank. A comment is a line that begins with "# " or "% ",
// or is just the sign, before any other.
func sampleOf(lr *lineReader) (comments int, last []byte, sample [][]byte, err error) {
	head, complete, err := lr.peek() // an error will be met again, by then with its line known
	for len(head) > 0 && len(sample) < sampleLines {
		l, rest := cutLine(head)
		if rest == nil && !complete {
			if len(sample) == 0 && err == nil {
				err = lr.tooLong(head)
			}
			if len(sample) == 0 {
				return 0, nil, nil, err
			}
			break // perhaps half a line
		}
		head = rest
		switch {
		case len(sample) > 0 && blank(l):
		case len(sample) == 0 && blank(l):
			comments++
		case len(sample) == 0 && isComment(l):
			comments++
			last = bytes.Clone(l)
		default:
			sample = append(sample, bytes.Clone(l))
		}
	}
	return comments, last, sample, nil
}

func isComment(l []byte) bool {
	return (l[0] == '#' || l[0] == '%') && (len(l) == 1 || l[1] == ' ' || l[1] == '\t')
}

// detectSeparator takes the first candidate that cuts all lines of the sample
// into the same number of fields, three or more rather than two. If there is
// none, the first line decides, and a line that does not fit will be refused.
// Commas, semicolons and bars that cut equally well are told apart by the
// numbers of the third field; what they do not tell is an AmbiguityError.
func detectSeparator(sample [][]byte, f Format) (separator, error) {
	best, bestRank := candidates[0], 0
	var equal []separator
	for _, s := range candidates {
		r := s.rank(sample)
		if r > bestRank {
			best, bestRank, equal = s, r, nil
		}
		if r == bestRank && r > fitting && len(s.text) == 1 && s.text != "\t" && best.text != "\t" && best.text != "::" {
			equal = append(equal, s)
		}
		if f == MovieLens && s.text == "," {
			break // the data sets use no others
		}
	}
	if len(equal) < 2 {
		return best, nil
	}
	var viable []separator
	for _, s := range equal {
		p := &delimited{sep: s}
		if t, err := p.newTable(sample, nil); err == nil && (len(t.first) == 2 || t.numeric(2) || len(t.rest) == 0 && isNumber(t.first[2])) {
			viable = append(viable, s)
		}
	}
	switch len(viable) {
	case 0:
		return best, nil
	case 1:
		return viable[0], nil
	}
	e := &AmbiguityError{}
	for _, s := range viable {
		e.Readings = append(e.Readings, Reading{"fields are separated by " + s.String(), "--sep '" + s.text + "'"})
	}
	return best, e
}

// fitting is the rank above which a separator cuts all lines equally.
const fitting = 2

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
		return min(fields, 3) - 1 + fitting
	}
	return min(fields, 3) - 1
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
		field := string(base[s.a:s.b])
		if n := len(field); !p.sep.quotes && n > 1 && field[0] == '"' && field[n-1] == '"' && !isNumber(field) {
			field = field[1 : n-1] // names of columns only: data keep their quotes
		}
		f = append(f, field)
	}
	return f, nil
}

// layOut finds out whether there is a header, and which column is which.
func (p *delimited) layOut(t *table, o Options, prev *delimited) error {
	p.want = "two or more fields separated by " + p.sep.String()
	if o.Format == MovieLens {
		p.want = p.sep.join([]string{"user", "item", "rating"}) + "[" + p.sep.join([]string{"", "timestamp"}) + "]"
	}
	switch {
	case o.Format == MovieLens && (p.fields < 3 || p.fields > 4):
		return fmt.Errorf("%w: %d instead of 3 or 4", ErrFields, p.fields)
	case p.fields < 2:
		return fmt.Errorf("%w: no separator found", ErrFields)
	}
	header, err := p.isHeader(t, o, prev)
	if err != nil {
		return err
	}
	if header {
		p.header = t.line
	}
	if err := p.columns(t, header, o, prev); err != nil {
		return err
	}
	p.name(t.first, header, o)
	return nil
}

// isHeader decides whether the first line holds names.
func (p *delimited) isHeader(t *table, o Options, prev *delimited) (bool, error) {
	switch {
	case o.Header != HeaderAuto:
		return o.Header == HeaderYes, nil
	case prev != nil && prev.header != nil && bytes.Equal(t.line, prev.header):
		return true, nil
	case hasName(o.Columns) && prev == nil:
		return true, nil
	case hasName(o.Columns):
		for _, name := range o.Columns {
			if _, err := findColumn(name, t.first, HeaderYes); err != nil {
				return false, nil
			}
		}
		return true, nil
	}
	header, err := t.isHeader(knownNames(t.first), p.sep.blanks)
	if prev != nil && err != nil && t.enumerated() {
		return false, nil // numbers are names only where a first input begins with them
	}
	return header, err
}

// hasName tells whether a column is chosen by name.
func hasName(columns []string) bool {
	for _, name := range columns {
		if _, isNumber := parseIndex([]byte(name)); !isNumber {
			return true
		}
	}
	return false
}

// columns decides which field is which.
func (p *delimited) columns(t *table, header bool, o Options, prev *delimited) error {
	names := t.first
	if !header && t.comment != nil && knownNames(t.comment) {
		names = t.comment
	}
	named := (header || &names[0] != &t.first[0]) && (o.Header != HeaderYes || knownNames(names))
	var r columnRoles
	var err error
	switch {
	case len(o.Columns) > 0:
		r, err = p.given(t.first, o, prev)
	case named:
		if r, err = t.assign(names, header); err == nil {
			p.words = wordsOf(names, r)
		}
	case prev != nil:
		r = columnRoles{prev.user, prev.item, prev.value}
		p.words = prev.words
	default:
		r, err = t.positional(header, o.Format == MovieLens)
	}
	if err == nil && prev != nil {
		err = p.agree(r, header, prev)
	}
	p.user, p.item, p.value = r.user, r.item, r.value
	if o.Format == MovieLens && p.fields == 4 {
		p.stamp = 6 - p.user - p.item - max(p.value, 0) // the one left, of 0 to 3
	}
	return err
}

// given are the columns the options choose.
func (p *delimited) given(first []string, o Options, prev *delimited) (columnRoles, error) {
	r := columnRoles{0, 1, -1}
	cols := []*int{&r.user, &r.item, &r.value}
	for i, name := range o.Columns {
		n, err := findColumn(name, first, o.Header)
		if err != nil && prev != nil && prev.fields == p.fields {
			n, err = []int{prev.user, prev.item, prev.value}[i], nil // a part without header
		}
		if err != nil {
			return r, err
		}
		*cols[i] = n
	}
	if r.user == r.item || r.user == r.value || r.item == r.value {
		return r, fmt.Errorf("%w: one column named twice", ErrHeader)
	}
	return r, nil
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

// wordsOf are the words that name the columns.
func wordsOf(names []string, r columnRoles) (words [3]string) {
	all := readNames(names)
	for i, c := range []int{r.user, r.item, r.value} {
		if c >= 0 {
			words[i] = all[c].word
		}
	}
	return words
}

// agree tells where an input and the one before it are not parts of one matrix.
func (p *delimited) agree(r columnRoles, header bool, prev *delimited) error {
	switch {
	case (r.value < 0) != (prev.value < 0):
		with := map[bool]string{true: "values", false: "no values"}
		return fmt.Errorf("%w: this part has %s, %s has %s", ErrParts, with[r.value >= 0], prev.file, with[prev.value >= 0])
	case header && prev.header == nil && p.words != [3]string{} && prev.words == [3]string{} && r != (columnRoles{prev.user, prev.item, prev.value}):
		return fmt.Errorf("%w: its header has the columns in another order than %s, which has no header (--columns with numbers says which they are)", ErrParts, prev.file)
	case (!header || prev.header == nil) && p.fields != prev.fields:
		return fmt.Errorf("%w: this part has %d fields, %s has %d", ErrParts, p.fields, prev.file, prev.fields)
	}
	for i, what := range []string{"user", "item", "value"} {
		if a, b := p.words[i], prev.words[i]; a != "" && b != "" && a != b {
			return fmt.Errorf("%w: the %s is %q here and %q in %s (--columns with numbers says which it is)", ErrParts, what, a, b, prev.file)
		}
	}
	return nil
}

// name settles what messages call the fields and the form of a line.
func (p *delimited) name(first []string, header bool, o Options) {
	p.names = [3]string{"user", "item", "rating"}
	if o.Format == MovieLens {
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
