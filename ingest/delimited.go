package ingest

import (
	"bytes"
	"fmt"
	"regexp"
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
	detected          struct{ sep, header bool } // rather than given
	fields            int                        // in every line
	user, item, value int                        // their columns, from 0; value −1: every entry is 1
	stamp             int                        // a column that must be an integer, or −1
	names             [3]string
	words             [3]string // that name the columns in a header, without what ids add; may be empty
	header            []byte    // the line with names, or nil
	want              string
	format            Format // MovieLens or Delimited
	noVectors         bool   // fast lines are read in plain Go
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
	if l[0] == utf8BOM[0] && bytes.HasPrefix(l, []byte(utf8BOM)) {
		return p.fail(line, -1, "", l, fmt.Errorf("%w: a byte order mark within the text", ErrJoined))
	}
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
			if bytes.Equal(l, p.header) {
				return nil // files with one header each were joined
			}
			if text := base[s.a:s.b]; isDecimalComma(text) {
				err = fmt.Errorf("%w: it has a decimal comma", err)
			}
			return p.fail(line, s.col, p.names[2], base[s.a:s.b], err)
		}
	}
	if p.stamp >= 0 && p.stamp < len(b.spans) {
		s := b.spans[p.stamp]
		if _, ok := parseID(base[s.a:s.b]); !ok {
			return p.fail(line, s.col, "timestamp", base[s.a:s.b], ErrInteger)
		}
	}
	userID, itemID := base[user.a:user.b], base[item.a:item.b]
	u, userInt := b.user.integer(userID)
	i, itemInt := b.item.integer(itemID)
	if p.value < 0 && (!userInt && !b.user.isText || !itemInt && !b.item.isText || len(l) == len(p.header)) {
		if again, err := p.joined(l, base, b); again {
			return nil
		} else if err != nil {
			return p.fail(line, -1, "", l, err)
		}
	}
	b.user.put(userID, u, userInt)
	b.item.put(itemID, i, itemInt)
	b.addValue(v)
	return nil
}

// joined looks for the header of another file: where ids turn from integers to
// text, and in lines as long as the header. The same header again is left out.
// Files with values need no look: a name is no number.
func (p *delimited) joined(l, base []byte, b *batch) (again bool, err error) {
	if p.header != nil && bytes.Equal(l, p.header) {
		return true, nil
	}
	names := make([]string, 0, len(b.spans))
	for _, s := range b.spans {
		names = append(names, string(base[s.a:s.b]))
	}
	user, item := names[p.user], names[p.item]
	if isInteger(user) || isInteger(item) {
		for _, s := range []string{user, item} {
			if p.detected.sep && numbersJoined.MatchString(s) {
				return false, fmt.Errorf("%w: another separator", ErrJoined)
			}
		}
		return false, nil
	}
	if p.detected.header && knownNames(names) {
		return false, fmt.Errorf("%w: this line names columns", ErrJoined)
	}
	return false, nil
}

var numbersJoined = regexp.MustCompile(`^[-0-9.]+[,;|\t][-0-9.,;|\t]+$`)

// isDecimalComma tells whether a text is a number but for its commas.
func isDecimalComma(text []byte) bool {
	return bytes.IndexByte(text, ',') >= 0 && isNumber(string(bytes.ReplaceAll(text, []byte{','}, nil)))
}

func (p *delimited) fail(line int64, col int, field string, text []byte, err error) error {
	return &ParseError{File: p.file, Line: line, Column: col + 1, Field: field, Text: shorten(text), Err: err, Want: p.want}
}
