package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

// layoutCases holds texts with the entries that Ingest reads, or the error and its place.
var layoutCases = []struct {
	name, text string
	o          Options
	want       []triple
	err        error
	line       int64
	column     int
}{
	{name: "movielens", text: "1::10::3.5::978300760\n2::10::4::978300761\n", want: []triple{{"1", "10", 3.5}, {"2", "10", 4}}},
	{name: "movielens without time", text: "1::10::3.5\n2::10::4", want: []triple{{"1", "10", 3.5}, {"2", "10", 4}}},
	{name: "u.data", text: "1\t10\t3\t881250949\n2\t10\t4\t881250949\n", want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "ratings.csv", text: "userId,movieId,rating,timestamp\r\n1,10,4.0,964982703\r\n2,10,0.5,964982703\r\n", want: []triple{{"1", "10", 4}, {"2", "10", 0.5}}},
	{name: "all three as movielens", text: "userId,movieId,rating,timestamp\r\n1,10,4.0,964982703\r\n", o: Options{Format: "movielens"}, want: []triple{{"1", "10", 4}}},
	{name: "tabs as movielens", text: "1\t10\t3\t881250949\n", o: Options{Format: "movielens"}, want: []triple{{"1", "10", 3}}},
	{name: "byte order mark", text: text.BOM + "1::10::3\n", want: []triple{{"1", "10", 3}}},
	{name: "semicolons", text: "1;10;3\n2;10;4\n", want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "pipes", text: "1|10|3\n2|10|4\n", want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "blanks", text: "  1 10\t 3\n2  10 4 \n", want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "separator given", text: "1;10,x;3\n", o: Options{Separator: ";"}, want: []triple{{"1", "10,x", 3}}},
	{name: "separator of three", text: "1<|>10<|>3\n2<|><|<|>4\n", o: Options{Separator: "<|>"}, want: []triple{{"1", "10", 3}, {"2", "<|", 4}}},
	{name: "pairs", text: "1,10\n2,11\n", want: []triple{{"1", "10", 1}, {"2", "11", 1}}},
	{name: "pairs with header", text: "user,item\n1,10\n2,11\n", want: []triple{{"1", "10", 1}, {"2", "11", 1}}},
	{name: "edge list with comments", text: "# Directed graph\n#\n\n# From\tTo\n0\t1\n1\t0\n", want: []triple{{"0", "1", 1}, {"1", "0", 1}}},
	{name: "hash at the head of an id", text: "#a,b,1\n", want: []triple{{"#a", "b", 1}}},
	{name: "string ids", text: "ann,x,1\nbob,y,2\n", want: []triple{{"ann", "x", 1}, {"bob", "y", 2}}},
	{name: "ids with leading zeros stay apart", text: "7,1,1\n07,1,2\n", want: []triple{{"07", "1", 2}, {"7", "1", 1}}},
	{name: "columns by number", text: "x,3,1,10\ny,4,2,10\n", o: Options{Columns: []string{"3", "4", "2"}}, want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "columns by name", text: "when,stars,who,what\nx,3,1,10\ny,4,2,10\n", o: Options{Columns: []string{"who", "what", "stars"}}, want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "columns by name in other case", text: "Who,What\n1,10\n", o: Options{Columns: []string{"who", "what"}}, want: []triple{{"1", "10", 1}}},
	{name: "value column left out", text: "1,10,5\n", o: Options{Columns: []string{"1", "2"}}, want: []triple{{"1", "10", 1}}},
	{name: "header forced", text: "1,2,3\n4,5,6\n", o: Options{Header: format.HeaderYes}, want: []triple{{"4", "5", 6}}},
	{name: "quoted", text: "\"Doe, J.\",\"say \"\"hi\"\"\",\"3\"\nplain,\"\"\"\",4\n", want: []triple{{"Doe, J.", `say "hi"`, 3}, {"plain", `"`, 4}}},
	{name: "quote inside a field", text: "1,12\" disc,3\n", want: []triple{{"1", `12" disc`, 3}}},
	{name: "blanks around fields", text: "1, 10 , 3\n", want: []triple{{"1", "10", 3}}},
	{name: "blank lines", text: "\n1,10,3\n\n \t\r\n2,10,4\n\n", want: []triple{{"1", "10", 3}, {"2", "10", 4}}},
	{name: "explicit zero and minus zero", text: "1,10,0\n2,10,-0\n", want: []triple{{"1", "10", 0}, {"2", "10", 0}}},
	{name: "negative ids", text: "-1,10,1\n-2,9,2\n", want: []triple{{"-1", "10", 1}, {"-2", "9", 2}}},

	{name: "empty", text: "", err: format.ErrEmpty},
	{name: "blank", text: "\n \n", err: format.ErrEmpty},
	{name: "header alone", text: "user,item,rating\n", err: format.ErrEmpty},
	{name: "no separator", text: "1234\n5678\n", err: text.ErrFields, line: 1},
	{name: "not a number", text: "1::10::abc\n", err: text.ErrNumber, line: 1, column: 8},
	{name: "not a number in a later line", text: "1::10::1::5\n22::10:: x ::5\n", err: text.ErrNumber, line: 2, column: 10},
	{name: "bad number is no header", text: "1,10,abc\n2,10,3\n", err: text.ErrNumber, line: 1, column: 6},
	{name: "NaN is no header", text: "u,i,nan\nv,i,3\n", err: format.ErrNotFinite, line: 1, column: 5},
	{name: "infinity", text: "u,i,1\nv,i,-Inf\n", err: format.ErrNotFinite, line: 2, column: 5},
	{name: "overflow", text: "u,i,1\nv,i,1e999\n", err: format.ErrOverflow, line: 2, column: 5},
	{name: "decimal comma", text: "1;10;3,5\n", err: text.ErrNumber, line: 1, column: 6},
	{name: "missing field", text: "1::10::3::5\n1::11::3\n", err: text.ErrFields, line: 2},
	{name: "extra garbage", text: "1::10::3\n1::11::3::5::x\n", err: text.ErrFields, line: 2},
	{name: "five fields of movielens", text: "1::10::3::5::6\n", err: text.ErrFields, line: 1},
	{name: "garbage for a time", text: "1::10::3::5\n1::11::3::noon\n", err: text.ErrInteger, line: 2, column: 11},
	{name: "mixed separators", text: "1,10,3\n2;10;4\n", err: text.ErrFields, line: 2},
	{name: "mixed separators, doubled colons", text: "1::10::3\n2\t10\t4\n", err: text.ErrFields, line: 2},
	{name: "empty user", text: "1,10,3\n,10,3\n", err: text.ErrEmptyField, line: 2, column: 1},
	{name: "empty item", text: "1,10,3\n2, ,3\n", err: text.ErrEmptyField, line: 2, column: 4},
	{name: "empty value", text: "1,10,3\n2,10,\n", err: text.ErrEmptyField, line: 2, column: 6},
	{name: "open quote", text: "1,10,3\n2,\"10,3\n", err: text.ErrQuote, line: 2, column: 3},
	{name: "garbage behind a quote", text: "1,10,3\n2,\"10\"x,3\n", err: text.ErrQuote, line: 2, column: 3},
	{name: "no such column", text: "1,10,3\n", o: Options{Columns: []string{"1", "2", "9"}}, err: text.ErrFields, line: 1},
	{name: "no such name", text: "who,what,stars\n1,10,3\n", o: Options{Columns: []string{"who", "what", "rating"}}, err: format.ErrHeader, line: 1},
	{name: "name without header", text: "who,what,stars\n1,10,3\n", o: Options{Columns: []string{"who", "what", "stars"}, Header: format.HeaderNo}, err: format.ErrHeader, line: 1},
	{name: "column named twice", text: "1,10,3\n", o: Options{Columns: []string{"1", "1", "3"}}, err: format.ErrHeader, line: 1},
	{name: "UTF-16", text: "\xff\xfe1\x00,\x002\x00,\x003\x00\n\x00", err: format.ErrUnsupported},
	{name: "Matrix Market without banner", text: "3 3 2\n1 1 5\n3 2 1\n", err: format.ErrHeader, line: 1},
	{name: "the same, with its comments", text: "% made by hand\n%\n3 3 2\n1 1 5\n3 2 1\n", err: format.ErrHeader, line: 3},
	{name: "the same, named", text: "3 3 2\n1 1 5\n3 2 1\n", o: Options{Format: "delimited"}, want: []triple{{"1", "1", 5}, {"3", "2", 1}, {"3", "3", 2}}},
	{name: "zip", text: "PK\x03\x04....", err: format.ErrUnsupported},
	{name: "bzip2, cut", text: "BZh91AY&SY....", err: format.ErrTruncated, line: 1},
	{name: "nearly bzip2", text: "BZh9,1,3\n", want: []triple{{"BZh9", "1", 3}}},
}

func TestLayouts(t *testing.T) {
	for _, c := range layoutCases {
		t.Run(c.name, func(t *testing.T) {
			_, got, err := ingestText(t, c.text, c.o)
			if c.err != nil {
				parseError(t, err, c.err, c.line, c.column)
				return
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}

func TestParseErrorIsOneHelpfulLine(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"1::2::3::4\n15::16::abc::5\n", `:2:9: rating "abc": not a number; expected user::item::rating[::timestamp]`},
		{"userId,movieId,rating\n1,2,3\n1,3\n", `:3: "1,3": wrong number of fields: 2 instead of 3; expected userId,movieId,rating`},
		{"who,what,stars\n1,2,3\n,3,3\n", `:3:1: who: empty field; expected who,what,stars`},
		{"1\t2\t" + strings.Repeat("x", 100) + "\n", `:1:5: value "` + strings.Repeat("x", 60) + `…": not a number; expected user<tab>item<tab>value`},
	} {
		path := write(t, "ratings", c.text)
		_, err := Ingest(t.Context(), []string{path}, target(t), Options{})
		if err == nil || err.Error() != path+c.want {
			t.Errorf("got  %v\nwant %s%s", err, path, c.want)
		}
	}
}

func TestLineTooLong(t *testing.T) {
	long := strings.Repeat("x", format.ChunkBytes)
	for _, c := range []struct {
		text string
		line int64
	}{
		{long + "::2::3\n", 1},
		{"1::2::3\n" + long + "::2::3\n", 2},
		{"1::2::3\n" + long + "::2::3", 2},
		{"# a\n\n" + long + "::2::3\n", 3},
		{strings.Repeat("# c\n", format.ChunkBytes/4) + "1::2::3\n", format.ChunkBytes/4 + 1},
		{strings.Repeat("# cc\n", format.ChunkBytes/5+9) + "1::2::3\n", format.ChunkBytes/5 + 1},
	} {
		_, _, err := ingestText(t, c.text, Options{MaxBadLines: 9})
		parseError(t, err, text.ErrLineTooLong, c.line, 0)
	}
	fits := long[:format.ChunkBytes-8]
	_, got, err := ingestText(t, "1::2::3\n"+fits+"::2::3\n", Options{})
	if err != nil || len(got) != 2 || got[1].Row != fits {
		t.Errorf("a line of just the limit: %d entries, %v", len(got), err)
	}
}

func TestBadLinesAreTolerated(t *testing.T) {
	var src strings.Builder
	for i := range 200 {
		src.WriteString("1::" + strings.Repeat("9", 1+i%3) + string(rune('a'+i%26)) + string(rune('a'+i/26)) + "::3\n")
		if i%10 == 5 {
			src.WriteString("1::oops\n")
		}
	}
	for _, p := range []plan{tiny(), mustPlan(t)} {
		out := target(t)
		rep, err := ingest(t.Context(), []string{write(t, "in", src.String())}, out, Options{MaxBadLines: 20}.withDefaults(), p)
		must.Do(t, err)
		if rep.BadLines != 20 || rep.Lines != 220 || rep.NNZ != 200 || len(rep.FirstBad) != format.MaxErrs {
			t.Errorf("got %+v", rep)
		}
		for i, err := range rep.FirstBad {
			parseError(t, err, text.ErrFields, int64(7+11*i), 0)
		}
		_, err = ingest(t.Context(), []string{write(t, "in", src.String())}, target(t), Options{MaxBadLines: 19}.withDefaults(), p)
		parseError(t, err, text.ErrFields, 7, 0)
		if !strings.Contains(err.Error(), "more than 19 bad lines") {
			t.Errorf("got %v", err)
		}
	}
	_, _, err := ingestText(t, mmReal+"2 2 3\n1 1 1\n2 2 x\n", Options{MaxBadLines: 5})
	parseError(t, err, format.ErrCount, 5, 0)
	if _, _, err := ingestText(t, "1::2::3\nx\n", Options{MaxBadLines: 5}); err != nil {
		t.Error(err)
	}
	if _, _, err := ingestText(t, "1::2::x\n", Options{MaxBadLines: 5}); !errors.Is(err, format.ErrEmpty) {
		t.Errorf("nothing but bad lines: %v", err)
	}
}

// TestFirstErrorWins: if several workers meet errors, the error of the smallest line number is reported.
func TestFirstErrorWins(t *testing.T) {
	lines := make([]string, 3000)
	for i := range lines {
		lines[i] = "1::2::x"
	}
	for i := range 1234 {
		lines[i] = "1::2::3"
	}
	src := strings.Join(lines, "\n")
	for range 10 {
		p := tiny()
		p.jobs = 8
		_, err := ingest(t.Context(), []string{write(t, "in", src)}, target(t), Options{Workers: 4}.withDefaults(), p)
		parseError(t, err, text.ErrNumber, 1235, 7)
	}
}

// mustPlan returns the plan of 64 MiB and two workers. With a larger budget each test would clear a first run of 64 MiB.
func mustPlan(t testing.TB) plan {
	t.Helper()
	return must.Get(newPlan(64<<20, 2))(t)
}
