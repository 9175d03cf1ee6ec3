package recommend

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/factor"
)

// Numbers are the numbers of rows or columns with ids, ascending, each once. what is "row" or "column".
func Numbers(names *factor.Names, what string, ids []string) ([]int64, error) {
	var numbers []int64
	for i, id := range ids {
		n, err := names.Index(id)
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, fmt.Errorf("%s %q: the result has no %s with that id (%d of %d): give ids as the file that was ingested has them", what, id, what, i+1, len(ids))
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
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
