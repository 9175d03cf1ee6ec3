package factor_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/crc"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
)

// ingested returns a store of an input text.
func ingested(t *testing.T, text string, o ingest.Options) *csr.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.csr")
	o.Stdin, o.Memory = strings.NewReader(text), 128<<20
	must.Get(ingest.Ingest(t.Context(), []string{"-"}, path, o))(t)
	return csrtest.Open(t, path, csr.OpenOptions{})
}

// named returns a store with the given ids, whose columns have titles.
func named(t *testing.T, rows, cols []string) *csr.Store {
	var text strings.Builder
	for i := range max(len(rows), len(cols)) * 3 {
		line := must.Get(json.Marshal(map[string]any{"user": rows[i%len(rows)], "item": cols[(i*7+i/len(rows))%len(cols)], "rating": 1 + i%5}))(t)
		fmt.Fprintf(&text, "%s\n", line)
	}
	titles := filepath.Join(t.TempDir(), "titles.csv")
	lines := "item,title\n"
	for j, id := range cols {
		if j%2 == 0 && !strings.ContainsAny(id, "\n\r\"") {
			lines += fmt.Sprintf("%s,The %s\n", id, id)
		}
	}
	must.Do(t, os.WriteFile(titles, []byte(lines), 0o666))
	return ingested(t, text.String(), ingest.Options{Duplicates: ingest.Last, ColTitles: titles})
}

// inOrder returns a store whose rows have the given ids in the given order.
func inOrder(t *testing.T, rows, cols []string) *csr.Store {
	file := filepath.Join(t.TempDir(), "ids")
	must.Do(t, os.WriteFile(file, []byte(strings.Join(rows, "\n")), 0o666))
	text := fmt.Sprintf("%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", len(rows), len(cols), len(rows))
	for i := range rows {
		text += fmt.Sprintln(i+1, i%len(cols)+1, i+1)
	}
	return ingested(t, text, ingest.Options{RowIDs: file, KeepOrder: true})
}

// TestNames: a result has the ids and titles of its store, in the user's orientation, without the store.
func TestNames(t *testing.T) {
	words := func(n int, form string) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprintf(form, i*i))
		}
		return ids
	}
	for what, c := range map[string]struct {
		rows, cols []string
		files      []string
	}{
		"strings":           {words(60, "user %d"), words(40, "m%d"), []string{"rows.ids", "cols.ids", "cols.titles"}},
		"wide":              {words(30, "user %d"), words(70, "é%d"), []string{"rows.ids", "cols.ids", "cols.titles"}},
		"integers":          {words(60, "%d"), words(40, "%d"), []string{"rows.ids", "cols.ids", "cols.titles"}},
		"negative integers": {words(40, "-%d"), words(60, "%d"), []string{"rows.ids", "cols.ids", "cols.titles"}},
		"lines and empty":   {append(words(40, "a\nb%d\\n"), "\\", "\r"), words(30, "%d"), []string{"rows.ids", "cols.ids", "cols.titles"}},
		"ranges":            {strings.Fields("5 6 7 8 9 10 11 12"), strings.Fields("0 1 2 3 4 5"), []string{"cols.titles"}},
	} {
		t.Run(what, func(t *testing.T) {
			store := named(t, c.rows, c.cols)
			dir := filepath.Join(t.TempDir(), "out")
			run(t, store, factor.Options{Rank: 3, Dir: dir})
			r := must.Get(factor.Open(dir))(t)
			var files []string
			for _, f := range r.Files {
				if ext := filepath.Ext(f.Name); ext == ".ids" || ext == ".titles" {
					files = append(files, f.Name)
				}
			}
			if slices.Sort(c.files); !slices.Equal(files, c.files) {
				t.Errorf("files %q, want %q", files, c.files)
			}
			rows := must.Get(r.RowNames(t.Context()))(t)
			defer rows.Close()
			cols := must.Get(r.ColNames(t.Context()))(t)
			defer cols.Close()
			if int64(len(c.rows)) != rows.Count() || int64(len(c.cols)) != cols.Count() || rows.Titled() || !cols.Titled() {
				t.Fatalf("%d × %d", rows.Count(), cols.Count())
			}
			sameNames(t, rows, c.rows, false)
			sameNames(t, cols, c.cols, true)
			report, err := check.Result(t.Context(), dir, check.Options{Store: store.Path()})
			if err != nil || report.Err() != nil || len(report.Warnings) > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		})
	}
}

func sameNames(t *testing.T, names *factor.Names, want []string, titled bool) {
	t.Helper()
	want = slices.Clone(want)
	slices.SortFunc(want, func(a, b string) int {
		if names.Ints() {
			var x, y int
			fmt.Sscan(a, &x)
			fmt.Sscan(b, &y)
			return cmp.Compare(x, y)
		}
		return strings.Compare(a, b)
	})
	for i, id := range want {
		got, err := names.At(int64(i))
		if err != nil || fmt.Sprint(got.ID) != id || got.Index != int64(i) {
			t.Fatalf("number %d: %+v, %v; want %q", i, got, err, id)
		}
		if _, integer := got.ID.(int64); integer != names.Ints() {
			t.Errorf("%T", got.ID)
		}
		if got.Title != "" && (got.Title != "The "+id || !titled) {
			t.Errorf("title %q of %q", got.Title, id)
		}
		if at, err := names.Index(id); err != nil || at != int64(i) {
			t.Errorf("%q is number %d, %v; want %d", id, at, err, i)
		}
	}
	for _, id := range []string{"none", "zzz", "-1000000", "99999999", "007", "9223372036854775808", "\n"} {
		want := slices.Index(want, id)
		if at, err := names.Index(id); err != nil || at != int64(want) {
			t.Errorf("%q is number %d, %v; want %d", id, at, err, want)
		}
	}
}

// TestNamesOfSides: ids of a side are kept with its vectors; for a side that was not kept the error says why.
func TestNamesOfSides(t *testing.T) {
	store := named(t, strings.Fields("a b c d e f"), strings.Fields("x y z w"))
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, store, factor.Options{Rank: 2, Dir: dir, Vectors: factor.Right})
	cols := must.Get(r.ColNames(t.Context()))(t)
	if err := cols.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.RowNames(t.Context()); err == nil || !strings.Contains(err.Error(), "no ids of its rows, nor their vectors: it was made with Options.Vectors right; compute it again with Options.Vectors both") {
		t.Error(err)
	}
	if _, err := r.OpenU(); err == nil || !strings.Contains(err.Error(), "holds no U.npy: it was made with Options.Vectors right") {
		t.Error(err)
	}
	v := must.Get(r.OpenV())(t)
	defer v.Close()
	if rows, k := v.Dims(); rows != 4 || k != 2 {
		t.Errorf("V is %d × %d", rows, k)
	}
	part, want := mat.NewDense(2, 1, nil), mat.NewDense(4, 2, nil)
	if err := errors.Join(v.ReadRows(1, part), r.ReadV(0, want)); err != nil || part.At(0, 0) != want.At(1, 0) || part.At(1, 0) != want.At(2, 0) {
		t.Errorf("%v, want rows 1 and 2 of %v (%v)", part, want, err)
	}
	if err := v.ReadRows(3, part); err == nil {
		t.Error("there is a row 4")
	}
	if got := r.Values(); len(got) != 2 || got[0] != float64(r.Sigma[0]) {
		t.Error(got)
	}
	must.Do(t, os.Remove(filepath.Join(r.Dir(), "V.npy")))
	if _, err := r.OpenV(); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), "V.npy is not there, though the result names it") {
		t.Errorf("a file that is gone: %v", err)
	}
}

// TestDamagedNames: a changed file of ids is found by check.Result and when it is opened.
func TestDamagedNames(t *testing.T) {
	store := named(t, strings.Fields("a b c d e f"), strings.Fields("x y z w"))
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, store, factor.Options{Rank: 2, Dir: dir})
	name := filepath.Join(dir, "rows.ids")
	text := must.Get(os.ReadFile(name))(t)
	if string(text) != "a\nb\nc\nd\ne\nf\n" {
		t.Fatalf("%q", text)
	}
	for _, damaged := range []string{"a\nb\nc\nd\ne\ng\n", "a\nb\nc\nd\ne\n", ""} {
		must.Do(t, os.WriteFile(name, []byte(damaged), 0o666))
		if _, err := r.RowNames(t.Context()); !errors.Is(err, csr.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", damaged, err)
		}
		if report, err := check.Result(t.Context(), dir, check.Options{}); err != nil || len(report.Problems) != 1 {
			t.Errorf("%q: %+v, %v", damaged, report, err)
		}
	}
	must.Do(t, os.Remove(name))
	if report, err := check.Result(t.Context(), dir, check.Options{}); err != nil || len(report.Problems) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestStatedNames: check.Result finds files of ids that are not ascending integers, although the checksum is right.
func TestStatedNames(t *testing.T) {
	for text, want := range map[string]string{
		"1\n2\n4\n8\n":    "",
		"1\n2\n10\n8\n":   `line 4: "8" does not come after "10"`,
		"1\n2\n2\n8\n":    `line 3: "2" does not come after "2"`,
		"1\n2\nx\n8\n":    `"x" is no integer`,
		"1\n2\n4\n8\n9\n": "5 lines, not 4",
		"1\n2\n4\n89":     "the last line has no end",
	} {
		store := named(t, strings.Fields("1 2 4 8"), strings.Fields("x y z w"))
		dir := filepath.Join(t.TempDir(), "out")
		r := run(t, store, factor.Options{Rank: 2, Dir: dir})
		at := slices.IndexFunc(r.Files, func(f factor.File) bool { return f.Name == "rows.ids" })
		r.Files[at] = factor.File{Name: "rows.ids", Size: int64(len(text)), CRC: crc.Sum(crc.Of([]byte(text)))}
		sealed, err := durable.Seal(r, &r.CRC)
		must.Do(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "rows.ids"), []byte(text), 0o666), os.WriteFile(filepath.Join(dir, "result.json"), sealed, 0o666)))
		report, err := check.Result(t.Context(), dir, check.Options{})
		if err != nil || (report.Err() == nil) != (want == "") || want != "" && !strings.Contains(report.Problems[0].Error(), want) {
			t.Errorf("%q: %+v, %v; want %s", text, report, err, want)
		}
	}
}

// TestStatedOrder: check.Result verifies the stated order of ids; a wrong one does not cause a panic.
func TestStatedOrder(t *testing.T) {
	for _, c := range []struct {
		rows, kind string
		order      csr.IDOrder
		want       string
	}{
		{"8 1 4 2", "int", csr.Given, ""},
		{"8 1 4 2", "int", csr.Ascending, `"1" does not come after "8"`},
		{"8 1 4 2", "int", "down", `order "down" is not known`},
		{"8 1 4 2", "range", csr.Given, ""},
		{"8 x 4 2", "int", csr.Given, `"x" is no integer`},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		r := run(t, inOrder(t, strings.Fields(c.rows), strings.Fields("x y z w")), factor.Options{Rank: 2, Dir: dir})
		r.IDs.Rows.Kind, r.IDs.Rows.Order = c.kind, c.order
		sealed, err := durable.Seal(r, &r.CRC)
		if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "result.json"), sealed, 0o666)); err != nil {
			t.Fatal(err)
		}
		report, err := check.Result(t.Context(), dir, check.Options{})
		if err != nil || (report.Err() == nil) != (c.want == "") || c.want != "" && !strings.Contains(report.Problems[0].Error(), c.want) {
			t.Errorf("%+v: %+v, %v", c, report, err)
		}
		names := must.Get(r.RowNames(t.Context()))(t)
		if at, err := names.Index("4"); c.order == csr.Given && c.kind == "int" && (at != 2 || err != nil) {
			t.Errorf("%+v: %d, %v", c, at, err)
		}
		if err := names.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMatch: Match finds the ids of a sequence, for each pair of kinds and orders.
func TestMatch(t *testing.T) {
	lists := map[string][]string{
		"words":    strings.Fields("aa ab b ba z zz zzz"),
		"numbers":  strings.Fields("-7 2 10 11 400 1000000"),
		"range":    strings.Fields("8 9 10 11 12"),
		"as words": strings.Fields("10 11 2 400 9 aa zz"),

		"given words":   strings.Fields("zz d10 aa d1 b d2"),
		"given numbers": strings.Fields("400 -7 10 9 -9223372036854775808 2"),
	}
	open := func(list string) *factor.Names {
		make := named
		if strings.HasPrefix(list, "given") {
			make = inOrder
		}
		r := run(t, make(t, lists[list], strings.Fields("x y z")), factor.Options{Rank: 2, Dir: filepath.Join(t.TempDir(), "out")})
		names := must.Get(r.RowNames(t.Context()))(t)
		t.Cleanup(func() { names.Close() })
		return names
	}
	for a, ids := range lists {
		names := open(a)
		if names.Ordered() == strings.HasPrefix(a, "given") {
			t.Errorf("%s: ordered %v", a, names.Ordered())
		}
		if at, err := names.Index("nothing"); at != -1 || err != nil {
			t.Errorf("%s: %d, %v", a, at, err)
		}
		for b, others := range lists {
			seen := 0
			err := names.Match(t.Context(), open(b).All(t.Context()), func(i, at int64, id string) error {
				if want := slices.Index(ids, others[i]); int(i) != seen || int(at) != want || id != others[i] {
					t.Errorf("%s in %s: id %d is at %d, want %d", b, a, i, at, want)
				}
				seen++
				return nil
			})
			if err != nil || seen != len(others) {
				t.Errorf("%s in %s: %d of %d, %v", b, a, seen, len(others), err)
			}
		}
		bad := errors.New("bad")
		if err := names.Match(t.Context(), names.All(t.Context()), func(int64, int64, string) error { return bad }); !errors.Is(err, bad) {
			t.Error(err)
		}
	}
}

// TestNameInALine: the String of a Name is one line without control characters.
func TestNameInALine(t *testing.T) {
	for _, c := range []struct {
		of   factor.Name
		want string
	}{
		{factor.Name{ID: int64(7)}, "7"},
		{factor.Name{ID: "Amélie 東京", Title: "a \"title\" \\ of it"}, "Amélie 東京 (a \"title\" \\ of it)"},
		{factor.Name{ID: "a\nb\tc", Title: "\x1b[2J\u202e"}, `a\nb\tc (\x1b[2J\u202e)`},
		{factor.Name{ID: "\xff\u200b"}, "\ufffd\\u200b"},
		{factor.Name{ID: "می\u200cخواهم 👩\u200d🔬"}, "می\u200cخواهم 👩\u200d🔬"},
	} {
		if got := c.of.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestReplacedMeanwhile: reading a result that was replaced after Open does not report damage, nor return other vectors.
func TestReplacedMeanwhile(t *testing.T) {
	store := named(t, strings.Fields("a b c d e f"), strings.Fields("x y z w"))
	dir := filepath.Join(t.TempDir(), "out")
	r := run(t, store, factor.Options{Rank: 2, Dir: dir})
	u := mat.NewDense(6, 2, nil)
	must.Do(t, r.ReadU(0, u))
	for _, other := range []factor.Options{{Rank: 2, Seed: 1, Tol: 1e-3}, {Rank: 3}, {Rank: 2, Vectors: factor.Left}} {
		other.Dir, other.Replace = dir, true
		run(t, store, other)
		err := r.ReadV(0, mat.NewDense(4, 2, nil))
		if errors.Is(err, csr.ErrCorrupt) || err == nil && other.Rank > 2 || err != nil && !strings.Contains(err.Error(), "was replaced by another process while it was being read; run the command again") {
			t.Errorf("%+v: %v", other, err)
		}
		if now := mat.NewDense(6, 2, nil); r.ReadU(0, now) == nil && !mat.Equal(now, u) {
			t.Errorf("%+v: its U is taken for that of the result that was opened", other)
		}
	}
	if err := r.ReadV(0, mat.NewDense(4, 2, nil)); err == nil {
		t.Error("vectors of another result are read")
	}
}
