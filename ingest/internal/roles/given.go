package roles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Choose returns the assignment that columns chooses or, if columns is empty, that of Assign. If there is no value, but an
// empty field has the name of a value, lost is that field; else −1.
func Choose(fields []Field, columns []string, count bool) (a Assignment, lost int, err error) {
	if len(columns) > 0 {
		names := make([]string, len(fields))
		for i, f := range fields {
			names[i] = f.Name
		}
		a, err = Given(names, columns)
		return a, -1, err
	}
	a, err = Assign(fields, count)
	lost = -1
	if err == nil && a.Value < 0 && !count {
		lost = slices.IndexFunc(fields, func(f Field) bool { return f.Empty && Read(f.Name).Role == Value })
	}
	return a, lost, err
}

// Given returns the assignment that columns chooses: user, item and perhaps value and time, each by its name, in any case, or
// its number from 1; an empty value means no value. An error is format.ErrHeader or text.ErrFields.
func Given(names, columns []string) (Assignment, error) {
	a, at := Assignment{Row: 0, Col: 1, Value: -1}, -1
	for i, c := range []*int{&a.Row, &a.Col, &a.Value, &at}[:min(4, len(columns))] {
		if i == 2 && columns[i] == "" {
			continue
		}
		n, err := Find(columns[i], names)
		if err != nil {
			return a, err
		}
		*c = n
	}
	const why = "chosen by --columns"
	if err := a.Explain(names, why); err != nil || at < 0 {
		return a, err
	}
	if at == a.Row || at == a.Col || at == a.Value {
		return a, fmt.Errorf("%w: one column named twice", format.ErrHeader)
	}
	for _, c := range a.Times {
		a.Columns[c].Role, a.Columns[c].Why = None.String(), "another time is "+why
	}
	a.Times = []int{at}
	a.Columns[at].Role, a.Columns[at].Why = Time.String(), why
	return a, nil
}

// Explain completes an assignment that was not made by names; why is the reason. It returns an error if one column has two
// roles.
func (a *Assignment) Explain(names []string, why string) error {
	if a.Row == a.Col || a.Row == a.Value || a.Col == a.Value {
		return fmt.Errorf("%w: one column named twice", format.ErrHeader)
	}
	a.Columns, a.Times = nil, nil
	a.settle(names, ReadAll(names), why)
	return nil
}

// Find returns the index of a column that is given by name or by number from 1. An error is format.ErrHeader, for a number
// text.ErrFields.
func Find(column string, names []string) (int, error) {
	if n, ok := text.ParseIndex([]byte(column)); ok {
		if n < 1 || n > int64(len(names)) {
			return 0, fmt.Errorf("%w: no column %d among %d", text.ErrFields, n, len(names))
		}
		return int(n) - 1, nil
	}
	at := slices.Index(names, column)
	if at < 0 {
		at = slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, column) })
	}
	if at < 0 {
		return 0, fmt.Errorf("%w: no column %q", format.ErrHeader, column)
	}
	return at, nil
}

func ByName(columns []string) bool {
	return slices.ContainsFunc(columns, func(s string) bool { return !isNumber(s) && s != "" })
}

func isNumber(s string) bool {
	_, ok := text.ParseIndex([]byte(s))
	return ok
}

// Time returns the field of the times, for an input whose times are needed; names are the names for --columns. An error is
// format.ErrNoTimes, or an AmbiguityError.
func (a *Assignment) Time(names []string) (int, error) {
	switch len(a.Times) {
	case 0:
		return -1, fmt.Errorf("%w, as far as names tell; the fourth of --columns user,item,value,time says which column has them", format.ErrNoTimes)
	case 1:
		return a.Times[0], nil
	}
	e := &format.AmbiguityError{}
	for _, c := range a.Times[:2] {
		e.Readings = append(e.Readings, Chosen(names, "the time is "+strconv.Quote(names[c]), a.Row, a.Col, a.Value, c))
	}
	return -1, e
}

// Describe returns the columns and the flag that chooses them: by names if the input has names, else by numbers. time is the
// column of times that is read, or −1.
func (a *Assignment) Describe(named bool, time int) format.Description {
	d := format.Description{Columns: a.Columns}
	cols := []int{a.Row, a.Col}
	switch {
	case time >= 0:
		cols = append(cols, a.Value, time)
	case a.Value >= 0:
		cols = append(cols, a.Value)
	}
	flag := Numbered(cols)
	if named {
		names := make([]string, len(d.Columns))
		for i, c := range d.Columns {
			names[i] = c.Name
		}
		flag = strings.TrimPrefix(Chosen(names, "", cols...).Flag, "--columns ")
	}
	d.Flags = []format.Flag{{Name: "columns", Value: flag}}
	if a.Value < 0 {
		d.Notes = append(d.Notes, "no column is a value: every entry is 1")
	}
	for _, c := range a.Times {
		if c != time && d.Columns[c].Role == Time.String() {
			d.Notes = append(d.Notes, strconv.Quote(d.Columns[c].Name)+" is a time: it is no part of the matrix")
		}
	}
	return d
}
