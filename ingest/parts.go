package ingest

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// agree returns an error if the roles of the columns differ from those of the input before, whatever the formats are.
// Separators, the order of columns, and columns without a role may differ.
func (src *source) agree(prev *source) error {
	if prev == nil {
		return nil
	}
	before, now := rolesOfPart(prev.reader), rolesOfPart(src.reader)
	if before == nil || now == nil {
		return nil
	}
	role, lacks := now.unlike(before)
	if role == "" {
		return nil
	}
	err := fmt.Errorf("%w: the %s is %q here and %q in %s (--columns says which it is)", text.ErrParts, role, now.names[role], before.names[role], prev.Name)
	if _, here := now.At[role]; lacks {
		with := map[bool]string{true: "a", false: "no"}
		err = fmt.Errorf("%w: it has %s %s, %s has %s", text.ErrParts, with[here], role, prev.Name, with[!here])
	}
	return &format.ParseError{File: src.Name, Err: err}
}

// described returns the description of a reader; it is empty if the reader is no format.Describer.
func described(r format.Reader) (d format.Description) {
	if about, ok := r.(format.Describer); ok {
		d = about.Describe()
	}
	return d
}

type partRoles struct {
	Header bool              // column names determine the roles, not positions
	Words  map[string]string // by role: the word of the column name that determines it
	At     map[string]int    // by role: its column, from 0
	names  map[string]string
}

var matrixRoles = []string{"row", "column", "value"}

// unlike returns the first role that only one of two inputs has, or that different words determine; "": none.
func (p *partRoles) unlike(q *partRoles) (role string, lacks bool) {
	for _, role := range matrixRoles {
		_, here := p.At[role]
		_, there := q.At[role]
		if a, b := p.Words[role], q.Words[role]; here != there || a != "" && b != "" && a != b {
			return role, here != there
		}
	}
	return "", false
}

func rolesOfPart(r format.Reader) *partRoles {
	about := described(r)
	if len(about.Columns) == 0 {
		return nil
	}
	p := &partRoles{Header: about.Header != format.HeaderNo, Words: map[string]string{}, At: map[string]int{}, names: map[string]string{}}
	for i, c := range about.Columns {
		if slices.Contains(matrixRoles, c.Role) {
			p.At[c.Role], p.names[c.Role] = i, c.Name
			if c.Word != "" {
				p.Words[c.Role] = c.Word
			}
		}
	}
	return p
}

// text returns the form of roles in a manifest: "row user 0, column item 1, value - 2, header".
func (p *partRoles) text() string {
	var parts []string
	for _, role := range matrixRoles {
		if at, ok := p.At[role]; ok {
			parts = append(parts, fmt.Sprintf("%s %s %d", role, cmp.Or(p.Words[role], "-"), at))
		}
	}
	if p.Header {
		parts = append(parts, "header")
	}
	return strings.Join(parts, ", ")
}

// rolesIn parses the form of text; nil if v has another form.
func rolesIn(v any) *partRoles {
	s, ok := v.(string)
	if !ok {
		return nil
	}
	p := &partRoles{Words: map[string]string{}, At: map[string]int{}}
	for _, part := range strings.Split(s, ", ") {
		f := strings.Split(part, " ")
		switch {
		case part == "header":
			p.Header = true
		case len(f) == 3:
			at, err := strconv.Atoi(f[2])
			if err != nil {
				return nil
			}
			p.At[f[0]] = at
			if f[1] != "-" {
				p.Words[f[0]] = f[1]
			}
		}
	}
	return p
}

// follows returns an error for an input whose columns may differ from those of the inputs of the store.
func (b *base) follows(src *source, o request) error {
	now := rolesOfPart(src.reader)
	if b.roles == nil || now == nil {
		return nil
	}
	fail := func(text string, args ...any) error {
		return &format.ParseError{File: src.Name, Line: 1, Err: fmt.Errorf(text, args...)}
	}
	switch role, lacks := now.unlike(b.roles); {
	case lacks:
		return fail("it has a %s or not, unlike the inputs of %s", role, b.path)
	case role != "":
		return fail("the %s is %q here and was %q in the inputs of %s", role, now.Words[role], b.roles.Words[role], b.path)
	}
	if (!now.Header || !b.roles.Header) && len(o.Columns) == 0 && !reflect.DeepEqual(now.At, b.roles.At) {
		return fail("its columns would be read in another order than those of the inputs of %s (give it a header)", b.path)
	}
	return nil
}
