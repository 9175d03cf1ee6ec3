package delimited

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

type table struct {
	line    []byte   // first line of the sample
	first   []string // fields of line
	rest    [][]string
	comment []string // fields of the last comment line before the sample, if they are as many as in first; else nil
}

// newTable cuts the lines of a sample into fields. Lines with another number of fields are left out: Parse refuses them.
func (p *reader) newTable(sample [][]byte, comment []byte) (*table, error) {
	first, err := p.cut(sample[0])
	if err != nil {
		return nil, err
	}
	t := &table{line: sample[0], first: first}
	for _, l := range sample[1:] {
		if f, err := p.cut(l); err == nil && len(f) == len(first) && !bytes.Equal(l, sample[0]) {
			t.rest = append(t.rest, f)
		}
	}
	comment = bytes.TrimLeft(comment, "#% \t")
	if len(comment) > 0 {
		for _, sep := range []separator{p.sep, newSeparator(" "), newSeparator(",")} {
			q := reader{sep: sep}
			if f, err := q.cut(comment); err == nil && len(f) == len(first) {
				t.comment = f
				break
			}
		}
	}
	return t, nil
}

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	_, err := text.ParseFloat([]byte(s))
	return err == nil || !errors.Is(err, text.ErrNumber)
}

// numbers reports whether column c holds only numbers, also with units of money or decimal commas, truth values, and gaps.
func (t *table) numbers(c int) bool {
	n := 0
	for _, f := range t.rest {
		s := strings.TrimSuffix(strings.TrimLeft(f[c], "$€£ "), "%")
		_, isTruth := truth([]byte(s))
		switch {
		case isTruth, isNumber(s), isNumber(strings.ReplaceAll(s, ",", "")):
			n++
		case s != "" && !isMissing(s):
			return false
		}
	}
	return n > 0
}

// all reports whether kind is true for every field of column c, including that of the first line if it is data.
func (t *table) all(c int, header bool, kind func(string) bool) bool {
	if !header && !kind(t.first[c]) || header && len(t.rest) == 0 {
		return false
	}
	return !slices.ContainsFunc(t.rest, func(f []string) bool { return !kind(f[c]) })
}

// integers reports whether column c holds only integers and texts for unknown ids, and at least one integer.
func (t *table) integers(c int, header bool) bool {
	n := 0
	return t.all(c, header, func(s string) bool {
		if isInteger(s) {
			n++
			return true
		}
		return noID([]byte(s), true)
	}) && n > 0
}

// padding reports whether column c is empty, as after a separator at the end of each line.
func (t *table) padding(c int) bool {
	return c > 1 && t.first[c] == "" && !slices.ContainsFunc(t.rest, func(f []string) bool { return f[c] != "" })
}

// isTime reports whether a field looks like a moment: a date, also of eight digits, or seconds, milliseconds, microseconds or
// nanoseconds since 1970 of the years 1973 to 2100.
func isTime(s string) bool {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		for _, unit := range []float64{1, 1e3, 1e6, 1e9} {
			if n >= 1e8*unit && n <= 4.1e9*unit && !strings.ContainsAny(s, "eE") {
				return true
			}
		}
		day, err := time.Parse("20060102", s)
		return err == nil && day.Year() >= 1900 && day.Year() < 2100
	}
	return isDate(s)
}

// isDate reports whether a field looks like a date or a time of day.
func isDate(s string) bool {
	shape := shapeOf(s)
	return strings.HasPrefix(shape, "9-9-9") || strings.HasPrefix(shape, "9/9/9") || strings.HasPrefix(shape, "9.9.9") || strings.HasPrefix(shape, "9:9")
}

// shapeOf returns s with each run of digits replaced by one 9 and each run of letters by one a.
func shapeOf(s string) string {
	var b strings.Builder
	var last byte
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c = '9'
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= 0x80:
			c = 'a'
		}
		if c != last || c != '9' && c != 'a' {
			b.WriteByte(c)
		}
		last = c
	}
	return b.String()
}

// counts reports whether column c holds consecutive numbers from 0 or 1.
func (t *table) counts(c int, header bool) bool {
	rows := t.rest
	if !header {
		rows = append([][]string{t.first}, rows...)
	}
	if len(rows) < 3 || rows[0][c] != "0" && rows[0][c] != "1" {
		return false
	}
	from, _ := strconv.Atoi(rows[0][c])
	for i, f := range rows {
		if f[c] != strconv.Itoa(from+i) {
			return false
		}
	}
	return true
}

// isHeader decides whether the first line holds column names. known: it has well-known names for both ids. The error is
// a format.AmbiguityError.
func (t *table) isHeader(known, blanks bool) (bool, error) {
	number, texts := 0, 0
	var flips []int // columns of numbers below a text
	for c, s := range t.first {
		switch {
		case isNumber(s):
			number++
		case s != "":
			texts++
			if t.all(c, true, isNumber) {
				flips = append(flips, c)
			}
		}
	}
	wordFlips := slices.ContainsFunc(flips, func(c int) bool { return roles.Read(t.first[c]).Role != roles.None })
	switch {
	case texts == 0 && t.enumerated() && !blanks && t.comment == nil:
		return false, t.unclear("the numbers of columns")
	case number > 0 && (known && len(flips) > 0 || wordFlips):
		return false, t.unclear("the names of columns")
	case texts == 0, number > 0, slices.ContainsFunc(t.first, isMissing):
		return false, nil
	case len(flips) > 1, len(flips) == 1 && (wordFlips || known):
		return true, nil
	case t.recurs():
		if known {
			return false, t.unclear("the names of columns")
		}
		return false, nil
	case known:
		return true, nil
	case len(flips) == 0 && t.digitsAlike():
		return false, nil
	}
	return false, t.unclear("the names of columns")
}

// enumerated reports whether the first line is 0, 1, 2, …, possibly after an empty field.
func (t *table) enumerated() bool {
	cells := t.first
	if cells[0] == "" {
		cells = cells[1:]
	}
	for i, s := range cells {
		if s != strconv.Itoa(i) {
			return false
		}
	}
	return len(cells) > 1
}

// isMissing reports whether a field is one of the texts that stand for an unknown number.
func isMissing(s string) bool {
	return slices.Contains([]string{"na", "n/a", "null", "none", "nil", "-", "--", "?", `\n`}, strings.ToLower(s))
}

// recurs reports whether a field of the first line occurs again in its column.
func (t *table) recurs() bool {
	for c, s := range t.first {
		if s != "" && slices.ContainsFunc(t.rest, func(f []string) bool { return f[c] == s }) {
			return true
		}
	}
	return false
}

// digitsAlike reports whether the first line has a field with digits like those below it. Names of columns have no digits,
// except for a number at their end.
func (t *table) digitsAlike() bool {
	stems := map[string]bool{}
	for _, s := range t.first { // V1, V2 and user1, user2 are names
		stem := strings.TrimRight(s, "0123456789")
		if stem != s && (stems[stem] || roles.Read(stem).Role != roles.None) {
			return false
		}
		stems[stem] = true
	}
	for c, s := range t.first {
		if !strings.ContainsAny(s, "0123456789") {
			continue
		}
		like := 0
		for _, f := range t.rest {
			if shapeOf(f[c]) == shapeOf(s) || len(f[c]) == len(s) && strings.ContainsAny(f[c], "0123456789") {
				like++
			}
		}
		if like > 0 && 2*like >= len(t.rest) {
			return true
		}
	}
	return false
}

func (t *table) unclear(names string) error {
	return &format.AmbiguityError{Readings: []format.Reading{
		{Text: "the first line is " + names, Flag: "--header yes"},
		{Text: "it is an entry", Flag: "--header no"},
	}}
}

func isInteger(s string) bool {
	_, ok := format.ParseID([]byte(s))
	return ok
}

// fieldsOf describes the columns, with their names and what the sample shows of their content.
func (t *table) fieldsOf(names []string, header bool) []roles.Field {
	fields := make([]roles.Field, len(names))
	for c := range fields {
		fields[c] = roles.Field{
			Name: names[c], Numeric: t.numbers(c), Counts: t.counts(c, header),
			Empty: t.padding(c) && (!header || names[c] == ""),
		}
	}
	return fields
}

// positional takes the first columns as user, item and value, unless their content suggests otherwise. events: there is no value.
func (t *table) positional(header, movieLens, events bool) (roles.Assignment, error) {
	n := len(t.first)
	for n > 2 && t.padding(n-1) {
		n--
	}
	a := roles.Assignment{Row: 0, Col: 1, Value: 2}
	if n == 2 || events {
		a.Value = -1
	}
	timed := n > 2 && t.all(n-1, header, isTime)
	numbers := func(what string, cols ...int) format.Reading {
		if events {
			cols = cols[:2]
		}
		return format.Reading{Text: what, Flag: "--columns " + roles.Numbered(cols)}
	}
	pairs := numbers("it is no value and every entry is 1", 0, 1)
	counted := t.counts(0, header)
	integers := func(s string) bool { return isInteger(s) && !strings.HasPrefix(s, "-") }
	var readings []format.Reading
	switch {
	case n == 2:
	case header && t.first[0] == "":
		counted := numbers("the first column only counts the lines", 1, 2)
		if n > 3 {
			counted = numbers(counted.Text, 1, 2, 3)
		}
		readings = []format.Reading{counted, numbers("it is the user", 0, 1, 2)}
	case movieLens:
	case t.all(0, header, isDate):
		readings = []format.Reading{numbers("the dates of the first column are the users", 0, 1, 2), numbers("the columns behind them are user and item", 1, 2)}
	case events && counted:
		readings = []format.Reading{numbers("the first column is the user", 0, 1), numbers("it only counts the lines", 1, 2)}
	case events && n > 3 && (n > 4 || !timed):
		readings = []format.Reading{numbers("the first two columns are user and item", 0, 1), numbers("the second and the third are", 1, 2)}
	case events:
	case n == 4 && t.all(2, header, isTime):
		readings = []format.Reading{numbers("the third column is the value", 0, 1, 2), numbers("it is a time, and the fourth the value", 0, 1, 3)}
	case t.all(2, header, isTime):
		readings = []format.Reading{numbers("the third column is the value", 0, 1, 2), {Text: "it is a time, no value, and every entry is 1", Flag: pairs.Flag}}
	case n == 4 && timed:
	case n > 3 && counted:
		readings = []format.Reading{numbers("the first column is the user, the third the value", 0, 1, 2), numbers("the first column only counts the lines", 1, 2, 3)}
	case n > 3:
		readings = []format.Reading{numbers(fmt.Sprintf("the value is the third of %d columns without names", n), 0, 1, 2), pairs}
	case counted && len(t.rest) >= 20 && t.first[0] == "0" && t.all(2, header, integers) && !t.counts(1, header):
		readings = []format.Reading{numbers("the first column is the user, the third the value", 0, 1, 2), numbers("the first column only counts the lines", 1, 2)}
	}
	if readings != nil {
		return a, &format.AmbiguityError{Readings: readings}
	}
	if err := a.Explain(t.labels(header), "by its place"); err != nil {
		return a, err
	}
	if timed && n-1 != a.Value && (events || n == 4) {
		a.Times = []int{n - 1}
		a.Columns[n-1].Role, a.Columns[n-1].Why = roles.Time.String(), "it holds times"
	}
	return a, nil
}

func (t *table) labels(header bool) []string {
	if header {
		return t.first
	}
	names := make([]string, len(t.first))
	for c := range names {
		names[c] = fmt.Sprintf("column %d", c+1)
	}
	return names
}
