package ingest

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
	"github.com/gdsvd/gdsvd/ingest/internal/titles"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// titledOf returns the titles of a side by id; nil: the store has none for the side.
func titledOf(t testing.TB, path string, side format.Side) map[string]string {
	t.Helper()
	s := csrtest.Open(t, path, csr.OpenOptions{})
	axis, n := csr.RowAxis, s.Rows()
	if (side == format.ColSide) != s.Transposed() {
		axis, n = csr.ColAxis, s.Cols()
	}
	r := must.Get(s.Titles(axis))(t)
	if r == nil {
		return nil
	}
	defer r.Close()
	m := map[string]string{}
	for i, id := range idsOf(t, s, axis, n) {
		title := must.Get(r.At(int64(i)))(t)
		if title != "" {
			m[id] = title
		}
	}
	if int64(len(m)) != r.Known() {
		t.Errorf("%d titles, %d are known", len(m), r.Known())
	}
	return m
}

func TestTitles(t *testing.T) {
	const ratings = "u7,10,1\nu7,20,2\nu8,30,3\nu9,20,1\n"
	const users = "name,user\nAnn,u7\nBob,u9\n"
	for _, c := range []struct {
		name, file string
		rows, cols map[string]string
	}{
		{"CSV with names", "movieId,title,genres\n10,\"Heat, the\",Crime\n30,Big,\n5,Other,\n", nil, map[string]string{"10": "Heat, the", "30": "Big"}},
		{"names, another order", "title;year;item_id\nHeat;1995;10\n", nil, map[string]string{"10": "Heat"}},
		{"MovieLens", "10::Heat, The (1995)::Crime|Drama\n20::Big::Comedy\n", nil, map[string]string{"10": "Heat, The (1995)", "20": "Big"}},
		{"pipes, ISO 8859-1", "10|Caf\xe9, Le|01-Jan-1995\n", nil, map[string]string{"10": "Café, Le"}},
		{"TSV", "10\tHeat|Big, or \"not\"\n20\t\"Big\"\n", nil, map[string]string{"10": `Heat|Big, or "not"`, "20": "Big"}},
		{"genres in every line", "10,Heat,a|b\n20,Big,c|d\n", nil, map[string]string{"10": "Heat", "20": "Big"}},
		{"quotes, line ends", "\xef\xbb\xbfid,name\r\n\"10\",\"a \"\"b\"\"\nc\"\r\n\r\n20,d\r\n", nil, map[string]string{"10": `a "b" c`, "20": "d"}},
		{"rows by their ids", "u7,Ann\nu8,Bob\nu1,Cid\n", map[string]string{"u7": "Ann", "u8": "Bob"}, nil},
		{"a side that has them all, the other by accident", "id,title\n10,a\n20,b\n30,c\nu7,d\n", nil, map[string]string{"10": "a", "20": "b", "30": "c"}},
		{"the other side", "u7,a\nu8,b\nu9,c\n20,d\n", map[string]string{"u7": "a", "u8": "b", "u9": "c"}, nil},
		{"rows by name", users, map[string]string{"u7": "Ann", "u9": "Bob"}, nil},
		{"the first title counts", "10,a\n20,b\n10,c\n20,b\n", nil, map[string]string{"10": "a", "20": "b"}},
		{"empty titles", "10,\n20,b\n", nil, map[string]string{"20": "b"}},
	} {
		out, rep := ingested(t, []string{write(t, "in", ratings)}, Options{Titles: write(t, "titles", c.file)})
		rows, cols := titledOf(t, out, format.RowSide), titledOf(t, out, format.ColSide)
		if fmt.Sprint(rows) != fmt.Sprint(c.rows) || fmt.Sprint(cols) != fmt.Sprint(c.cols) || rep.RowTitles != int64(len(rows)) || rep.ColTitles != int64(len(cols)) {
			t.Errorf("%s: rows %v, columns %v, %+v", c.name, rows, cols, rep)
		}
	}
	// Blanks in quotes are part of an id, as in the ratings.
	spaced, _ := ingested(t, []string{write(t, "in", "user,item,rating\n1,\" a\",1\n2,a,2\n")}, Options{ColTitles: write(t, "titles", "\" a\",First\n a ,Second\n")})
	if got := titledOf(t, spaced, format.ColSide); got[" a"] != "First" || got["a"] != "Second" {
		t.Errorf("blanks in quotes: %q", got)
	}
	// Titles of both sides, added to a finished store.
	in, out := write(t, "in", ratings), target(t)
	mustIngest(t, []string{in}, out, Options{})
	before := fingerprint(t, out)
	rep := mustIngest(t, []string{in}, out, Options{Resume: true, RowTitles: write(t, "u", users), ColTitles: write(t, "i", "20 ,b\n")})
	if !rep.Finished || rep.RowTitles != 2 || rep.ColTitles != 1 || fingerprint(t, out) != before {
		t.Errorf("beside a store: %+v", rep)
	}
}

// TestTitlesOfNodes: the titles of a graph's nodes are those of its rows and of its columns, also after an append, with new titles
// and without.
func TestTitlesOfNodes(t *testing.T) {
	store := target(t)
	check := func(when, want string) {
		t.Helper()
		for _, side := range sides {
			if got := fmt.Sprint(titledOf(t, store, side)); got != want {
				t.Errorf("%s: titles of %v %s, want %s", when, side, got, want)
			}
		}
	}
	o := Options{Graph: Undirected, RowTitles: write(t, "titles", "b,Beta\na,Alpha\nd,Delta\n")}
	rep := mustIngest(t, []string{write(t, "edges", "a,b,1\nb,c,2\n")}, store, o)
	check("ingested", "map[a:Alpha b:Beta]")
	if rep.RowTitles != 2 || rep.ColTitles != 2 {
		t.Errorf("%d titles of rows and %d of columns, want 2 of each", rep.RowTitles, rep.ColTitles)
	}
	must.Get(Append(t.Context(), store, []string{write(t, "more", "a,d,1\n")}, "", Options{}))(t)
	check("appended", "map[a:Alpha b:Beta]")
	must.Get(Append(t.Context(), store, []string{write(t, "more", "c,d,1\n")}, "", Options{RowTitles: write(t, "new", "c,Gamma\na,A\n")}))(t)
	check("appended with titles", "map[a:A b:Beta c:Gamma]")
}

func TestTitlesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, ratings, file, says string }{
		{"whose they are", "1,2,1\n2,1,1\n3,3,1\n", "1,a\n2,b\n", "ambiguous: titles of rows, 2 of 3 of which are in it (--row-titles "},
		{"nobody's", "1,2,1\n", "7,a\n", "it has no ids of the matrix"},
		{"one field", "1,2,1\n", "1\n2\n", `:1: "1": wrong number of fields: one; expected id and title`},
		{"too few fields", "1,9,1\n", "1,a\n2\n", "wrong number of fields"},
		{"title missing", "1,9,1\n", "id,x,title\n9,b\n", `:2: "9,b": wrong number of fields: 2 instead of 3`},
		{"open quotes", "1,9,1\n", "1,a\n9,\"b\n3,c\n", `:2: "9,\"b": malformed quoted field`},
		{"empty", "1,9,1\n", "", "the file is empty"},
	} {
		o, out := Options{Titles: write(t, "titles", c.file)}, target(t)
		_, err := Ingest(t.Context(), []string{write(t, "in", c.ratings)}, out, o)
		if readable := strings.Contains(c.says, "ids") || strings.Contains(c.says, "titles of"); !readable {
			leftovers(t, out, false) // refused before the ratings are read
		}
		if err == nil || !strings.Contains(err.Error(), o.Titles) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.says)
		}
	}
	for _, o := range []Options{{Titles: "-"}, {ColTitles: filepath.Join(t.TempDir(), "nothing")}} {
		out := target(t)
		if _, err := Ingest(t.Context(), []string{write(t, "in", "1,2,3\n")}, out, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		leftovers(t, out, false)
	}
}

// TestLongTitle: a title that is too long for a store is an error with its file and line, if its id is in the matrix.
func TestLongTitle(t *testing.T) {
	in, long := write(t, "in", "u7,10,1\nu8,20,2\n"), strings.Repeat("x", csr.MaxTitle)
	for id, line := range map[string]int64{"10": 3, "20": 3, "30": 0} {
		name := write(t, "titles", "item,title\n40,Big\n"+id+","+long+"\n50,Heat\n")
		for _, o := range []Options{{Titles: name}, {ColTitles: name}} {
			_, err := Ingest(t.Context(), []string{in}, target(t), o)
			if pe := (*format.ParseError)(nil); errors.As(err, &pe) != (line > 0) || line > 0 && (pe.File != name || pe.Line != line || pe.Want == "") || line == 0 && o.Titles == "" && err != nil {
				t.Errorf("title of %s: %.200v", id, err)
			}
		}
	}
}

// TestTitlesWithinMemory: titles are joined with ids for any memory of the join.
func TestTitlesWithinMemory(t *testing.T) {
	const n = 40
	names := []func(int) string{func(i int) string { return fmt.Sprint(i) }, func(i int) string { return fmt.Sprintf("i%d", i) }}
	var stores []string
	for _, name := range names {
		stores = append(stores, target(t))
		mustIngest(t, []string{write(t, "in", lines(n, func(i int) string { return "u," + name(3*i) + ",1" }))}, stores[len(stores)-1], Options{})
	}
	rapid.Check(t, func(rt *rapid.T) {
		kind := rapid.IntRange(0, 1).Draw(rt, "kind")
		var list strings.Builder
		want := map[string]string{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, 150), 1, 60).Draw(rt, "titles") {
			id, title := names[kind](i), fmt.Sprintf("title %d", rapid.IntRange(0, 3).Draw(rt, "title"))
			fmt.Fprintf(&list, "%s\t%s\n", id, title)
			if _, ok := want[id]; !ok && i%3 == 0 && i < 3*n {
				want[id] = title
			}
		}
		p := mustPlan(t)
		p.Space = int64(rapid.IntRange(1, 5000).Draw(rt, "memory"))
		o := Options{ColTitles: write(t, "titles", list.String()), FS: lazyFS{vfs.OS()}}.withDefaults()
		must.Do(rt, attach(t.Context(), []string{"-"}, &Report{Store: stores[kind]}, o, p))
		if got := titledOf(t, stores[kind], format.ColSide); fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// TestReaderKnowsTitles: titles that a Reader gives for its rows are stored.
func TestReaderKnowsTitles(t *testing.T) {
	f := knowing("c b a")
	o := Options{Formats: []format.Format{f}}
	out := target(t)
	in := write(t, "in", mmReal+"3 2 2\n1 1 1\n3 2 2\n")
	rep := mustIngest(t, []string{in}, out, o)
	want := map[string]string{"a": "A!", "b": "B!", "c": "C!"}
	if got := titledOf(t, out, format.RowSide); fmt.Sprint(got) != fmt.Sprint(want) || rep.RowTitles != 3 {
		t.Errorf("got %v, %+v", got, rep)
	}
}

// TestRealTitles: the titles of MovieLens, which include films without ratings.
func TestRealTitles(t *testing.T) {
	dir := filepath.Join(dataDir(t), "movielens")
	out, rep := ingested(t, []string{filepath.Join(dir, "ml-latest-small", "ratings.csv")}, Options{Titles: filepath.Join(dir, "ml-latest-small", "movies.csv")})
	if got := titledOf(t, out, format.ColSide); rep.RowTitles != 0 || rep.ColTitles != 9724 || got["1"] != "Toy Story (1995)" || got["11"] != "American President, The (1995)" {
		t.Errorf("ml-latest-small: %+v", rep)
	}
	out = target(t)
	o := Options{ColTitles: filepath.Join(dir, "ml-100k", "u.item")}
	rep = mustIngest(t, []string{filepath.Join(dir, "ml-100k", "u.data")}, out, o)
	if got := titledOf(t, out, format.ColSide); rep.ColTitles < 1680 || got["1"] != "Toy Story (1995)" || !slices.Contains(valuesOf(got), "Misérables, Les (1995)") {
		t.Errorf("ml-100k: %+v", rep)
	}
}

func valuesOf(m map[string]string) (v []string) {
	for _, s := range m {
		v = append(v, s)
	}
	return v
}

// TestTitlesBombs: millions of line ends take no stack, and quoted fields with many line ends are limited.
func TestTitlesBombs(t *testing.T) {
	for _, c := range []struct {
		text   string
		titles int
		says   string
	}{
		{"1,a\n" + strings.Repeat("\n", 4<<20) + "2,b\n", 2, ""},
		{"1,\"a" + strings.Repeat("\n", 900) + "\"\n", 1, ""},
		{"1,\"a" + strings.Repeat("\n", 250<<10) + "\"\n", 0, "in:1"},
	} {
		op := input.Opener{Stdin: strings.NewReader(c.text), Bytes: new(atomic.Int64), MaxWindow: 8 << 20}
		in := must.Get(op.Open(t.Context(), "-"))(t)
		n := 0
		r, err := titles.Open(&format.Input{Name: "in", Stream: in}, in.Close)
		for err == nil {
			if _, err = r.Next(); err == nil {
				n++
			}
		}
		if done := err == io.EOF; n != c.titles || done != (c.says == "") || !done && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d titles, %v", n, err)
		}
		if r != nil {
			_ = r.Close()
		}
	}
}

// FuzzTitleFile: any file of titles is read to its end, or refused in one line.
func FuzzTitleFile(f *testing.F) {
	for _, s := range []string{"movieId,title\n1,\"a\"\"b\"\n", "1::a::b\n", "1|a\n2|\xe9\n", "\"1\n\",x\n", "a\tb\n\n", "\"\"\n,\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		op := input.Opener{Stdin: strings.NewReader(s), Bytes: new(atomic.Int64), MaxWindow: 8 << 20}
		in := must.Get(op.Open(t.Context(), "-"))(t)
		r, err := titles.Open(&format.Input{Name: in.Name, Stream: in}, in.Close)
		for err == nil {
			var l format.Label
			if l, err = r.Next(); err == nil && (!utf8.Valid(l.Title) || l.Line < 1) {
				t.Fatalf("%+v", l)
			}
		}
		if pe := (*format.ParseError)(nil); err != io.EOF && (!errors.As(err, &pe) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("got %q", err)
		}
		if r != nil {
			_ = r.Close()
		}
	})
}
