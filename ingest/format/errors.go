package format

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gdsvd/gdsvd/internal/escape"
)

// Errors about inputs of any format. A ParseError wraps one of these, or an error of a format.
var (
	ErrNotFinite   = errors.New("not a finite number")
	ErrOverflow    = errors.New("too large for a float64")
	ErrCount       = errors.New("wrong number of entries")
	ErrTruncated   = errors.New("truncated")
	ErrCompression = errors.New("damaged compressed data")
	ErrEmpty       = errors.New("no entries")
	ErrHeader      = errors.New("malformed header")
	ErrNoTimes     = errors.New("no times can be read")
	ErrUnsupported = errors.New("not supported")
)

// ParseError says where and why an input cannot be read.
type ParseError struct {
	File   string // as given; "standard input" for "-"
	Line   int64  // from 1; 0 in binary input
	Byte   int64  // offset in the uncompressed binary input, or in its part; 0: not known
	Part   string // name of the part, if the input has several, such as an archive; may be empty
	Column int    // byte of the line at which the field begins, from 1; 0: the error is about the whole line
	Field  string // name of the field: "user", "item", "rating", "row", …; may be empty
	Text   string // the offending text, shortened; may be empty
	Err    error  // reason
	Want   string // the expected form; may be empty
}

// Error returns one line, whatever the input holds: "ratings.dat:1234:9: rating "abc": not a number; expected user::item::rating[::timestamp]".
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
	}
	switch {
	case e.Line == 0 && e.Byte > 0:
		b.WriteString(Position{Byte: e.Byte, Part: e.Part}.String())
	case e.Part != "":
		b.WriteString(", " + e.Part)
	}
	b.WriteString(": ")
	switch {
	case e.Field != "" && e.Text != "":
		fmt.Fprintf(&b, "%s %q: ", e.Field, e.Text)
	case e.Field != "":
		fmt.Fprintf(&b, "%s: ", e.Field)
	case e.Text != "":
		fmt.Fprintf(&b, "%q: ", e.Text)
	}
	b.WriteString(e.Err.Error())
	if e.Want != "" {
		b.WriteString("; expected ")
		b.WriteString(e.Want)
	}
	return escape.Line(b.String())
}

func (e *ParseError) Unwrap() error { return e.Err }

// AmbiguityError reports that an input can be read in several ways and does not say which one is meant.
type AmbiguityError struct{ Readings []Reading }

// A Reading is a way to read an input and the flag of gdsvd ingest that chooses it.
type Reading struct {
	Text string `json:"reading"` // what the input contains according to this reading
	Flag string `json:"flag"`    // flag of gdsvd ingest that chooses this reading
}

// Error returns one line: "ambiguous: the first line is the names of columns (--header yes), or it is an entry (--header no)".
func (e *AmbiguityError) Error() string {
	var b strings.Builder
	b.WriteString("ambiguous")
	for i, r := range e.Readings {
		sep := ", or "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s (%s)", sep, r.Text, r.Flag)
	}
	return b.String()
}
