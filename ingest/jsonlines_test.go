package ingest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// TestJSONLines: lines become a store, or are refused with their place. Package jsonlines tests the syntax.
func TestJSONLines(t *testing.T) {
	for _, c := range []struct {
		name, text string
		o          Options
		want       []triple
		err        error
		says       string
	}{
		{"plain", "\ufeff\r\n" + `{"user": 1, "item": "x", "rating": 4.5}` + "\r\n\r\n" + `{"rating":-3,"item":"y","user":"2"}`, Options{}, []triple{{"1", "x", 4.5}, {"2", "y", -3}}, nil, ""},
		{"ids far apart", `{"user":9223372036854775807,"item":-9223372036854775808,"rating":0}`, Options{}, []triple{{"9223372036854775807", "-9223372036854775808", 0}}, nil, ""},
		{"tolerated", `{"user":1,"item":2}` + "\nnull\n" + `{"user":1}` + "\n" + `{"user":3,"item":4}`, Options{MaxBadLines: 2}, []triple{{"1", "2", 1}, {"3", "4", 1}}, nil, ""},
		{"pretty", "{\n\"user\": 1,\n\"item\": 10}\n", Options{}, nil, format.ErrUnsupported, "jq"},
		{"twice of one place", `{"user":1,"item":2}` + "\n\n" + `{"item":2,"user":"1"}`, Options{}, nil, nil, "in:3: row 1, column 2: more than one entry (the first is at "},
	} {
		rep, got, err := ingestText(t, c.text+"\n", c.o)
		if c.want != nil {
			if err != nil || rep.Format != "jsonl" || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
			}
			continue
		}
		if err == nil || c.err != nil && !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v: %s", c.name, err, c.err, c.says)
		}
	}
}

// TestJSONLinesParts: several inputs may have their keys in different orders, but not different columns.
func TestJSONLinesParts(t *testing.T) {
	a := write(t, "a", `{"user":1,"item":2,"rating":3}`+"\n")
	out, _ := ingested(t, []string{a, write(t, "b", `{"rating":6,"userId":4,"itemId":5}`+"\n")}, Options{})
	if got := contents(t, out); !slices.Equal(got, []triple{{"1", "2", 3}, {"4", "5", 6}}) {
		t.Error(got)
	}
	for _, other := range []string{`{"user":1,"item":3}`, `{"customer":1,"item":3,"rating":4}`} {
		if _, err := Ingest(t.Context(), []string{a, write(t, "b", other+"\n")}, target(t), Options{}); !errors.Is(err, text.ErrParts) {
			t.Error(err)
		}
	}
}

// TestJSONLinesAfterDeath: an ingest of JSON lines that is killed and resumed makes the same store.
func TestJSONLinesAfterDeath(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 3))
	var b strings.Builder
	for i, k := range r.Perm(9000)[:300] {
		fmt.Fprintf(&b, `{"user":"u%d","item":%d,"rating":%d,"notes":[%d]}`+"\n", k/70, k%70, i%5, i)
	}
	u := unlucky{"JSON lines", []string{write(t, "in", b.String())}, Options{}, tiny()}
	u.resumes(t, nil)
}
