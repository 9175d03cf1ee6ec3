package ingest

import (
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with an input; a ParseError wraps one of these.
var (
	ErrNumber      = errors.New("not a number")
	ErrInteger     = errors.New("not an integer")
	ErrNotFinite   = errors.New("not a finite number")
	ErrOverflow    = errors.New("too large for a float64")
	ErrFields      = errors.New("wrong number of fields")
	ErrEmptyField  = errors.New("empty field")
	ErrQuote       = errors.New("malformed quoted field")
	ErrIndex       = errors.New("index outside the declared shape")
	ErrTriangle    = errors.New("entry in the wrong triangle")
	ErrCount       = errors.New("wrong number of entries")
	ErrLineTooLong = errors.New("line too long")
	ErrTruncated   = errors.New("truncated")
	ErrCompression = errors.New("damaged compressed data")
	ErrEmpty       = errors.New("no entries")
	ErrHeader      = errors.New("malformed header")
	ErrUnsupported = errors.New("not supported")
	ErrAmbiguous   = errors.New("ambiguous")
	ErrParts       = errors.New("not a part of the same matrix")
	ErrJoined      = errors.New("another file begins here")
)

// ParseError says where and why an input cannot be read.
type ParseError struct {
	File   string // as given; "standard input" for "-"
	Line   int64  // from 1; 0 in binary input
	Column int    // byte of the line at which the field begins, from 1; 0 when the whole line is meant
	Field  string // name of the field: "user", "item", "rating", "row", …; may be empty
	Text   string // the offending text, shortened; may be empty
	Err    error  // what is wrong; wraps one of the package's Err variables
	Want   string // the expected form; may be empty
}

// Error is one line: "ratings.dat:1234:9: rating "abc": not a number; expected user::item::rating[::timestamp]".
func (e *ParseError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
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
	return b.String()
}

func (e *ParseError) Unwrap() error { return e.Err }

// maxText is how much of an offending text an error repeats.
const maxText = 60

func shorten(b []byte) string {
	if len(b) <= maxText {
		return string(b)
	}
	return string(b[:maxText]) + "…"
}

// AmbiguityError tells that an input can be read in several ways, and that
// nothing in it says which is meant. It wraps ErrAmbiguous.
type AmbiguityError struct{ Readings []Reading }

// A Reading is a way to read an input and the flag of gdsvd ingest, after an
// option of the same name, that chooses it.
type Reading struct{ Text, Flag string }

// Error is one line: "ambiguous: the first line is the names of columns (--header yes), or it is an entry (--header no)".
func (e *AmbiguityError) Error() string {
	var b strings.Builder
	b.WriteString(ErrAmbiguous.Error())
	for i, r := range e.Readings {
		sep := ", or "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s (%s)", sep, r.Text, r.Flag)
	}
	return b.String()
}

func (e *AmbiguityError) Unwrap() error { return ErrAmbiguous }

// DuplicateError reports two entries at one place under DuplicatesError.
type DuplicateError struct {
	Row, Col              string // ids of the place in the user's matrix; 1-based indices where there are no ids
	FirstFile, SecondFile string // empty when they are not known (standard input cannot be read again)
	FirstLine, SecondLine int64
	Count, Entries        int64 // how many entries there are, of all, at a place that has one before
}

func (e *DuplicateError) Error() string {
	repeat := "entries repeat"
	if e.Count == 1 {
		repeat = "entry repeats"
	}
	advice := fmt.Sprintf("%d %s a place, of %d; --duplicates sum adds them up (or: mean, first, last, max)", e.Count, repeat, e.Entries)
	place := fmt.Sprintf("row %s, column %s: more than one entry", e.Row, e.Col)
	switch {
	case e.FirstFile == "":
		return place + "; " + advice
	case e.FirstFile == e.SecondFile && e.FirstLine == e.SecondLine:
		return fmt.Sprintf("%s:%d: %s; %s", e.FirstFile, e.FirstLine, place, advice)
	}
	return fmt.Sprintf("%s:%d: %s (the first is at %s:%d); %s",
		e.SecondFile, e.SecondLine, place, e.FirstFile, e.FirstLine, advice)
}

// MemoryError refuses an ingest that cannot stay within Options.Memory.
type MemoryError struct {
	Need, Budget int64  // bytes
	What         string // what needs it
}

func (e *MemoryError) Error() string {
	const mib = 1 << 20
	return fmt.Sprintf("memory budget of %d MiB is too small: %s; about %d MiB are needed",
		e.Budget/mib, e.What, (e.Need+mib-1)/mib)
}
