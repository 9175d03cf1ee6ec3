package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// open recognises the layout of a text by its first lines, and consumes leading comments and the header. If another text was
// read before, the layouts must agree, and a text without a header continues that of the earlier text.
func (o Options) open(in *format.Input) (format.Reader, error) {
	lines, sample, err := text.Begin(in, "one entry a line")
	if err != nil {
		return nil, err
	}
	p := &reader{Lines: lines, given: o, stamp: -1, time: -1, movieLens: in.Format == movieLens}
	for range sample.Before {
		if _, err := p.ReadLine(); err != nil {
			return nil, err
		}
	}
	line := p.Line()
	if err := p.recognise(sample, in); err != nil {
		e := &format.ParseError{File: p.In.Name, Line: line, Text: text.Shorten(sample.Lines[0]), Err: err}
		if errors.Is(err, text.ErrFields) {
			e.Want = p.Want
		}
		return nil, e
	}
	if p.header != nil {
		if _, err := p.ReadLine(); err != nil {
			return nil, err
		}
	}
	if !in.Chosen && p.sep.blanks && p.header == nil {
		p.before = sample.Before
		p.suspectSizeLine(sample.Lines[0])
	}
	if p.movieLens {
		in.Format = movieLens
	}
	return p, nil
}

func (p *reader) recognise(sample text.Sample, in *format.Input) (err error) {
	p.detected.sep, p.detected.header = p.given.Separator == "", p.given.Header == format.HeaderAuto
	if p.given.Separator != "" {
		p.sep = newSeparator(p.given.Separator)
	} else if p.sep, err = detectSeparator(sample.Lines, p.movieLens); err != nil {
		return err
	}
	if !in.Chosen && p.sep.text == "::" && bytes.Contains(sample.Lines[0], []byte("::")) && len(in.Columns) == 0 && p.given.Header == format.HeaderAuto {
		p.movieLens = true
	}
	t, err := p.newTable(sample.Lines, sample.Comment)
	if err != nil {
		return err
	}
	p.fields = len(t.first)
	prev, _ := in.Before.(*reader)
	return p.layOut(t, in, prev)
}

// suspectSizeLine keeps a first line that could hold the sizes of a matrix, for Check.
func (p *reader) suspectSizeLine(first []byte) {
	f := bytes.Fields(first)
	var size []int64
	for _, s := range f {
		if n, ok := text.ParseIndex(s); ok {
			size = append(size, n)
		}
	}
	if len(f) == 3 && len(size) == 3 {
		p.size, p.first = size, text.Shorten(first)
	}
}

// detectSeparator returns the first candidate that cuts all lines of the sample into the same number of fields; three or more
// fields are preferred to two. If there is no such candidate, the first line decides, and lines that do not fit are refused
// later. If commas, semicolons and bars cut equally well, those that make the third field a number are preferred; if several
// remain, the error is a format.AmbiguityError.
func detectSeparator(sample [][]byte, movieLens bool) (separator, error) {
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
		if movieLens && s.text == "," {
			break // the MovieLens data sets use no other separators
		}
	}
	if len(equal) < 2 {
		return best, nil
	}
	var viable []separator
	for _, s := range equal {
		p := &reader{sep: s}
		if t, err := p.newTable(sample, nil); err == nil && (len(t.first) == 2 || t.all(2, true, isNumber) || len(t.rest) == 0 && isNumber(t.first[2])) {
			viable = append(viable, s)
		}
	}
	switch len(viable) {
	case 0:
		return best, nil
	case 1:
		return viable[0], nil
	}
	e := &format.AmbiguityError{}
	for _, s := range viable {
		e.Readings = append(e.Readings, format.Reading{Text: "fields are separated by " + s.String(), Flag: "--sep '" + s.text + "'"})
	}
	return best, e
}

// fitting is the rank above which a separator cuts all lines into the same number of fields.
const fitting = 2

// rank returns 0 if s does not occur in the first line, 1 or 2 if it does (two fields, or more), and 2 more if all lines
// have the same number of fields, not counting lines with malformed quotes.
func (s separator) rank(sample [][]byte) int {
	var f fields
	first, least, most := 0, math.MaxInt, 0
	for i, l := range sample {
		_, _, err := s.split(l, &f)
		n := len(f.spans)
		if err != nil {
			n++ // a lower bound: the rest of the line is not cut
		} else {
			least = min(least, n)
		}
		if i == 0 {
			first = n
		}
		most = max(most, n)
	}
	switch {
	case first < 2:
		return 0
	case least >= most:
		return min(first, 3) - 1 + fitting
	}
	return min(first, 3) - 1
}

func (p *reader) cut(l []byte) ([]string, error) {
	var f fields
	base, _, err := p.sep.split(l, &f)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, s := range f.spans {
		field := string(base[s.A:s.B])
		if n := len(field); !p.sep.quotes && n > 1 && field[0] == '"' && field[n-1] == '"' && !isNumber(field) {
			field = field[1 : n-1] // quotes around names of columns; data keep their quotes
		}
		all = append(all, field)
	}
	return all, nil
}

func (p *reader) layOut(t *table, in *format.Input, prev *reader) error {
	p.Want = "two or more fields separated by " + p.sep.String()
	if p.movieLens {
		p.Want = p.sep.join([]string{"user", "item", "rating"}) + "[" + p.sep.join([]string{"", "timestamp"}) + "]"
	}
	switch {
	case p.movieLens && (p.fields < 3 || p.fields > 4):
		return fmt.Errorf("%w: %d instead of 3 or 4", text.ErrFields, p.fields)
	case p.fields < 2:
		return fmt.Errorf("%w: no separator found", text.ErrFields)
	}
	header, err := p.isHeader(t, in, prev)
	if err != nil {
		return err
	}
	if header {
		p.header = t.line
	}
	if err := p.columns(t, header, in, prev); err != nil {
		return err
	}
	p.name(t.first, header)
	return nil
}

func (p *reader) isHeader(t *table, in *format.Input, prev *reader) (bool, error) {
	switch {
	case p.given.Header != format.HeaderAuto:
		return p.given.Header == format.HeaderYes, nil
	case prev != nil && prev.header != nil && bytes.Equal(t.line, prev.header):
		return true, nil
	case roles.ByName(in.Columns):
		missing := func(name string) bool {
			_, err := roles.Find(name, t.first)
			return err != nil
		}
		return prev == nil || !slices.ContainsFunc(in.Columns, missing), nil
	}
	header, err := t.isHeader(roles.Known(t.first), p.sep.blanks)
	if prev != nil && err != nil && t.enumerated() {
		return false, nil // numbers count as column names only in a first input
	}
	return header, err
}

func (p *reader) columns(t *table, header bool, in *format.Input, prev *reader) error {
	names := t.first
	if !header && t.comment != nil && roles.Known(t.comment) {
		names = t.comment
	}
	named := (header || &names[0] != &t.first[0]) && (p.given.Header != format.HeaderYes || roles.Known(names))
	var err error
	switch {
	case len(in.Columns) > 0:
		p.roles, err = p.chosen(t, header, in, prev)
	case named:
		p.roles, err = roles.Assign(t.fieldsOf(names, header), in.Events)
	case prev != nil && p.fields != prev.fields:
		err = p.otherFields(prev)
	case prev != nil:
		p.roles = prev.roles
		err = p.roles.Explain(t.labels(header), "as in "+prev.In.Name)
		p.roles.Words, p.roles.Times = prev.roles.Words, prev.roles.Times
		if err == nil && !prev.dated && p.timed(t, header) {
			err = fmt.Errorf("%w: column %d holds dates or times here, and values in %s (--columns %s reads them as values)", text.ErrParts, p.roles.Value+1,
				prev.In.Name, roles.Numbered([]int{p.roles.Row, p.roles.Col, p.roles.Value}))
		}
	default:
		p.roles, err = t.positional(header, p.movieLens, in.Events)
	}
	if err == nil && prev != nil {
		err = p.agree(header, prev)
	}
	p.user, p.item, p.value = p.roles.Row, p.roles.Col, p.roles.Value
	if p.movieLens && p.fields == 4 {
		p.stamp = 3
		if p.value >= 0 {
			p.stamp = 6 - p.user - p.item - p.value // the remaining one of the columns 0 to 3
		}
	}
	if err == nil && in.Times {
		p.time = p.stamp
		if p.stamp < 0 || len(p.roles.Times) > 0 {
			p.time, err = p.roles.Time(t.labels(header))
		}
	}
	if err != nil {
		return err
	}
	p.truths = p.value >= 0 && t.all(p.value, header, func(s string) bool {
		_, ok := truth([]byte(s))
		return ok
	})
	p.dated = p.timed(t, header)
	p.integers = [2]bool{t.integers(p.user, header), t.integers(p.item, header)}
	return nil
}

func (p *reader) timed(t *table, header bool) bool {
	return p.roles.Value >= 0 && t.all(p.roles.Value, header, isTime)
}

func (p *reader) chosen(t *table, header bool, in *format.Input, prev *reader) (roles.Assignment, error) {
	if p.given.Header == format.HeaderNo && roles.ByName(in.Columns) {
		return roles.Assignment{}, fmt.Errorf("%w: columns %q are chosen by name, but there is to be no header", format.ErrHeader, strings.Join(in.Columns, ","))
	}
	names := t.first
	if !roles.ByName(in.Columns) {
		names = t.labels(header)
	}
	a, err := roles.Given(names, in.Columns)
	if err != nil && prev != nil && prev.fields == p.fields { // a part without header
		a = prev.roles
		err = a.Explain(t.labels(false), "as in "+prev.In.Name)
	}
	return a, err
}

// agree returns an error if an input and the one before it are not parts of one matrix. Ingest compares the roles of their columns.
func (p *reader) agree(header bool, prev *reader) error {
	r, before := &p.roles, &prev.roles
	switch {
	case (r.Value < 0) != (before.Value < 0):
		return nil // ingest reports it
	case header && prev.header == nil && r.Words != [3]string{} && before.Words == [3]string{} && [3]int{r.Row, r.Col, r.Value} != [3]int{before.Row, before.Col, before.Value}:
		return fmt.Errorf("%w: its header has the columns in another order than %s, which has no header (--columns with numbers says which they are)", text.ErrParts, prev.In.Name)
	case (!header || prev.header == nil) && p.fields != prev.fields:
		return p.otherFields(prev)
	}
	return nil
}

// otherFields returns the error for an input whose lines have another number of fields than those of the input before it.
func (p *reader) otherFields(prev *reader) error {
	return fmt.Errorf("%w: this part has %d fields, %s has %d", text.ErrParts, p.fields, prev.In.Name, prev.fields)
}

// name sets the names of the fields and the form of a line for messages.
func (p *reader) name(first []string, header bool) {
	p.names = [3]string{"user", "item", "rating"}
	if p.movieLens {
		return
	}
	all := slices.Repeat([]string{"…"}, p.fields)
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
	const most = 8 // columns shown in messages
	if len(all) > most {
		all = append(all[:most], "…")
	}
	p.Want = p.sep.join(all)
}
