package delimited

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

type separator struct {
	text   string // "::", ",", …; unused for blanks
	blanks bool   // any run of blanks and tabs
	quotes bool   // a field may be in double quotes
}

// candidates are the separators that are tried, in this order.
var candidates = []separator{
	newSeparator("::"), newSeparator("\t"), newSeparator(","), newSeparator(";"), newSeparator("|"), newSeparator(" "),
}

func newSeparator(s string) separator {
	if strings.Trim(s, " ") == "" {
		return separator{blanks: true}
	}
	return separator{text: s, quotes: len(s) == 1}
}

func (s separator) String() string {
	names := map[string]string{" ": "blanks", `\t`: "tabs", ",": "commas", ";": "semicolons"}
	return cmp.Or(names[s.flag()], `"`+s.text+`"`)
}

func (s separator) join(names []string) string {
	return strings.Join(names, strings.ReplaceAll(s.flag(), `\t`, "<tab>"))
}

// fields are the fields of one line. Their memory is reused for the next line.
type fields struct {
	spans    []text.Span
	unquoted []byte
}

// split puts the fields of a line into f and returns the bytes to which the spans refer: the line, or a copy without quotes.
// The error is text.ErrQuote at the returned column.
func (s separator) split(line []byte, f *fields) (base []byte, col int, err error) {
	f.spans = f.spans[:0]
	switch {
	case s.blanks:
		return splitBlanks(line, f)
	case s.quotes && bytes.IndexByte(line, '"') >= 0:
		return s.splitQuoted(line, f)
	default:
		f.spans = splitText(line, []byte(s.text), f.spans)
	}
	return line, 0, nil
}

// splitBlanks splits at blanks, except for those in quoted fields. A quote without a closing one is an ordinary byte.
func splitBlanks(line []byte, f *fields) (base []byte, col int, err error) {
	f.spans = text.SplitBlanks(line, f.spans)
	if bytes.IndexByte(line, '"') < 0 {
		return line, 0, nil
	}
	words, end := f.spans, 0
	f.spans, base = f.spans[:0], append(f.unquoted[:0], line...)
	for _, w := range words {
		if w.A < end {
			continue
		}
		if line[w.A] == '"' {
			long, i := text.Unquote(base, line, w.A+1)
			switch {
			case i > 0 && i < len(line) && !text.Blank(line[i:i+1]):
				return line, w.A, text.ErrQuote
			case i > 0:
				w.A, w.B, base, end = len(base), len(long), long, i
			}
		}
		f.spans = append(f.spans, w)
	}
	f.unquoted = base
	return base, 0, nil
}

func splitText(line, sep []byte, spans []text.Span) []text.Span {
	a := 0
	for {
		n := bytes.Index(line[a:], sep)
		if n < 0 {
			return append(spans, trimSpan(line, a, len(line)))
		}
		spans = append(spans, trimSpan(line, a, a+n))
		a += n + len(sep)
	}
}

func trimSpan(line []byte, a, b int) text.Span {
	for a < b && (line[a] == ' ' || line[a] == '\t') {
		a++
	}
	for a < b && (line[b-1] == ' ' || line[b-1] == '\t') {
		b--
	}
	return text.Span{A: a, B: b, Col: a}
}

// splitQuoted splits a line that contains a double quote. A field that begins with a quote ends at the next single quote, and
// a pair of quotes in it stands for one (RFC 4180); a quote elsewhere is an ordinary byte. A quoted field cannot extend over
// a line end.
func (s separator) splitQuoted(line []byte, f *fields) (base []byte, col int, err error) {
	sep := s.text[0]
	out := f.unquoted[:0]
	for i := 0; ; i++ { // i is at the first byte of a field
		for i < len(line) && line[i] == ' ' {
			i++
		}
		start, a := i, len(out)
		if i < len(line) && line[i] == '"' {
			out, i = text.Unquote(out, line, i+1)
			if i < 0 {
				return line, start, text.ErrQuote
			}
			for i < len(line) && line[i] == ' ' {
				i++
			}
			if i < len(line) && line[i] != sep {
				return line, start, text.ErrQuote
			}
			f.spans = append(f.spans, text.Span{A: a, B: len(out), Col: start})
		} else {
			n := bytes.IndexByte(line[i:], sep)
			if n < 0 {
				n = len(line) - i
			}
			out = append(out, line[i:i+n]...)
			sp := trimSpan(out, a, len(out))
			f.spans = append(f.spans, text.Span{A: sp.A, B: sp.B, Col: start + sp.A - a})
			i += n
		}
		if i >= len(line) {
			f.unquoted = out
			return out, 0, nil
		}
	}
}

// Describe returns the separator, whether there is a header, and the roles of the columns.
func (p *reader) Describe() format.Description {
	d := p.roles.Describe(p.header != nil, p.time)
	d.Separator, d.Header = p.sep.String(), format.HeaderNo
	if p.header != nil {
		d.Header = format.HeaderYes
	}
	d.Flags = append([]format.Flag{{Name: "sep", Value: p.sep.flag()}, {Name: "header", Value: d.Header.String()}}, d.Flags...)
	return d
}

func (s separator) flag() string {
	if s.blanks {
		return " "
	}
	return strings.ReplaceAll(s.text, "\t", `\t`)
}
