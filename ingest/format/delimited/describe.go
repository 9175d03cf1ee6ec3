package delimited

import "github.com/gdsvd/gdsvd/ingest/format"

// Describe tells the separator, whether there is a header, and the roles of the columns.
func (p *reader) Describe() format.Description {
	d := p.roles.Describe(p.header != nil, p.time)
	d.Separator, d.Header = p.sep.String(), format.HeaderNo
	if p.header != nil {
		d.Header = format.HeaderYes
	}
	d.Flags = append([]format.Flag{{Name: "sep", Value: p.sep.flag()}, {Name: "header", Value: d.Header.String()}}, d.Flags...)
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
