package ingest

import (
	"fmt"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// agree tells where the roles of the columns are not those of the input before, of whatever
// formats. Separators, the order of columns, and those that have no role may differ.
func (src *source) agree(prev *source) error {
	if prev == nil {
		return nil
	}
	before, now := rolesOf(prev.reader), rolesOf(src.reader)
	if before == nil || now == nil {
		return nil
	}
	for _, role := range []string{"row", "column", "value"} {
		a, here := now[role]
		b, there := before[role]
		var err error
		switch {
		case here != there:
			with := map[bool]string{true: "a", false: "no"}
			err = fmt.Errorf("%w: it has %s %s, %s has %s", text.ErrParts, with[here], role, prev.Name, with[there])
		case a.Word != "" && b.Word != "" && a.Word != b.Word:
			err = fmt.Errorf("%w: the %s is %q here and %q in %s (--columns says which it is)", text.ErrParts, role, a.Name, b.Name, prev.Name)
		}
		if err != nil {
			return &format.ParseError{File: src.Name, Err: err}
		}
	}
	return nil
}

// rolesOf are the columns by their roles; nil if there are no columns.
func rolesOf(r format.Reader) map[string]format.Column {
	d, ok := r.(format.Describer)
	if !ok {
		return nil
	}
	var m map[string]format.Column
	for _, c := range d.Describe().Columns {
		if m == nil {
			m = map[string]format.Column{}
		}
		m[c.Role] = c
	}
	return m
}
