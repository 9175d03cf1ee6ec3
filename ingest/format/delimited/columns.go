package delimited

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// columnRoles are the columns of user, item and value, from 0; value −1: every entry is 1.
type columnRoles struct{ user, item, value int }

// knownNames tells whether names say which columns are the users and the items.
func knownNames(names []string) bool {
	all := readNames(names)
	has := map[role]bool{}
	for _, n := range all {
		has[n.role] = true
	}
	return has[userRole] && has[itemRole]
}

// readNames reads all names of a header. Some mean something only beside others.
func readNames(names []string) []columnName {
	all := make([]columnName, len(names))
	for i, s := range names {
		all[i] = readName(s)
	}
	at := func(word string) int {
		return slices.IndexFunc(all, func(c columnName) bool {
			return c.word == word || c.first == word && c.role != valueRole && c.role != timeRole
		})
	}
	for _, pair := range pairs {
		if row, col := at(pair[0]), at(pair[1]); row >= 0 && col >= 0 && row != col {
			all[row] = columnName{role: userRole, word: pair[0]}
			all[col] = columnName{role: itemRole, word: pair[1]}
			break
		}
	}
	return all
}

// assign finds the columns by their names. An error is an format.AmbiguityError.
func (t *table) assign(names []string, header bool) (columnRoles, error) {
	all := readNames(names)
	var ids, aside, values, left []int
	for c, n := range all {
		switch {
		case t.padding(c) && (!header || names[c] == ""):
		case n.role == valueRole:
			values = append(values, c)
		case n.role == timeRole:
		case n.role == asideRole:
			aside = append(aside, c)
		default:
			ids = append(ids, c)
		}
	}
	r := columnRoles{-1, -1, -1}
	if len(ids) < 2 && len(ids)+len(aside) == 2 && !slices.ContainsFunc(aside, func(c int) bool { return t.counts(c, header) }) {
		ids = append(ids, aside...)
		slices.Sort(ids)
	}
	users, items := ofRole(all, ids, userRole), ofRole(all, ids, itemRole)
	switch {
	case len(users) == 1 && len(items) == 1:
		r.user, r.item = users[0], items[0]
	case len(ids) == 2: // the other one of a pair, or the order
		r.user, r.item = ids[0], ids[1]
		if len(users) == 1 && users[0] == ids[1] || len(items) == 1 && items[0] == ids[0] {
			r.user, r.item = ids[1], ids[0]
		}
	case len(ids) < 2 || len(users) == 0 && len(items) == 0:
		return r, t.unassigned(names, ids, values)
	default:
		return r, t.choices(names, users, items, ids, values)
	}
	for _, c := range ids {
		if c != r.user && c != r.item && all[c].role == noRole && t.numeric(c) {
			left = append(left, c)
		}
	}
	switch {
	case len(values) == 1:
		r.value = values[0]
	case len(values) > 1:
		return r, &format.AmbiguityError{Readings: []format.Reading{
			chosen(names, "the value is "+strconv.Quote(names[values[0]]), r.user, r.item, values[0]),
			chosen(names, "it is "+strconv.Quote(names[values[1]]), r.user, r.item, values[1]),
		}}
	case len(left) > 0:
		return r, &format.AmbiguityError{Readings: []format.Reading{
			chosen(names, strconv.Quote(names[left[0]])+" is the value", r.user, r.item, left[0]),
			chosen(names, "there is no value and every entry is 1", r.user, r.item),
		}}
	}
	return r, nil
}

// ofRole are the columns of ids with a role, those of names ("movie_title") only if there are no others.
func ofRole(all []columnName, ids []int, want role) []int {
	var strong, named []int
	for _, c := range ids {
		switch n := all[c]; {
		case n.role != want:
		case n.named:
			named = append(named, c)
		default:
			strong = append(strong, c)
		}
	}
	if len(strong) > 0 {
		return strong
	}
	return named
}

// unassigned: names tell neither users nor items.
func (t *table) unassigned(names []string, ids, values []int) error {
	var cols []int
	for c := range names {
		if !slices.Contains(values, c) && (len(ids) < 2 || slices.Contains(ids, c)) {
			cols = append(cols, c)
		}
	}
	value := slices.Clone(values)
	value = append(value, cols[min(2, len(cols)):]...)
	if len(cols) < 2 || len(value) == 0 {
		return fmt.Errorf("%w: the names of columns tell neither users nor items", format.ErrHeader)
	}
	return &format.AmbiguityError{Readings: []format.Reading{
		chosen(names, fmt.Sprintf("the value is %q", names[value[0]]), cols[0], cols[1], value[0]),
		chosen(names, "there is none and every entry is 1", cols[0], cols[1]),
	}}
}

// choices: several columns can be the users or the items.
func (t *table) choices(names []string, users, items, ids, values []int) error {
	others := func(not []int) (cols []int) {
		for _, c := range ids {
			if !slices.Contains(not, c) {
				cols = append(cols, c)
			}
		}
		return cols
	}
	if len(users) == 0 {
		users = others(items)
	}
	if len(items) == 0 {
		items = others(users)
	}
	var e format.AmbiguityError
	for _, u := range users {
		for _, i := range items {
			if u != i && len(e.Readings) < 3 {
				cols := append([]int{u, i}, values[:min(1, len(values))]...)
				e.Readings = append(e.Readings, chosen(names, fmt.Sprintf("%q by %q", names[u], names[i]), cols...))
			}
		}
	}
	if len(e.Readings) < 2 {
		return t.unassigned(names, ids, values)
	}
	return &e
}

// chosen is the reading that --columns selects, by names where they can stand there.
func chosen(names []string, what string, cols ...int) format.Reading {
	args := make([]string, len(cols))
	for i, c := range cols {
		args[i] = names[c]
		same := 0
		for _, n := range names {
			if strings.EqualFold(n, args[i]) {
				same++
			}
		}
		if _, isIndex := text.ParseIndex([]byte(args[i])); same > 1 || isIndex || args[i] == "" || strings.ContainsAny(args[i], ", \t'\"$`\\*?!&;|<>()") {
			return format.Reading{Text: what, Flag: "--columns " + numbered(cols)}
		}
	}
	return format.Reading{Text: what, Flag: "--columns " + strings.Join(args, ",")}
}

func numbered(cols []int) string {
	args := make([]string, len(cols))
	for i, c := range cols {
		args[i] = strconv.Itoa(c + 1)
	}
	return strings.Join(args, ",")
}

// positional takes the first columns, unless what they hold speaks against it.
func (t *table) positional(header, movieLens bool) (columnRoles, error) {
	n := len(t.first)
	for n > 2 && t.padding(n-1) {
		n--
	}
	r := columnRoles{0, 1, 2}
	if n == 2 {
		r.value = -1
		return r, nil
	}
	numbers := func(what string, cols ...int) format.Reading {
		return format.Reading{Text: what, Flag: "--columns " + numbered(cols)}
	}
	pairs := numbers("it is no value and every entry is 1", 0, 1)
	counted := t.counts(0, header)
	integers := func(s string) bool { return isInteger(s) && !strings.HasPrefix(s, "-") }
	switch {
	case header && t.first[0] == "":
		counted := numbers("the first column only counts the lines", 1, 2)
		if n > 3 {
			counted = numbers(counted.Text, 1, 2, 3)
		}
		return r, &format.AmbiguityError{Readings: []format.Reading{counted, numbers("it is the user", 0, 1, 2)}}
	case movieLens:
	case t.all(0, header, isDate):
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers("the dates of the first column are the users", 0, 1, 2), numbers("the columns behind them are user and item", 1, 2)}}
	case n == 4 && t.all(2, header, isTime):
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers("the third column is the value", 0, 1, 2), numbers("it is a time, and the fourth the value", 0, 1, 3)}}
	case t.all(2, header, isTime):
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers("the third column is the value", 0, 1, 2), {Text: "it is a time, no value, and every entry is 1", Flag: pairs.Flag}}}
	case n == 4 && t.all(3, header, isTime):
	case n > 3 && counted:
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers("the first column is the user, the third the value", 0, 1, 2), numbers("the first column only counts the lines", 1, 2, 3)}}
	case n > 3:
		what := fmt.Sprintf("the value is the third of %d columns without names", n)
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers(what, 0, 1, 2), pairs}}
	case counted && len(t.rest) >= 20 && t.first[0] == "0" && t.all(2, header, integers) && !t.counts(1, header):
		return r, &format.AmbiguityError{Readings: []format.Reading{numbers("the first column is the user, the third the value", 0, 1, 2), numbers("the first column only counts the lines", 1, 2)}}
	}
	return r, nil
}
