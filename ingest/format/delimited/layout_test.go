package delimited

import (
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
)

// FuzzColumns: for any first lines, the columns found are distinct and within the fields, or the error is one line.
func FuzzColumns(f *testing.F) {
	for _, s := range []string{
		"user,item,rating\n1,2,3\n", "1::2::3::978300760\n", "a,b\nc,d\n", ",user,item,rating\n0,1,10,3.5\n", "1,10,3,\n2,11,4,\n", "i j x\n1 2 3\n",
		"id,user,rating\n5,7,4\n9,8,3\n", "# item user rating\n10 1 3\n", "0,1,2\n1,10,3.5\n", "when,who,what,stars\nx,1,10,3\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []struct {
			in format.Input
			o  Options
		}{
			{}, {format.Input{Chosen: true}, Options{Header: format.HeaderYes}}, {o: Options{Header: format.HeaderNo}},
			{in: format.Input{Format: movieLens, Chosen: true}}, {in: format.Input{Columns: []string{"2", "1"}}},
		} {
			in := c.in
			data, _ := formattest.Input([]byte(text))
			in.Stream = data.Stream
			r, err := c.o.open(&in)
			if err != nil {
				if strings.ContainsAny(err.Error(), "\n\r") {
					t.Errorf("%+v: error of several lines: %q", in, err)
				}
				continue
			}
			if p := r.(*reader); p.user == p.item || p.user == p.value || p.item == p.value || max(p.user, p.item, p.value) >= p.fields {
				t.Errorf("%+v: columns %d, %d, %d of %d", in, p.user, p.item, p.value, p.fields)
			}
		}
	})
}
