// Package delimited reads text of one entry a line: a user, an item and perhaps a value; without values every entry is 1.
//
// All lines of an input have the same separator and as many fields as the first one. Values are numbers, or true and false.
// A line whose id is a text by which databases and pandas write an unknown id is a bad line. Blanks around fields are dropped.
// If the separator is one byte, or blanks, a field may be in double quotes (RFC 4180), but must not extend over a line end. Lines
// at the beginning of the input that start with "# " or "% " are comments.
//
// Input.Columns determines the roles of the columns, else the names in the header, in any order (package roles). Without a header
// the first three columns are user, item and value, and a fourth one is a time. A header that occurs again, as in concatenated
// files, is skipped. Times are read (format.ParseTime) if Input.Times asks for them, else ignored.
//
// The package does not guess whether a first line of texts above texts is a header, which of two columns is the value, or what
// more than three columns without names are. Such inputs are a format.AmbiguityError.
//
// Each input has its own separator and header. The inputs must agree on the names of their columns, if these have names, and on
// whether there are values. An input without a header has the columns of the input before it.
//
// Text separated by blanks is refused as a Matrix Market file without its banner if its first line gives the number of lines after
// it, unless the user has named the format.
package delimited

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Options are the options that the user has chosen for text; see ingest.Options.
type Options struct {
	Separator string
	Header    format.Header
}

// Format returns the format of text with one entry a line. It accepts any text that no other format has recognised.
func Format(o Options) format.Format {
	return format.Format{Name: "delimited", Sniff: func(format.Head) bool { return true }, Open: o.open, Timed: true}
}

// MovieLens returns the format of user, item, rating and an optional integer timestamp, separated by "::" (ratings.dat),
// tabs (u.data) or commas (ratings.csv, with a header).
func MovieLens(o Options) format.Format {
	return format.Format{Name: movieLens, Open: o.open, Timed: true}
}

const movieLens = "movielens"

type reader struct {
	*text.Lines
	given             Options
	sep               separator
	detected          struct{ sep, header bool } // sep and header are detected rather than given
	fields            int                        // number of fields of every line
	user, item, value int                        // columns, from 0; value −1: every entry is 1
	stamp             int                        // column whose fields must be integers, or −1
	time              int                        // a column of times to be read, or −1
	roles             roles.Assignment
	names             [3]string
	header            []byte // the line with the column names; nil: there is none
	movieLens         bool
	noVectors         bool    // fast lines are read in plain Go
	size              []int64 // sizes, if the input may be a Matrix Market file without its banner; see Check
	first             string  // the first line, which holds size
	before            int     // number of lines before first
	integers          [2]bool // the sample has only integers as users, as items
	truths            bool    // the sample has only true and false as values
	dated             bool    // the sample has only values that look like moments
}

func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	fast := p.fastLines()
	var f fields
	for rest, line := c.Data, c.Begin.Line; len(rest) > 0; line++ {
		if fast {
			taken, n := p.fast(rest, b)
			rest = rest[taken:]
			line, b.Lines, b.Tally.Entries = line+n, b.Lines+n, b.Tally.Entries+n
			if len(rest) == 0 {
				break
			}
		}
		var l []byte
		l, rest = text.CutLine(rest)
		b.Lines++
		if text.Blank(l) {
			continue
		}
		b.Tally.Entries++
		if err := p.line(l, &f, line, b); err != nil && !b.Refuse(err) {
			break
		}
	}
	return nil
}

func (p *reader) Locate(c *format.Chunk, n int) format.Position { return text.Locate(c, n, p.Parse) }

// Check returns an error for a Matrix Market file without its banner: a first line "rows columns entries" followed by
// that number of lines. Its lines are well-formed ratings, but the matrix would be another one.
func (p *reader) Check(t format.Tally, c *format.Chunk, _ *format.Batch) error {
	behind := t.Entries - 1
	if c != nil || p.size == nil || behind < 1 || behind != p.size[2] {
		return nil
	}
	return &format.ParseError{File: p.In.Name, Line: int64(1 + p.before), Text: p.first, Err: fmt.Errorf("%w: this looks like the size line of a Matrix Market file without its banner", format.ErrHeader),
		Want: "the banner, or the format named"}
}

// line appends the entry of one line to b, or returns an error.
func (p *reader) line(l []byte, f *fields, line int64, b *format.Batch) error {
	if l[0] == text.BOM[0] && bytes.HasPrefix(l, []byte(text.BOM)) {
		return p.Fail(line, -1, "", l, fmt.Errorf("%w: a byte order mark within the text", text.ErrJoined))
	}
	base, col, err := p.sep.split(l, f)
	if err != nil {
		return p.Fail(line, col, "", l[col:], err)
	}
	if len(f.spans) != p.fields {
		return p.Fail(line, -1, "", l, fmt.Errorf("%w: %d instead of %d", text.ErrFields, len(f.spans), p.fields))
	}
	user, item := f.spans[p.user], f.spans[p.item]
	if user.A == user.B {
		return p.Fail(line, user.Col, p.names[0], nil, text.ErrEmptyField)
	}
	if item.A == item.B {
		return p.Fail(line, item.Col, p.names[1], nil, text.ErrEmptyField)
	}
	v := 1.0
	if p.value >= 0 {
		s := f.spans[p.value]
		if s.A == s.B {
			return p.Fail(line, s.Col, p.names[2], nil, text.ErrEmptyField)
		}
		if v, err = text.ParseFloat(base[s.A:s.B]); err != nil {
			if bytes.Equal(l, p.header) {
				return nil // the header of a concatenated file
			}
			if number := strings.ReplaceAll(string(base[s.A:s.B]), ",", ""); len(number) < s.B-s.A && isNumber(number) {
				err = fmt.Errorf("%w: it has a decimal comma", err)
			}
			is, ok := truth(base[s.A:s.B])
			if !ok || !p.truths {
				return p.Fail(line, s.Col, p.names[2], base[s.A:s.B], err)
			}
			v = is
		}
	}
	if p.stamp >= 0 && p.stamp < len(f.spans) {
		s := f.spans[p.stamp]
		if _, ok := format.ParseID(base[s.A:s.B]); !ok {
			return p.Fail(line, s.Col, "timestamp", base[s.A:s.B], text.ErrInteger)
		}
	}
	var at format.Time
	if p.time >= 0 {
		s := f.spans[p.time]
		if at, err = format.ParseTime(base[s.A:s.B]); err != nil {
			if bytes.Equal(l, p.header) {
				return nil // as above
			}
			return p.Fail(line, s.Col, "time", base[s.A:s.B], err)
		}
	}
	userID, itemID := base[user.A:user.B], base[item.A:item.B]
	u, userInt := integer(&b.Row, userID)
	i, itemInt := integer(&b.Col, itemID)
	if !userInt && noID(userID, p.integers[0]) {
		return p.Fail(line, user.Col, p.names[0], userID, errNoID)
	}
	if !itemInt && noID(itemID, p.integers[1]) {
		return p.Fail(line, item.Col, p.names[1], itemID, errNoID)
	}
	if p.value < 0 && (!userInt && !b.Row.IsText || !itemInt && !b.Col.IsText || len(l) == len(p.header)) {
		if again, err := p.joined(l); again {
			return nil
		} else if err != nil {
			return p.Fail(line, -1, "", l, err)
		}
	}
	put(&b.Row, userID, u, userInt)
	put(&b.Col, itemID, i, itemInt)
	b.AddValue(v)
	if p.time >= 0 {
		b.Time = append(b.Time, at)
	}
	return nil
}

// integer parses an id if all keys so far are integers.
func integer(k *format.Keys, id []byte) (n int64, ok bool) {
	if k.IsText {
		return 0, false
	}
	return format.ParseID(id)
}

func put(k *format.Keys, id []byte, n int64, isInt bool) {
	if isInt {
		k.AddInt(n)
		return
	}
	k.AddText(id)
}

var errNoID = fmt.Errorf("%w: it stands for an id that is not known; leave such lines out first, or with --max-bad-lines", text.ErrEmptyField)

// noID reports whether a text stands for an unknown id. Words such as "null" do so only in a column whose other ids are
// integers.
func noID(s []byte, amongIntegers bool) bool {
	return (amongIntegers || s[0] == '\\' || s[0] == '<') && isNoID(s, amongIntegers) // a separate function, so that noID is inlined
}

func isNoID(s []byte, amongIntegers bool) bool {
	switch {
	case !amongIntegers:
		return string(s) == `\N` || string(s) == "<NA>"
	case len(s) > len("undefined"):
		return false
	}
	return isMissing(string(s)) || slices.Contains([]string{"nan", "<na>", "#n/a", "(null)", "undefined"}, strings.ToLower(string(s)))
}

func truth(s []byte) (v float64, ok bool) {
	if bytes.EqualFold(s, []byte("true")) {
		return 1, true
	}
	return 0, bytes.EqualFold(s, []byte("false"))
}

// joined looks for the header of another file that was concatenated: Parse calls it where ids change from integers to texts,
// and for lines as long as the header. again reports that the line is the header of this input; a header of two integers among
// integer ids is read as an entry. In files with values the check is not necessary: the name of the value column is not a number.
func (p *reader) joined(l []byte) (again bool, err error) {
	names, err := p.cut(l)
	if err != nil {
		return false, err
	}
	user, item := names[p.user], names[p.item]
	numbered := isInteger(user) && isInteger(item) && p.integers == [2]bool{true, true} // such a line may be an entry
	if bytes.Equal(l, p.header) && !numbered {
		return true, nil
	}
	if isInteger(user) || isInteger(item) {
		if numbers := numbersJoined(); p.detected.sep && (numbers.MatchString(user) || numbers.MatchString(item)) {
			return false, fmt.Errorf("%w: another separator", text.ErrJoined)
		}
		return false, nil
	}
	if p.detected.header && roles.Known(names) && !strings.ContainsAny(user+item, "0123456789") { // u_1 is an id
		return false, fmt.Errorf("%w: this line names columns (if it is an entry, give --header)", text.ErrJoined)
	}
	return false, nil
}

var numbersJoined = text.Pattern(`^[-0-9.]+[,;|\t][-0-9.,;|\t]+$`)
