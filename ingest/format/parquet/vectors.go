package parquet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Vectors reads a table of vectors: a column called id, of integers or texts, and columns of floating-point numbers. Other
// columns, such as titles, are not read. It calls begin with the number of rows and of numbers in each, then visit with each
// row in order; x is valid during the call.
func Vectors(in *format.Input, begin func(rows int64, k int) error, visit func(id string, x []float64) error) error {
	p := &reader{in: in, window: window{size: in.Window}}
	footer, err := p.footer()
	if err != nil {
		return err
	}
	all, err := fieldsOf(footer.schema)
	if err != nil {
		return p.damaged(err)
	}
	p.fields = make([]*field, 1)
	for _, f := range all {
		f.isID, f.most = f.name == "id", maxPage
		switch {
		case f.isID && f.can():
			p.fields[0] = f
		case f.kind == number && !f.nested:
			p.fields = append(p.fields, f)
		}
	}
	k := len(p.fields) - 1
	if i := slices.IndexFunc(all, func(f *field) bool { return f.nested }); p.fields[0] != nil && k == 0 && i >= 0 {
		return p.fail(fmt.Errorf("column %q: lists are not read: give their numbers as columns, such as c1, c2, or as NAME.npy beside NAME.ids, which has the ids one a line", all[i].name))
	}
	if p.fields[0] == nil || k == 0 {
		return p.fail(errors.New("want a column called id, of integers or texts, and columns of floating-point numbers, as gdsvd export writes them"))
	}
	if err := begin(footer.rows, k); err != nil {
		return err
	}
	p.group, p.columns = 0, make([]column, len(p.fields))
	for err = p.begin(); err == nil && p.group < len(p.groups); err = p.begin() {
		for err == nil && p.left > 0 {
			err = p.some(visit)
		}
		if err != nil {
			return err
		}
		p.group++
	}
	return err
}

// some visits the next rows of the row group that are in the current pages of all columns.
func (p *reader) some(visit func(id string, x []float64) error) error {
	const most = 1 << 10
	n, k := int(min(p.left, most)), len(p.columns)-1
	for i := range p.columns {
		c := &p.columns[i]
		if err := c.fill(); err != nil {
			return p.damaged(fmt.Errorf("column %q: %w", c.name, err))
		}
		n = min(n, c.rows-c.at)
	}
	ids, x := make([]string, n), make([]float64, n*k)
	var bad error
	for i := range p.columns {
		c, at := &p.columns[i], 0
		c.each(n, func(place uint32, null bool) {
			var s part
			switch {
			case null:
				s.err = errNull
			case c.kind > number:
				s = c.text(c.values().text(place))
			default:
				s = c.number(c.values().nums[place])
			}
			if s.err != nil && bad == nil {
				bad = &format.ParseError{File: p.in.Name, Line: p.row + int64(at) + 1, Field: c.name, Text: text.Shorten(s.offend), Err: s.err}
			}
			switch {
			case i > 0:
				x[at*k+i-1] = s.value
			case s.text != nil:
				ids[at] = string(s.text)
			default:
				ids[at] = strconv.FormatInt(s.n, 10)
			}
			at++
		})
		c.advance(n)
	}
	for i := 0; i < n && bad == nil; i++ {
		bad = visit(ids[i], x[i*k:(i+1)*k])
	}
	p.left, p.row = p.left-int64(n), p.row+int64(n)
	return bad
}
