// Package jsonlines reads text of one JSON object a line, each an entry: {"user": 1, "item": "x", "rating": 4.5}.
//
// Input.Columns determines the keys of user, item and value, else their names (package roles) in the first lines; without a
// value every entry is 1. Ids are texts, or numbers that are integers; values are numbers, texts of numbers, or true and false.
// Times are read if Input.Times asks for them: numbers or texts that format.ParseTime reads. A line in which one of the keys is
// missing, occurs twice, or has null or a nested value is a bad line. Other keys may have any value.
package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

var Format = format.Format{Name: "jsonl", Sniff: sniff, Open: open, Timed: true}

func sniff(h format.Head) bool {
	if h.Chosen {
		return false
	}
	for rest := bytes.TrimPrefix(h.Bytes, []byte(text.BOM)); len(rest) > 0; {
		var l []byte
		l, rest = text.CutLine(rest)
		l = bytes.TrimSpace(l)
		if len(l) > 0 {
			return l[0] == '{' && json.Valid(l)
		}
	}
	return false
}

// Errors of a line.
var (
	ErrSyntax  = errors.New("not a JSON object")
	errMissing = errors.New("missing key")
	errTwice   = errors.New("the key is there twice")
	errNull    = errors.New("null")
	errNested  = errors.New("a list or an object")
	errNoID    = errors.New("not an integer, as an id that is a number has to be")
	errBoolID  = errors.New("true or false as an id")
	errUTF8    = errors.New("not UTF-8")
)

type reader struct {
	*text.Lines
	a    roles.Assignment
	keys []string // user, item and possibly value and time
	time int      // index of the time in keys, or −1
}

const maxKeys = 4

func open(in *format.Input) (format.Reader, error) {
	lines, s, err := text.Begin(in, "one object a line")
	if err != nil {
		return nil, err
	}
	p := &reader{Lines: lines}
	if err := p.assign(s.Lines, in); err != nil {
		pe := &format.ParseError{File: in.Name, Line: int64(1 + s.Before), Text: text.Shorten(s.Lines[0]), Err: err}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			pe.Column = int(syntax.Offset)
		}
		return nil, pe
	}
	return p, nil
}

// assign determines the keys from the first lines. It ignores malformed lines: Parse refuses them.
func (p *reader) assign(sample [][]byte, in *format.Input) (err error) {
	var fields []roles.Field
	var names []string
	for i, l := range sample {
		err := each(l, func(key []byte, v value) {
			c := slices.Index(names, string(key))
			if c < 0 {
				c = len(names)
				names, fields = append(names, string(key)), append(fields, roles.Field{Name: string(key), Numeric: true, Empty: true})
			}
			f := &fields[c]
			f.Numeric = f.Numeric && (v.kind == number || v.kind == null)
			f.Empty = f.Empty && (v.kind == null || v.kind == nested)
		})
		if err != nil && i == 0 {
			return err
		}
	}
	lost := -1
	if p.a, lost, err = roles.Choose(fields, in.Columns, in.Events); err != nil {
		return err
	}
	if lost >= 0 {
		return fmt.Errorf("%q holds no value but null, lists or objects: %w; --columns chooses others", names[lost], format.ErrUnsupported)
	}
	p.keys, p.time = []string{names[p.a.Row], names[p.a.Col]}, -1
	if p.a.Value >= 0 && !in.Events {
		p.keys = append(p.keys, names[p.a.Value])
	}
	if in.Times {
		at, err := p.a.Time(names)
		if err != nil {
			return err
		}
		p.time, p.keys = len(p.keys), append(p.keys, names[at])
	}
	p.Want = "{"
	for i, key := range p.keys {
		p.Want += strings.Repeat(", ", min(i, 1)) + strconv.Quote(key) + ": …"
	}
	p.Want += "}"
	return nil
}

func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	text.Each(c, b, '\n', func(l []byte, line int64) error {
		err := p.line(l, b)
		if err == nil {
			return nil
		}
		err.File, err.Line, err.Want = p.In.Name, line, p.Want
		return err
	})
	return nil
}

// Check has nothing to do: lines are checked one by one.
func (p *reader) Check(format.Tally, *format.Chunk, *format.Batch) error { return nil }
func (p *reader) Locate(c *format.Chunk, n int) format.Position          { return text.Locate(c, n, p.Parse) }

func (p *reader) line(l []byte, b *format.Batch) *format.ParseError {
	var got [maxKeys]value
	if !p.flat(l, &got) {
		got = [maxKeys]value{}
		if err := each(l, func(key []byte, v value) { p.take(&got, key, v) }); err != nil {
			pe := &format.ParseError{Text: text.Shorten(l), Err: err}
			if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
				pe.Column = int(syntax.Offset)
			}
			return pe
		}
	}
	val, at := 1.0, format.Time(0)
	for i, key := range p.keys {
		v := &got[i]
		var err error
		switch {
		case v.kind == missing:
			return &format.ParseError{Field: key, Text: text.Shorten(l), Err: errMissing}
		case v.twice:
			err = errTwice
		case v.kind == null:
			err = errNull
		case v.kind == nested:
			err = errNested
		case i < 2:
			err = v.id()
		case i == p.time && (v.kind == boolean || v.bad):
			err = format.ErrTime
		case i == p.time:
			at, err = format.ParseTime(v.text)
		default:
			val, err = v.float()
		}
		if err != nil {
			return &format.ParseError{Column: v.at + 1, Field: key, Text: text.Shorten(v.text), Err: err}
		}
	}
	for i, k := range []*format.Keys{&b.Row, &b.Col} {
		if v := &got[i]; v.kind == str {
			k.Add(v.text)
		} else {
			k.AddInt(v.n)
		}
	}
	b.AddValue(val)
	if p.time >= 0 {
		b.Time = append(b.Time, at)
	}
	return nil
}

func (p *reader) take(got *[maxKeys]value, key []byte, v value) {
	for i, k := range p.keys {
		if string(key) == k {
			v.twice = got[i].kind != missing
			got[i] = v
			return
		}
	}
}

type kind uint8

const (
	missing kind = iota
	str
	number
	boolean
	null
	nested
)

type value struct {
	text  []byte // a string without quotes and escapes; any other value as written
	at    int    // byte offset in the line
	n     int64  // value of an id that is a number
	kind  kind
	twice bool
	bad   bool // a string that is not valid Unicode
}

func (v *value) id() error {
	switch {
	case v.kind == boolean:
		return errBoolID
	case v.kind == str && (v.bad || !utf8.Valid(v.text)):
		return errUTF8
	case v.kind == str && len(v.text) == 0:
		return text.ErrEmptyField
	case v.kind == str:
		return nil
	}
	var ok bool
	v.n, ok = format.ParseID(v.text)
	if ok {
		return nil
	}
	x, err := strconv.ParseFloat(string(v.text), 64) // rounded: the digits say whether it is exact
	v.n = int64(x)
	switch {
	case !bytes.ContainsAny(v.text, ".eE") && x != 0: // an integer beyond int64 becomes a text
		v.kind = str
	case err != nil || math.Abs(x) > 1<<53 || significant(v.text) != significant(strconv.AppendInt(nil, v.n, 10)):
		return errNoID
	}
	return nil
}

// significant returns the digits of a number without its sign, point, exponent and the zeros on both sides.
func significant(number []byte) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(string(number)), "e")
	return strings.Trim(strings.Replace(mantissa, ".", "", 1), "-0")
}

func (v *value) float() (float64, error) {
	switch {
	case v.kind == boolean && v.text[0] == 't':
		return 1, nil
	case v.kind == boolean:
		return 0, nil
	case len(v.text) == 0:
		return 0, text.ErrEmptyField
	}
	return text.ParseFloat(v.text)
}

func (p *reader) Describe() format.Description {
	time := -1
	if p.time >= 0 {
		time = p.a.Times[0]
	}
	return p.a.Describe(true, time)
}
