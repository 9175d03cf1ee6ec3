package jsonlines

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// triple is one entry, by ids or by indices from 0.
type triple formattest.Triple

// read reads lines with the given keys, or as events.
func read(lines string, columns []string, events bool) (entries []triple, err error) {
	in, _ := formattest.Input([]byte(lines))
	in.Columns, in.Events = columns, events
	all, err := formattest.Read(Format, in, format.ChunkBytes)
	for _, e := range all {
		entries = append(entries, triple(e))
	}
	return entries, err
}

// errAmbiguous stands for any *format.AmbiguityError.
var errAmbiguous = errors.New("ambiguous")

func TestJSONLines(t *testing.T) {
	two := []triple{{"1", "x", 4.5}, {"2", "y", -3}}
	for _, c := range []struct {
		name, text string
		columns    []string
		want       []triple
		err        error
		says       string
	}{
		{"plain", `{"user": 1, "item": "x", "rating": 4.5}` + "\n" + `{"rating":-3,"item":"y","user":"2"}`, nil, two, nil, ""},
		{"other names, other keys", "\ufeff\r\n" + ` { "timestamp" : 978300760 , "tags":["a",{"b":[]}] , "reviewerID":1,"asin":"x","overall":4.5 } ` + "\r\n\r\n" + `{"asin":"y","overall":-3.0,"reviewerID":2,"tags":null}` + "\r\n", nil, two, nil, ""},
		{"escapes", `{"us\u0065r":1,"item":"\u0078","rating":4.5}` + "\n" + `{"user":2,"item":"y","rating":"-3","note":"\"\\ \ud83d\ude00"}`, nil, two, nil, ""},
		{"no values", `{"user":"ü","item":"\u00fc"}`, nil, []triple{{"ü", "ü", 1}}, nil, ""},
		{"booleans", `{"user":1,"item":2,"liked":true}` + "\n" + `{"user":1,"item":3,"liked":false}`, []string{"user", "item", "liked"}, []triple{{"1", "2", 1}, {"1", "3", 0}}, nil, ""},
		{"keys chosen", `{"a":1,"b":2,"c":3}`, []string{"c", "A"}, []triple{{"3", "1", 1}}, nil, ""},
		{"numbers of one spelling", `{"user":1.0,"item":1e3,"rating":1E+2}` + "\n" + `{"user":-0,"item":1000.0,"rating":0.5}`, nil, []triple{{"1", "1000", 100}, {"0", "1000", 0.5}}, nil, ""},
		{"ids far apart", `{"user":9223372036854775807,"item":-9223372036854775808,"rating":0}`, nil, []triple{{"9223372036854775807", "-9223372036854775808", 0}}, nil, ""},
		{"ids beyond int64", `{"user":18446744073709551615,"item":-9223372036854775809,"rating":0}`, nil, []triple{{"18446744073709551615", "-9223372036854775809", 0}}, nil, ""},
		{"a nested value is not taken", `{"user":{"id":1},"customer":1,"item":"x","rating":2}`, nil, []triple{{"1", "x", 2}}, nil, ""},

		{"missing", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":5}`, nil, nil, nil, `in:2: rating "{\"user\":1,\"item\":5}": missing key; expected {"user": …, "item": …, "rating": …}`},
		{"null", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":null,"rating":3}`, nil, nil, nil, `in:2:18: item "null": null; expected`},
		{"nested", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":[1],"item":1,"rating":3}`, nil, nil, nil, `in:2:9: user "[1]": a list or an object`},
		{"twice", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3,"rating":4}`, nil, nil, nil, `in:2:40: rating "4": the key is there twice`},
		{"broken", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3`, nil, nil, ErrSyntax, `in:2:29: "{\"user\":1,\"item\":1,\"rating\":3": not a JSON object: unexpected end of JSON input`},
		{"more behind", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":3} x`, nil, nil, ErrSyntax, "in:2:32: "},
		{"not an object", `{"user":1,"item":2,"rating":3}` + "\n" + `[1,2,3]`, nil, nil, ErrSyntax, `in:2: "[1,2,3]": not a JSON object; expected`},
		{"NaN", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":NaN}`, nil, nil, ErrSyntax, "invalid character 'N'"},
		{"NaN as text", `{"user":1,"item":2,"rating":3}` + "\n" + `{"user":1,"item":1,"rating":"NaN"}`, nil, nil, format.ErrNotFinite, ""},
		{"overflow", `{"user":1,"item":2,"rating":1e999}`, nil, nil, format.ErrOverflow, ""},
		{"value of words", `{"user":1,"item":2,"rating":"good"}`, []string{"user", "item", "rating"}, nil, text.ErrNumber, `in:1:29: rating "good": not a number`},
		{"fraction as id", `{"user":1.5,"item":2,"rating":3}`, nil, nil, nil, `in:1:9: user "1.5": not an integer`},
		{"integer beyond float64", `{"user":1e17,"item":2,"rating":3}`, nil, nil, nil, "not an integer"},
		{"integers with a point or an exponent", `{"user":-20.0,"item":0.12e2,"rating":3}` + "\n" + `{"user":9007199254740992.0,"item":120e-1,"rating":3}` + "\n" + `{"user":-0.0,"item":0e9,"rating":3}`, nil,
			[]triple{{"-20", "12", 3}, {"9007199254740992", "12", 3}, {"0", "0", 3}}, nil, ""},
		{"fraction that a float64 rounds away", `{"user":1.00000000000000000001,"item":2,"rating":3}`, nil, nil, nil, "not an integer"},
		{"fraction that a float64 rounds to 0", `{"user":1e-400,"item":2,"rating":3}`, nil, nil, nil, "not an integer"},
		{"odd integer that a float64 rounds", `{"user":9007199254740993.0,"item":2,"rating":3}`, nil, nil, nil, "not an integer"},
		{"boolean id", `{"user":true,"item":2,"rating":3}`, nil, nil, nil, "true or false as an id"},
		{"empty id", `{"user":"","item":2,"rating":3}`, nil, nil, text.ErrEmptyField, ""},
		{"half of a pair", `{"user":"\ud800","item":2,"rating":3}`, nil, nil, nil, "not UTF-8"},
		{"Latin-1", "{\"user\":\"\xfc\",\"item\":2,\"rating\":3}", nil, nil, nil, "not UTF-8"},
		{"no such key", `{"user":1,"item":2}`, []string{"user", "film"}, nil, format.ErrHeader, `no column "film"`},
		{"nested value", `{"user":1,"item":2,"rating":{"$numberInt":"3"}}`, nil, nil, format.ErrUnsupported, `"rating" holds no value`},
		{"null value", `{"user":1,"item":2,"rating":null}`, nil, nil, format.ErrUnsupported, "--columns chooses others"},
		{"null value not chosen", `{"user":1,"item":2,"rating":null}`, []string{"user", "item"}, []triple{{"1", "2", 1}}, nil, ""},
		{"two values", `{"user":1,"item":2,"rating":3,"count":4}`, nil, nil, errAmbiguous, "--columns user,item,count"},
	} {
		got, err := read(c.text+"\n", c.columns, false)
		if c.want != nil {
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, %v, want %v", c.name, got, err, c.want)
			}
			continue
		}
		if err == nil || c.err == errAmbiguous && !errors.As(err, new(*format.AmbiguityError)) || c.err != errAmbiguous && c.err != nil && !errors.Is(err, c.err) ||
			!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %v: %s", c.name, err, c.err, c.says)
		}
	}
	if got, err := read(`{"user":1,"item":2,"rating":null}`, nil, true); err != nil || !slices.Equal(got, []triple{{"1", "2", 1}}) {
		t.Errorf("null value, events: %v, %v", got, err)
	}
}

// naive reads one line with encoding/json; ok is false if the line is to be refused.
func naive(l []byte, keys []string) (e triple, ok bool) {
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
			if n, isInt := new(big.Int).SetString(x.String(), 10); isInt {
				return n.String(), times[key] == 1
			}
			n, ok := new(big.Rat).SetString(x.String()) // exact; not ok if the exponent is huge
			if !ok || !n.IsInt() || n.Num().CmpAbs(big.NewInt(1<<53)) > 0 {
				return "", false
			}
			return n.Num().String(), times[key] == 1
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
		value, err = formattest.Float(x)
	case json.Number:
		value, err = formattest.Float(x.String())
	default:
		return e, false
	}
	e.Val = value + 0
	return e, u && i && err == nil && times[keys[2]] == 1
}

// FuzzJSONLines: the format accepts the lines that naive accepts and reads the same entries.
func FuzzJSONLines(f *testing.F) {
	for _, s := range []string{
		`{"user":1,"item":"x","rating":4.5}`, `{"rating":"1e3","user":"a\u0062","item":-0,"x":[{"user":2}]}`, `{"user":1,"user":2,"item":1,"rating":1}`,
		`{"user":01,"item":1,"rating":1}`, `{"user":1.,"item":1,"rating":1}`, `{"user":1,"item":1,"rating":true,}`, `{}`, `{"user":1,"item":1,"rating":nul}`, `{"user":1e2,"item":1,"rating":-}`,
		"{\"user\":\"\x01\",\"item\":1,\"rating\":1}", `{"user":"\ud83d\ude00","item":"\"","rating":""}`, `{"a":{},"user":1,"item":2,"rating":.5}`, `{"user":9007199254740993.0,"item":1e-400,"rating":1}`, `{"user":10e-1,"item":-0.00e5,"rating":1}`, `{"user":1,"item":2,"rating":0}}`,
	} {
		f.Add(s)
	}
	first := `{"user":1,"item":2,"rating":3}`
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "\n\r") || strings.Trim(line, " \t") == "" || !utf8.ValidString(line) || strings.Contains(line, `\u`) && strings.Contains(strings.ToLower(line), `\ud`) {
			t.Skip("no line, or no text")
		}
		want, ok := naive([]byte(line), []string{"user", "item", "rating"})
		got, err := read(first+"\n"+line, []string{"user", "item", "rating"}, false)
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
