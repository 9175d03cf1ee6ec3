// Package titles reads files of ids and their titles for people, such as movies.csv.
//
// The separator of fields is that of "::", tab, |, ; and comma which occurs in all of the first lines, and first in them. If
// the first line names a column of titles, it determines the column of ids and their side; else the first column is the id and
// the second the title.
package titles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// A Reader reads the titles of a file as format.IDs. A line of names is read as the title of an id that does not occur.
type Reader struct {
	// Role is Row or Col if the names of the columns tell the side of the ids, else None.
	Role roles.Role

	lines     *text.Lines
	sep       string
	id, title int
	close     func() error
	joined    []byte // a record of several lines, joined
	fields    [][]byte
}

// maxLines is the largest number of lines of a record: each further line has the whole record split again.
const maxLines = 1000

const want = "id and title, separated by a comma, semicolon, tab, | or ::"

// Open reads the layout of a file. The Reader closes the file, and so does Open if it fails.
func Open(in *format.Input, close func() error) (*Reader, error) {
	r := &Reader{close: close, title: 1}
	err := r.open(in)
	if err != nil {
		return nil, errors.Join(err, close())
	}
	return r, nil
}

func (r *Reader) open(in *format.Input) (err error) {
	var sample text.Sample
	if r.lines, sample, err = text.Begin(in, want); err != nil {
		return err
	}
	for _, sep := range []string{"::", "\t", "|", ";", ","} {
		if n := firstPlaces(sample.Lines, sep); n >= 0 && (r.sep == "" || n < firstPlaces(sample.Lines, r.sep)) {
			r.sep = sep
		}
	}
	if r.sep == "" {
		return &format.ParseError{File: in.Name, Line: int64(sample.Before) + 1, Text: text.Shorten(sample.Lines[0]), Err: fmt.Errorf("%w: one", text.ErrFields), Want: want}
	}
	var names []string
	first, _ := r.split(nil, sample.Lines[0])
	for _, f := range first {
		names = append(names, string(f))
	}
	r.columns(names)
	return nil
}

// firstPlaces returns the sum of the first places of a separator in the lines; −1: some line does not have it.
func firstPlaces(lines [][]byte, sep string) (sum int) {
	open := false // the line ends within quotes
	for _, l := range lines {
		goesOn := open
		if (sep == "," || sep == ";") && bytes.Count(l, []byte{'"'})%2 == 1 {
			open = !open
		}
		if goesOn {
			continue
		}
		from := 0
		if l[0] == '"' {
			from = 1 + max(0, bytes.IndexByte(l[1:], '"'))
		}
		i := bytes.Index(l[from:], []byte(sep))
		if i < 0 {
			return -1
		}
		sum += from + i
	}
	return sum
}

func (r *Reader) columns(names []string) {
	title := slices.IndexFunc(names, isTitle)
	if title < 0 {
		return
	}
	id := -1
	for i, n := range names {
		role := roles.Read(n).Role
		named := role == roles.Row || role == roles.Col
		if id >= 0 || isTitle(n) || !named && !strings.EqualFold(n, "id") {
			continue
		}
		if id = i; named {
			r.Role = role
		}
	}
	if id < 0 && title == 0 {
		id = 1
	}
	r.id, r.title = max(id, 0), title
}

func isTitle(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return !unicode.IsLetter(c) })
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.ContainsFunc([]string{"title", "name", "label", "titel", "titre", "titulo", "título", "nombre", "nom"}, func(w string) bool {
		return last == w || len(words) == 1 && len(w) > 3 && strings.HasSuffix(last, w)
	})
}

func (r *Reader) Next() (format.Label, error) {
	var label format.Label
	var line []byte
	for text.Blank(line) {
		var err error
		label = format.Label{File: r.lines.In.Name, Line: r.lines.Line()}
		if line, err = r.lines.ReadLine(); err != nil {
			return label, err
		}
	}
	begin := text.Shorten(line)
	fail := func(err error) error {
		return &format.ParseError{File: label.File, Line: label.Line, Text: begin, Err: err, Want: want}
	}
	fields, open := r.split(r.fields[:0], line)
	for joined := 1; open; joined++ { // the line ends within quotes
		r.joined = append(append(r.joined[:0:0], line...), ' ')
		more, err := r.lines.ReadLine()
		if err == io.EOF || joined == maxLines || len(r.joined)+len(more) > format.ChunkBytes {
			return label, fail(text.ErrQuote)
		}
		if err != nil {
			return label, err
		}
		line = append(r.joined, more...)
		fields, open = r.split(r.fields[:0], line)
	}
	r.fields = fields
	if n := max(r.id, r.title); len(fields) <= n {
		return label, fail(fmt.Errorf("%w: %d instead of %d", text.ErrFields, len(fields), n+1))
	}
	label.ID = fields[r.id]
	label.Title = utf(bytes.Trim(fields[r.title], " \t"))
	return label, nil
}

// split splits a line into fields. A quoted field is the text in the quotes, if a separator or the line end follows; other
// fields lose the blanks around them. If commas or semicolons separate, open reports quotes that are not closed.
func (r *Reader) split(fields [][]byte, line []byte) (_ [][]byte, open bool) {
	for {
		if len(line) > 0 && line[0] == '"' {
			field, i := text.Unquote(nil, line, 1)
			if i < 0 && (r.sep == "," || r.sep == ";") {
				return fields, true
			}
			if i == len(line) {
				return append(fields, field), false
			}
			if i > 0 && bytes.HasPrefix(line[i:], []byte(r.sep)) {
				fields, line = append(fields, field), line[i+len(r.sep):]
				continue
			}
		}
		field, rest, more := bytes.Cut(line, []byte(r.sep))
		fields = append(fields, bytes.Trim(field, " \t"))
		if !more {
			return fields, false
		}
		line = rest
	}
}

// utf returns a title in UTF-8; a title that is not valid UTF-8 is taken as ISO 8859-1.
func utf(title []byte) []byte {
	if utf8.Valid(title) {
		return title
	}
	runes := make([]rune, len(title))
	for i, c := range title {
		runes[i] = rune(c)
	}
	return []byte(string(runes))
}

func (r *Reader) Close() error { return r.close() }
