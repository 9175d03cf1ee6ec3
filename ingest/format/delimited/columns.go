package delimited

import (
	"fmt"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
)

// fieldsOf are the columns with their names, as far as their content is known.
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

// positional takes the first columns, unless what they hold speaks against it. events: there is no value.
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
