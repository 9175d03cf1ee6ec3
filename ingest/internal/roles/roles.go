// Package roles determines which columns of a table are the rows, the columns and the values of a matrix, and which are times:
// by their names and, where names do not decide, by their contents.
//
// All formats with named columns use it. [Read] returns the meaning of a name: userId, "Customer ID" and member_no are rows;
// movie, SKU and track_ids are columns; rating, plays and quantity are values; timestamp, created_at and date are times, which
// are never values. [Assign] decides among the columns of a table, in any order. If it cannot decide, it returns a
// [format.AmbiguityError] with the flag for each reading. [Given] uses the columns that options choose.
package roles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gdsvd/gdsvd/ingest/format"
)

type Role uint8

// Roles of columns. None means that the name tells no role.
const (
	None  Role = iota
	Row        // ids of rows: users
	Col        // ids of columns: items
	Value      // numbers of the matrix
	Time       // a date or a time: never a value
	Aside      // a running number or an id of something else: never a value
)

func (r Role) String() string {
	return format.NameOf(r, "unused", "row", "column", "value", "time", "unused")
}

// A Field is a column of a table, as far as it is known before the table is read. Unknown facts are false.
type Field struct {
	Name    string
	Numeric bool // all values that were seen are numbers
	Counts  bool // the values are consecutive numbers from 0 or 1
	Empty   bool // there are no values; the field is ignored
}

// An Assignment gives the fields of an entry, counted from 0.
type Assignment struct {
	Row, Col int
	Value    int   // −1: every entry is 1
	Times    []int // fields that hold times, which are alternatives
	// Words are the words, in the singular ("user" of "userIds"), by which names determined row, column and value; "" where
	// the position decided. All parts of one matrix have the same Words.
	Words   [3]string
	Columns []format.Column
}

// Known reports whether names say which fields are the rows and the columns.
func Known(names []string) bool {
	has := map[Role]bool{}
	for _, n := range ReadAll(names) {
		has[n.Role] = true
	}
	return has[Row] && has[Col]
}

// Assign determines the fields of an entry. With count there is no value: lines are events that are counted. An error is an
// AmbiguityError, or ErrHeader.
func Assign(fields []Field, count bool) (Assignment, error) {
	t := table{fields: fields, names: make([]string, len(fields))}
	for c, f := range fields {
		t.names[c] = f.Name
	}
	t.read = ReadAll(t.names)
	if !Known(t.names) {
		for c := range t.read { // single letters such as x, v and n are values only beside names of ids
			if len(t.read[c].Word) == 1 && t.read[c].Role == Value {
				t.read[c].Role = None
			}
		}
	}
	a := Assignment{Row: -1, Col: -1, Value: -1}
	var aside, index, values []int
	for c, n := range t.read {
		switch {
		case fields[c].Empty:
		case n.Role == Value:
			values = append(values, c)
		case n.Role == Time:
		case n.Role == Aside:
			switch {
			case n.rank < never && !fields[c].Counts:
				aside = append(aside, c)
			case !fields[c].Numeric && (n.Word == "" || roleOfWord[n.Word] == Aside):
				index = append(index, c)
			}
		default:
			t.ids = append(t.ids, c)
		}
	}
	if count {
		values = nil
	}
	rows, cols := t.ofRole(Row, aside), t.ofRole(Col, aside)
	if !t.plainly(rows) || !t.plainly(cols) { // the id of something else may be meant
		t.ids = append(t.ids, aside...)
		slices.Sort(t.ids)
	}
	if len(rows)+len(cols) == 0 && len(t.ids) == 2 && len(index) > 0 { // perhaps the texts of the index are a side of the matrix
		t.ids = append(t.ids, index...)
		slices.Sort(t.ids)
	}
	switch {
	case len(rows) == 1 && len(cols) == 1:
		a.Row, a.Col = rows[0], cols[0]
	case len(t.ids) == 2: // the role of one field decides both; else their order does
		a.Row, a.Col = t.ids[0], t.ids[1]
		if len(rows) == 1 && rows[0] == t.ids[1] || len(cols) == 1 && cols[0] == t.ids[0] {
			a.Row, a.Col = t.ids[1], t.ids[0]
		}
	case len(t.ids) < 2 || len(rows) == 0 && len(cols) == 0:
		return a, t.unassigned(values, count)
	default:
		return a, t.choices(rows, cols, values, count)
	}
	if called := slices.IndexFunc(t.names, func(s string) bool { return strings.EqualFold(s, "count") }); count && called >= 0 && called != a.Row && called != a.Col {
		lines := Chosen(t.names, "a pair has as many events as lines", a.Row, a.Col)
		lines.Flag += " --value count"
		return a, &format.AmbiguityError{Readings: []format.Reading{lines, Chosen(t.names, fmt.Sprintf("the value is the column %q", t.names[called]), a.Row, a.Col, called)}}
	}
	var left []int
	for _, c := range t.ids {
		if c != a.Row && c != a.Col && t.read[c].Role == None && fields[c].Numeric {
			left = append(left, c)
		}
	}
	if len(values) == 1 && len(left) > 0 && len(t.read[values[0]].Word) == 1 { // a letter may also be one of several coordinates
		values = append(values, left[0])
	}
	switch {
	case count:
	case len(values) == 1:
		a.Value = values[0]
	case len(values) > 1:
		return a, &format.AmbiguityError{Readings: []format.Reading{
			Chosen(t.names, "the value is "+strconv.Quote(t.names[values[0]]), a.Row, a.Col, values[0]),
			Chosen(t.names, "it is "+strconv.Quote(t.names[values[1]]), a.Row, a.Col, values[1]),
		}}
	case t.measured(&a) != nil:
		return a, t.measured(&a)
	case len(left) > 0:
		return a, &format.AmbiguityError{Readings: []format.Reading{
			Chosen(t.names, strconv.Quote(t.names[left[0]])+" is the value", a.Row, a.Col, left[0]),
			Chosen(t.names, "there is no value and every entry is 1", a.Row, a.Col),
		}}
	}
	a.settle(t.names, t.read, "")
	return a, nil
}

// measured returns an AmbiguityError if a number taken for an id may be a value by dates, else nil.
func (t *table) measured(a *Assignment) error {
	ids := []int{a.Row, a.Col}
	other := slices.IndexFunc(ids, func(c int) bool { return t.read[c].Role == None && t.fields[c].Numeric })
	date := slices.IndexFunc(t.read, func(n Name) bool { return n.Role == Time && (n.rank == partial || strings.HasPrefix(n.Word, "date")) })
	if other < 0 || date < 0 {
		return nil
	}
	known, unknown := ids[1-other], ids[other]
	return &format.AmbiguityError{Readings: []format.Reading{
		Chosen(t.names, fmt.Sprintf("%q by %q, every entry 1", t.names[a.Row], t.names[a.Col]), a.Row, a.Col),
		Chosen(t.names, fmt.Sprintf("%q by %q, the value is %q", t.names[known], t.names[date], t.names[unknown]), known, date, unknown),
	}}
}

type table struct {
	fields []Field
	names  []string
	read   []Name
	ids    []int // fields that can be rows or columns
}

// ofRole returns the fields of ids with a role. If only names of orders, groups or titles ("movie_title") have it, the fields
// in other are returned, too.
func (t *table) ofRole(want Role, other []int) []int {
	var plainly, rest []int
	for _, c := range t.ids {
		switch n := t.read[c]; {
		case n.Role != want:
		case n.rank == plain:
			plainly = append(plainly, c)
		default:
			rest = append(rest, c)
		}
	}
	if len(plainly) > 0 || len(rest) == 0 {
		return plainly
	}
	return append(rest, other...)
}

func (t *table) plainly(cols []int) bool { return len(cols) > 0 && t.read[cols[0]].rank == plain }

// unassigned returns the error for names that determine neither rows nor columns.
func (t *table) unassigned(values []int, count bool) error {
	var cols []int
	for c, n := range t.read {
		if n.Role != Time && !t.fields[c].Empty && !slices.Contains(values, c) && (len(t.ids) < 2 || slices.Contains(t.ids, c)) {
			cols = append(cols, c)
		}
	}
	value := append(slices.Clone(values), cols[min(2, len(cols)):]...)
	switch {
	case len(cols) >= 2 && len(value) > 0:
	case Known(t.names):
		return fmt.Errorf("%w: the columns that are users and items by name hold no ids (--columns chooses others, or says why these are none)", format.ErrHeader)
	default:
		return fmt.Errorf("%w: the names of columns tell neither users nor items (--columns says which they are)", format.ErrHeader)
	}
	if count {
		return &format.AmbiguityError{Readings: []format.Reading{
			Chosen(t.names, fmt.Sprintf("%q by %q", t.names[cols[0]], t.names[cols[1]]), cols[0], cols[1]),
			Chosen(t.names, fmt.Sprintf("%q by %q", t.names[cols[0]], t.names[value[0]]), cols[0], value[0]),
		}}
	}
	return &format.AmbiguityError{Readings: []format.Reading{
		Chosen(t.names, fmt.Sprintf("the value is %q", t.names[value[0]]), cols[0], cols[1], value[0]),
		Chosen(t.names, "there is none and every entry is 1", cols[0], cols[1]),
	}}
}

// choices returns the error for several fields that can be the rows or the columns.
func (t *table) choices(rows, cols, values []int, count bool) error {
	others := func(not []int) []int {
		return slices.DeleteFunc(slices.Clone(t.ids), func(c int) bool { return slices.Contains(not, c) })
	}
	if len(rows) == 0 {
		rows = others(cols)
	}
	if len(cols) == 0 {
		cols = others(rows)
	}
	var e format.AmbiguityError
	for _, u := range rows {
		for _, i := range cols {
			if u != i && len(e.Readings) < 3 {
				chosen := append([]int{u, i}, values[:min(1, len(values))]...)
				e.Readings = append(e.Readings, Chosen(t.names, fmt.Sprintf("%q by %q", t.names[u], t.names[i]), chosen...))
			}
		}
	}
	if len(e.Readings) < 2 {
		return t.unassigned(values, count)
	}
	return &e
}

// settle sets Times and the reason why each field has its role; why is the reason for rows, columns and value, "" if it is
// their names.
func (a *Assignment) settle(names []string, read []Name, why string) {
	best := len(names)
	for c, n := range read {
		switch {
		case n.Role != Time || c == a.Row || c == a.Col || c == a.Value || n.rank > best:
		case n.rank < best:
			best, a.Times = n.rank, []int{c}
		default:
			a.Times = append(a.Times, c)
		}
	}
	for c, n := range read {
		col := format.Column{Name: names[c], Role: None.String()}
		part := slices.Index([]int{a.Row, a.Col, a.Value}, c)
		switch {
		case part >= 0:
			col.Role, col.Why = (Row + Role(part)).String(), why
			if why == "" {
				col.Why, col.Word = n.why(), n.Word
				a.Words[part] = n.Word
			}
			if n.Role != Row+Role(part) && why == "" {
				col.Why = "the other one of two columns of ids"
			}
		case slices.Contains(a.Times, c):
			col.Role, col.Why = Time.String(), n.why()+": a time is no value"
		case n.Role == Time:
			col.Why = n.why() + ", a part of a time"
		case n.Role == Aside:
			col.Why = "a running number, or the id of something else"
		case n.Role == Row || n.Role == Col:
			col.Why = n.why() + ", but another column goes before"
		case n.Role == Value:
			col.Why = n.why() + ", but another one is chosen"
		default:
			col.Why = "its name tells no role"
		}
		a.Columns = append(a.Columns, col)
	}
}

// Chosen returns the reading that --columns selects, by names if these can be written in the flag without quotes.
func Chosen(names []string, what string, cols ...int) format.Reading {
	args := make([]string, len(cols))
	for i, c := range cols {
		if c < 0 {
			continue // no value before a time
		}
		args[i] = names[c]
		same := func(name string) bool { return strings.EqualFold(name, args[i]) }
		again := slices.ContainsFunc(names[:c], same) || slices.ContainsFunc(names[c+1:], same)
		if again || isNumber(args[i]) || args[i] == "" || strings.ContainsFunc(args[i], needsQuotes) {
			return format.Reading{Text: what, Flag: "--columns " + Numbered(cols)}
		}
	}
	return format.Reading{Text: what, Flag: "--columns " + strings.Join(args, ",")}
}

// needsQuotes reports whether c separates names or has a meaning to a shell or a terminal.
func needsQuotes(c rune) bool {
	return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.:/@+%", c)
}

func Numbered(cols []int) string {
	args := make([]string, len(cols))
	for i, c := range cols {
		if c >= 0 {
			args[i] = strconv.Itoa(c + 1)
		}
	}
	return strings.Join(args, ",")
}
