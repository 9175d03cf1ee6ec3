package delimited

import (
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/roles"
)

// Describe tells the separator, whether there is a header, and the roles of the columns.
func (p *reader) Describe() format.Description {
	d := format.Description{Separator: p.sep.String(), Header: format.HeaderNo, Columns: p.roles.Columns}
	if p.header != nil {
		d.Header = format.HeaderYes
	}
	cols := []int{p.user, p.item}
	if p.value >= 0 {
		cols = append(cols, p.value)
	}
	columns := roles.Numbered(cols)
	if p.header != nil {
		names := make([]string, len(d.Columns))
		for i, c := range d.Columns {
			names[i] = c.Name
		}
		columns = strings.TrimPrefix(roles.Chosen(names, "", cols...).Flag, "--columns ")
	}
	if p.value < 0 {
		d.Notes = append(d.Notes, "no column is a value: every entry is 1")
	}
	for i, c := range d.Columns {
		if p.roles.Times != nil && c.Role == roles.Time.String() && i == p.roles.Times[0] {
			d.Notes = append(d.Notes, strconv.Quote(c.Name)+" is a time: it is no part of the matrix")
		}
	}
	d.Flags = []format.Flag{{Name: "sep", Value: p.sep.flag()}, {Name: "header", Value: d.Header.String()}, {Name: "columns", Value: columns}}
	return d
}

// flag is the separator as --sep takes it.
func (s separator) flag() string {
	switch {
	case s.blanks:
		return " "
	case s.text == "\t":
		return `\t`
	}
	return s.text
}
