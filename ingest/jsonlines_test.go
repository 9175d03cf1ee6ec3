package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/jsonlines"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

func TestJSONLines(t *testing.T) {
	two := []triple{{"1", "x", 4.5}, {"2", "y", -3}}
	for _, c := range []struct {
		name, text string
		o          Options
		want       []triple
		err        error
		says       string
	}{
		{"plain", `{"user": 1, "item": "x", "rating": 4.5}` + "\n" + `{"rating":-3,"item":"y","user":"2"}`, Options{}, two, nil, ""},
		{"other names, other keys", "\ufeff\r\n" + ` { "timestamp" : 978300760 , "tags":["a",{"b":[]}] , "reviewerID":1,"asin":"x","overall":4.5 } ` + "\r\n\r\n" + `{"asin":"y","overall":-3.0,"reviewerID":2,"tags":null}` + "\r\n", Options{}, two, nil, ""},
		{"escapes", `{"us\u0065r":1,"item":"\u0078","rating":4.5}` + "\n" + `{"user":2,"item":"y","rating":"-3","note":"\"\\ \ud83d\ude00"}`, Options{}, two, nil, ""},
		{"no values", `{"user":"ü","item":"\u00fc"}`, Options{}, []triple{{"ü", "ü", 1}}, nil, ""},
		{"booleans", `{"user":1,"item":2,"liked":true}` + "\n" + `{"user":1,"item":3,"liked":false}`, Options{Columns: []string{"user", "item", "liked"}}, []triple{{"1", "2", 1}, {"1", "3", 0}}, nil, ""},
		{"keys chosen", `{"a":1,"b":2,"c":3}`, Options{Columns: []string{"c", "A"}}, []triple{{"3", "1", 1}}, nil, ""},
		{"numbers of one spelling", `{"user":1.0,"item":1e3,"rating":1E+2}` + "\n" + `{"user":-0,"item":1000.0,"rating":0.5}`, Options{}, []triple{{"0", "1000", 0.5}, {"1", "1000", 100}}, nil, ""},
		{"ids far apart", `{"user":9223372036854775807,"item":-9223372036854775808,"rating":0}`, Options{}, []triple{{"9223372036854775807", "-9223372036854775808", 0}}, nil, ""},
		{"a nested value is not taken", `{"user":{"id":1},"customer":1,"item":"x","rating":2}`, Options{}, []triple{{"1", "x", 2}}, nil, ""},
		{"tolerated", `{"user":1,"item":2}` + "\nnull\n" + `{"user":1}` + "\n" + `{"user":3,"item":4}`, Options{MaxBadLines: 2}, []triple{{"1", "2", 1}, {"3", "4", 1}}, nil, ""},

		{"missing", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":5}`, Options{}, nil, nil, `in:2: rating "{\"user\":1,\"item\":5}": missing key; expected {"user": …, "item": …, "rating": …}`},
		{"null", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":null,"rating":3}`, Options{}, nil, nil, `in:2:18: item "null": null; expected`},
		{"nested", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":[1],"item":1,"rating":3}`, Options{}, nil, nil, `in:2:9: user "[1]": a list or an object`},
		{"twice", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3,"rating":4}`, Options{}, nil, nil, `in:2:40: rating "4": the key is there twice`},
		{"broken", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3`, Options{}, nil, jsonlines.ErrSyntax, `in:2:29: "{\"user\":1,\"item\":1,\"rating\":3": not a JSON object: unexpected end of JSON input`},
		{"more behind", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3} x`, Options{}, nil, jsonlines.ErrSyntax, "in:2:32: "},
		{"not an object", `{"user":1,"item":2,"rating":3}` + "\n" + `[1,2,3]`, Options{}, nil, jsonlines.ErrSyntax, `in:2: "[1,2,3]": not a JSON object; expected`},
		{"NaN", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":NaN}`, Options{}, nil, jsonlines.ErrSyntax, "invalid character 'N'"},
		{"NaN as text", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":"NaN"}`, Options{}, nil, format.ErrNotFinite, ""},
		{"overflow", `{"user":1,"item":2,"rating":1e999}`, Options{}, nil, format.ErrOverflow, ""},
		{"value of words", `{"user":1,"item":2,"rating":"good"}`, Options{Columns: []string{"user", "item", "rating"}}, nil, text.ErrNumber, `in:1:29: rating "good": not a number`},
		{"fraction as id", `{"user":1.5,"item":2,"rating":3}`, Options{}, nil, nil, `in:1:9: user "1.5": not an integer`},
		{"integer beyond float64", `{"user":1e17,"item":2,"rating":3}`, Options{}, nil, nil, "not an integer"},
		{"boolean id", `{"user":true,"item":2,"rating":3}`, Options{}, nil, nil, "true or false as an id"},
		{"empty id", `{"user":"","item":2,"rating":3}`, Options{}, nil, text.ErrEmptyField, ""},
		{"half of a pair", `{"user":"\ud800","item":2,"rating":3}`, Options{}, nil, nil, "not UTF-8"},
		{"Latin-1", "{\"user\":\"\xfc\",\"item\":2,\"rating\":3}", Options{}, nil, nil, "not UTF-8"},
		{"no such key", `{"user":1,"item":2}`, Options{Columns: []string{"user", "film"}}, nil, format.ErrHeader, `no column "film"`},
		{"nested value", `{"user":1,"item":2,"rating":{"$numberInt":"3"}}`, Options{}, nil, format.ErrUnsupported, `"rating" holds no value`},
		{"null value", `{"user":1,"item":2,"rating":null}`, Options{}, nil, format.ErrUnsupported, "--columns chooses others"},
		{"null value not chosen", `{"user":1,"item":2,"rating":null}`, Options{Columns: []string{"user", "item"}}, []triple{{"1", "2", 1}}, nil, ""},
		{"null value, events", `{"user":1,"item":2,"rating":null}`, Options{Events: true}, []triple{{"1", "2", 1}}, nil, ""},
		{"two values", `{"user":1,"item":2,"rating":3,"count":4}`, Options{}, nil, errAmbiguous, "--columns user,item,count"},
		{"pretty", "{\n\"user\": 1,\n\"item\": 10}\n", Options{}, nil, format.ErrUnsupported, "jq"},
		{"twice of one place", `{"user":1,"item":2}` + "\n\n" + `{"item":2,"user":"1"}`, Options{}, nil, nil, "in:3: row 1, column 2: more than one entry (the first is at "},
	} {
		rep, got, err := ingestText(t, c.text+"\n", c.o)
		if c.want != nil {
			slices.SortFunc(c.want, compareTriples)
			if err != nil || rep.Format != "jsonl" || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
			}
			continue
		}
		var ae *format.AmbiguityError
		if err == nil || c.err == errAmbiguous && !errors.As(err, &ae) || c.err != errAmbiguous && c.err != nil && !errors.Is(err, c.err) ||
			!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v: %s", c.name, err, c.err, c.says)
		}
	}
}

// TestJSONLinesParts: inputs agree, whatever the order of their keys.
func TestJSONLinesParts(t *testing.T) {
	a := write(t, "a", `{"user":1,"item":2,"rating":3}`+"\n")
	out := target(t)
	mustIngest(t, []string{a, write(t, "b", `{"rating":6,"userId":4,"itemId":5}`+"\n")}, out, Options{})
	if got := contents(t, out); !slices.Equal(got, []triple{{"1", "2", 3}, {"4", "5", 6}}) {
		t.Error(got)
	}
	for _, other := range []string{`{"user":1,"item":3}`, `{"customer":1,"item":3,"rating":4}`} {
		if _, err := Ingest(t.Context(), []string{a, write(t, "b", other+"\n")}, target(t), Options{}); !errors.Is(err, text.ErrParts) {
			t.Error(err)
		}
	}
}

// TestJSONLinesAfterDeath: lines that have been taken are not read again.
func TestJSONLinesAfterDeath(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 3))
	var b strings.Builder
	for i, k := range r.Perm(9000)[:300] {
		fmt.Fprintf(&b, `{"user":"u%d","item":%d,"rating":%d,"notes":[%d]}`+"\n", k/70, k%70, i%5, i)
	}
	u := unlucky{"JSON lines", []string{write(t, "in", b.String())}, Options{}, tiny()}
	whole := target(t)
	rep, _, err := u.run(t, whole, -1)
	if err != nil || rep.Runs < 3 || rep.SpilledBytes == 0 {
		t.Fatalf("%+v, %v", rep, err)
	}
	resumesAfterDeath(t, &u, whole, rep)
}

// naiveJSON reads one line with encoding/json alone.
func naiveJSON(l []byte, keys []string) (e triple, ok bool) {
	d := json.NewDecoder(bytes.NewReader(l))
	d.UseNumber()
	var all map[string]any
	if !json.Valid(l) || d.Decode(&all) != nil || all == nil {
		return e, false
	}
	d = json.NewDecoder(bytes.NewReader(l))
	times, depth, isKey := map[string]int{}, 0, false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth == 1 {
				isKey = true
				continue
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 1 {
			if name, text := tok.(string); isKey && text {
				times[name]++
			}
			isKey = !isKey
		}
	}
	id := func(key string) (string, bool) {
		switch x := all[key].(type) {
		case string:
			return x, x != "" && times[key] == 1
		case json.Number:
			if _, isID := format.ParseID([]byte(x)); isID {
				return x.String(), times[key] == 1
			}
			f, err := x.Float64()
			if err != nil || math.Abs(f) > 1<<53 || f != math.Trunc(f) {
				return "", false
			}
			return strconv.FormatInt(int64(f), 10), times[key] == 1
		}
		return "", false
	}
	var u, i bool
	e.Row, u = id(keys[0])
	e.Col, i = id(keys[1])
	value, err := 0.0, error(nil)
	switch x := all[keys[2]].(type) {
	case bool:
		if x {
			value = 1
		}
	case string:
		value, err = naiveFloat(x)
	case json.Number:
		value, err = naiveFloat(x.String())
	default:
		return e, false
	}
	e.Val = value + 0
	return e, u && i && err == nil && times[keys[2]] == 1
}

// FuzzJSONLines: what is accepted is what encoding/json reads.
func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{
		`{"user":1,"item":"x","rating":4.5}`, `{"rating":"1e3","user":"a\u0062","item":-0,"x":[{"user":2}]}`, `{"user":1,"user":2,"item":1,"rating":1}`,
		`{"user":01,"item":1,"rating":1}`, `{"user":1.,"item":1,"rating":1}`, `{"user":1,"item":1,"rating":true,}`, `{}`, `{"user":1,"item":1,"rating":nul}`, `{"user":1e2,"item":1,"rating":-}`,
		"{\"user\":\"\x01\",\"item\":1,\"rating\":1}", `{"user":"\ud83d\ude00","item":"\"","rating":""}`, `{"a":{},"user":1,"item":2,"rating":.5}`, `{"user":1,"item":2,"rating":0}}`,
	} {
		f.Add(s)
	}
	first := `{"user":1,"item":2,"rating":3}`
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") || strings.Trim(line, " \t") == "" || !utf8.ValidString(line) || strings.Contains(line, `\u`) && strings.Contains(strings.ToLower(line), `\ud`) {
			t.Skip("no line, or no text")
		}
		want, ok := naiveJSON([]byte(line), []string{"user", "item", "rating"})
		got, _, err := parseAll([]byte(first+"\n"+line), Options{Format: "jsonl", Columns: []string{"user", "item", "rating"}}, format.ChunkBytes)
		var pe *format.ParseError
		switch {
		case ok && err != nil:
			t.Fatalf("%q: %v, want %v", line, err, want)
		case ok && (len(got) != 2 || got[1] != want):
			t.Fatalf("%q: %v, want %v", line, got, want)
		case !ok && (!errors.As(err, &pe) || pe.Line != 2 || strings.Contains(err.Error(), "\n")):
			t.Fatalf("%q: %v, %v, want an error at line 2", line, got, err)
		}
	})
}
