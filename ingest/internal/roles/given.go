package roles

import (
	"fmt"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Given takes the columns that options choose: user, item and perhaps value and time, each by its name,
// in any case, or its number from 1; an empty value is none. An error is format.ErrHeader or
// text.ErrFields.
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

// Explain completes an assignment that has not been made by names; why is the reason.
// It refuses one that has a column twice.
func (a *Assignment) Explain(names []string, why string) error {
	if a.Row == a.Col || a.Row == a.Value || a.Col == a.Value {
		return fmt.Errorf("%w: one column named twice", format.ErrHeader)
	}
	a.Columns, a.Times = nil, nil
	a.settle(names, ReadAll(names), why)
	return nil
}

// Find is the place of a column that is given by name or number. An error is format.ErrHeader,
// for a number text.ErrFields.
func Find(column string, names []string) (int, error) {
	if n, ok := text.ParseIndex([]byte(column)); ok {
		if n < 1 || n > int64(len(names)) {
			return 0, fmt.Errorf("%w: no column %d among %d", text.ErrFields, n, len(names))
		}
		return int(n) - 1, nil
	}
	for _, equal := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i, s := range names {
			if equal(s, column) {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("%w: no column %q", format.ErrHeader, column)
}

// ByName tells whether a column is chosen by its name.
func ByName(columns []string) bool {
	for _, s := range columns {
		if !isNumber(s) && s != "" {
			return true
		}
	}
	return false
}

// isNumber tells whether a text chooses a column by number.
func isNumber(s string) bool {
	_, ok := text.ParseIndex([]byte(s))
	return ok
}
