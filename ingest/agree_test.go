package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// tabled returns the format footed with a Reader that describes columns of the given names.
func tabled(names ...string) format.Format {
	f := footed
	f.Open = func(in *format.Input) (format.Reader, error) {
		r, err := footed.Open(in)
		if err != nil {
			return nil, err
		}
		var fields []roles.Field
		for _, n := range names {
			fields = append(fields, roles.Field{Name: n, Numeric: true})
		}
		a, err := roles.Assign(fields, in.Events)
		return &tabledReader{r, a}, err
	}
	return f
}

type tabledReader struct {
	format.Reader
	roles roles.Assignment
}

func (r *tabledReader) Describe() format.Description {
	return format.Description{Columns: r.roles.Columns}
}

// TestPartsOfSeveralFormatsAgree: inputs of different formats need columns of the same roles, in any order.
func TestPartsOfSeveralFormatsAgree(t *testing.T) {
	binary := footedFile([][3]int64{{7, 8, 9}}, 1)
	for _, c := range []struct {
		text  string
		names []string
		says  string // part of the error; "": the inputs agree
	}{
		{"rating,item,user\n3,10,1\n", []string{"user_id", "item_id", "ratings"}, ""},
		{"1,10,3\n", []string{"user", "item", "rating"}, ""},
		{"user,item,rating\n1,10,3\n", []string{"session", "item", "rating"}, `the row is "session" here and "user"`},
		{"user,item,rating\n1,10,3\n", []string{"user", "item", "plays"}, `the value is "plays" here and "rating"`},
		{"user,item\n1,10\n", []string{"user", "item", "plays"}, "it has a value"},
		{"user,item,rating\n1,10,3\n", []string{"user", "item", "time"}, "it has no value"},
	} {
		o := Options{Formats: []format.Format{tabled(c.names...)}}
		out := target(t)
		_, err := Ingest(t.Context(), []string{write(t, "a", c.text), write(t, "b", binary)}, out, o)
		if c.says != "" {
			if !errors.Is(err, text.ErrParts) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%q and %q: %v", c.text, c.names, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q and %q: %v", c.text, c.names, err)
		} else if got, want := contents(t, out), []triple{{"1", "10", 3}, {"7", "8", 9}}; !slices.Equal(got, want) {
			t.Errorf("%q and %q: %v", c.text, c.names, got)
		}
	}
}
