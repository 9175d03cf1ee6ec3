package recommend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/factor"
)

// Numbers are the numbers of rows or columns with ids, or with titles (see [Titled]), ascending, each once. what is "row" or
// "column".
func Numbers(names *factor.Names, what string, ids []string) ([]int64, error) {
	var numbers []int64
	for i, id := range ids {
		n, err := names.Index(id)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			if n, err = Titled(names, what, id); err != nil {
				return nil, err
			}
		}
		if n < 0 {
			return nil, fmt.Errorf("%s %q: the result has no %s with that id (%d of %d): give ids as the file that was ingested has them", what, id, what, i+1, len(ids))
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// Titled is the number of the row or column with a title, or else of the only one whose title begins with the text, whatever
// the case of its letters; −1 if there is none. The error lists several.
func Titled(names *factor.Names, what, text string) (int64, error) {
	if !names.Titled() || text == "" {
		return -1, nil
	}
	const listed = 5
	var exact, begin []int64
	folded := strings.ToLower(text)
	for i := range names.Count() {
		title, err := names.Title(i)
		switch {
		case err != nil:
			return -1, err
		case title == text:
			exact = append(exact, i)
		case strings.HasPrefix(strings.ToLower(title), folded):
			begin = append(begin, i)
		}
	}
	if len(exact) > 0 {
		begin = exact
	}
	switch len(begin) {
	case 0:
		return -1, nil
	case 1:
		return begin[0], nil
	}
	var all []string
	for _, i := range begin[:min(listed, len(begin))] {
		name, err := names.At(i)
		if err != nil {
			return -1, err
		}
		all = append(all, fmt.Sprint(name))
	}
	more := ""
	if len(begin) > listed {
		more = fmt.Sprintf(" and %d more", len(begin)-listed)
	}
	return -1, fmt.Errorf("%s %q is the title of several: %s%s; give the id of one", what, text, strings.Join(all, ", "), more)
}

// ParseIDs reads ids, one a line. Lines without one are left out.
func ParseIDs(text []byte) (ids []string) {
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\uFEFF"))) {
		if id := strings.TrimSpace(string(line)); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
