package report

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gdsvd/gdsvd/internal/budget"
)

// labels holds the label of each row of U, or of V if there is no U, and the colours of the labels.
type labels struct {
	names   []string // names of the colours; the last one is for rows without a label
	colours []int
	of      []uint16 // label of each row, numbered in the order of their first lines; 0: none
	by      []int    // index in names of each label
}

const (
	mostLabels   = 4096 // largest number of different labels
	mostColoured = 9    // largest number of labels with a colour of their own; the others share one
	labelLine    = 1 << 20
)

// readLabels reads a file with lines of an id, a tab or, in a file without tabs in its first line, a comma, and a label. Its first line may be
// a header.
func readLabels(ctx context.Context, o Options, v *vectors) (_ *labels, err error) {
	if 2*v.N > o.Memory/2 {
		return nil, &budget.Error{Budget: o.Memory, Need: 4 * v.N, What: fmt.Sprintf("labels of %d %s", v.N, v.many)}
	}
	f, err := o.FS.Open(o.Labels)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l := &labels{of: make([]uint16, v.N)}
	number, names, sizes := map[string]uint16{}, []string{""}, []int64{v.N}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, labelLine)
	separator := ""
	n, unknown, first := 0, 0, ""
	for lines.Scan() {
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line := strings.TrimSuffix(lines.Text(), "\r")
		if n == 1 {
			line = strings.TrimPrefix(line, "\uFEFF") // the mark of UTF-8 that spreadsheets write
		}
		if line == "" {
			continue
		}
		if separator == "" {
			separator = "\t"
			if !strings.Contains(line, separator) {
				separator = ","
			}
		}
		id, label, found := strings.Cut(line, separator)
		if !found {
			return nil, fmt.Errorf("%s: line %d: %.60q: want an id, a %s and a label", o.Labels, n, line, map[string]string{"\t": "tab", ",": "comma or tab"}[separator])
		}
		at, err := v.names.Index(id)
		if bare := strings.TrimSpace(id); at < 0 && err == nil && bare != id {
			at, err = v.names.Index(bare)
		}
		if err != nil {
			return nil, err
		}
		if at < 0 {
			if n > 1 {
				unknown++
				if unknown == 1 {
					first = fmt.Sprintf("%.60q in line %d", id, n)
				}
			}
			continue
		}
		label = strings.Trim(strings.TrimSpace(label), `"`)
		k, known := number[label]
		if !known {
			if len(names) > mostLabels {
				return nil, fmt.Errorf("%s: line %d: there are more than %d different labels: give classes, not names", o.Labels, n, mostLabels)
			}
			k = uint16(len(names))
			number[label], names, sizes = k, append(names, label), append(sizes, 0)
		}
		switch before := l.of[at]; {
		case before == k:
		case before != 0:
			return nil, fmt.Errorf("%s: line %d: %s %.60q has the labels %.60q and %.60q: give it one", o.Labels, n, v.one, id, names[before], label)
		default:
			l.of[at] = k
			sizes[0]--
			sizes[k]++
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%s: line %d is longer than %d bytes: want an id and a label", o.Labels, n+1, labelLine)
	case err != nil:
		return nil, err
	case len(names) == 1:
		return nil, fmt.Errorf("%s: no line begins with the id of one of the %s: want an id, a tab or comma, and a label in each", o.Labels, v.many)
	case 2*unknown > n:
		return nil, fmt.Errorf("%s: %d of %d ids, such as %s, are not among the %s of the result", o.Labels, unknown, n, first, v.many)
	}
	l.rank(names, sizes)
	return l, nil
}

// rank gives the most frequent labels colours; of equals, those that come first in the alphabet.
func (l *labels) rank(names []string, sizes []int64) {
	order := make([]int, 0, len(names))
	for k := 1; k < len(names); k++ {
		order = append(order, k)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(sizes[b], sizes[a]), strings.Compare(names[a], names[b]))
	})
	own := order[:min(len(order), mostColoured)]
	if len(order) == mostColoured+1 {
		own = order
	}
	slices.SortFunc(own, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	l.by = make([]int, len(names))
	for i, k := range own {
		l.by[k] = i
		l.names, l.colours = append(l.names, names[k]), append(l.colours, i)
	}
	if rest := order[len(own):]; len(rest) > 0 {
		for _, k := range rest {
			l.by[k] = len(l.names)
		}
		l.names, l.colours = append(l.names, fmt.Sprintf("%d others", len(rest))), append(l.colours, 9)
	}
	l.by[0] = len(l.names)
	l.names, l.colours = append(l.names, "no label"), append(l.colours, 10)
	if sizes[0] == 0 {
		l.names, l.colours = l.names[:len(l.names)-1], l.colours[:len(l.colours)-1]
	}
}

func (l *labels) colour(i int64) int { return l.by[l.of[i]] }

func (l *labels) key() (text markup) {
	for i, name := range l.names {
		text += key(l.colours[i], markedUp("<bdi>%s</bdi>", short(name)))
	}
	return text
}
