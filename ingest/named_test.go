package ingest

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/all"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// namedCase returns a Matrix Market text of rows × cols, the id files of both sides, and the entries by id.
func namedCase(r *rand.Rand, rows, cols, n int, rowID, colID func(i int) string) (mm, rowIDs, colIDs string, want []triple) {
	var b, x, y strings.Builder
	fmt.Fprintf(&b, "%s%d %d %d\n", mmReal, rows, cols, n)
	pr, pc := r.Perm(rows), r.Perm(cols)
	for _, i := range pr {
		fmt.Fprintln(&x, rowID(i))
	}
	for _, j := range pc {
		fmt.Fprintln(&y, colID(j))
	}
	for k, p := range r.Perm(rows * cols)[:n] {
		v := float64(k%9) / 2
		fmt.Fprintf(&b, "%d %d %g\n", p/cols+1, p%cols+1, v)
		want = append(want, triple{rowID(pr[p/cols]), colID(pc[p%cols]), v})
	}
	slices.SortFunc(want, compareTriples)
	return b.String(), x.String(), y.String(), want
}

func gene(i int) string { return fmt.Sprintf("ENSG%011d", i*37) }

// either returns a text id for some i and an integer for the others.
func either(i int) string {
	if i%50 == 7 {
		return fmt.Sprintf("x%d", i)
	}
	return fmt.Sprint(i * 3)
}

// TestIDsBesideIndices: index i of the input has the id in line i of the id file, in any order of ids, and rows
// without entries keep their ids: in memory, with temporary files, with the ids in lists, and after deaths.
func TestIDsBesideIndices(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name         string
		rowID, colID func(int) string // nil: the side has no file of ids
	}{
		{"integers", func(i int) string { return fmt.Sprint(i*7 - 900) }, gene},
		{"texts", either, func(i int) string { return fmt.Sprint(i) }},
		{"rows alone", gene, nil},
		{"columns alone", nil, gene},
	} {
		index := func(int) string { return "" }
		rowID, colID := c.rowID, c.colID
		if rowID == nil {
			rowID = index
		}
		if colID == nil {
			colID = index
		}
		mm, x, y, _ := namedCase(rand.New(rand.NewPCG(5, r.Uint64())), 400, 130, 500, rowID, colID)
		o := Options{}
		if c.rowID != nil {
			o.RowIDs = write(t, "rows", x)
		}
		if c.colID != nil {
			o.ColIDs = write(t, "cols", strings.ReplaceAll(y, "\n", "\r\n"))
		}
		rows, cols := strings.Fields(x), strings.Fields(y)
		entries, _, _ := parseAll([]byte(mm), Options{}, format.ChunkBytes)
		for i, e := range entries {
			var p, q int
			fmt.Sscan(e.Row, &p)
			fmt.Sscan(e.Col, &q)
			if c.rowID != nil {
				entries[i].Row = rows[p]
			}
			if c.colID != nil {
				entries[i].Col = cols[q]
			}
		}
		slices.SortFunc(entries, compareTriples)
		in, whole := write(t, "in", mm), target(t)
		rep := mustIngest(t, []string{in}, whole, o)
		if got := contents(t, whole); rep.Rows != 400 || rep.Cols != 130 || !slices.Equal(got, entries) {
			t.Fatalf("%s: %+v, other entries", c.name, rep)
		}
		u := unlucky{c.name, []string{in}, o, crowded()}
		spilled := target(t)
		rep, _, err := u.run(t, spilled, -1)
		if err != nil || rep.SpilledBytes == 0 || rep.IDLists == 0 {
			t.Fatalf("%s: %+v, %v", c.name, rep, err)
		}
		if fingerprint(t, spilled) != fingerprint(t, whole) {
			t.Errorf("%s: with lists of ids another store", c.name)
		}
		if c.name == "texts" {
			resumesAfterDeath(t, &u, spilled, rep)
		}
	}
}

// knowing returns the Matrix Market format with a Reader that gives the ids of the rows.
func knowing(rowIDs string) format.Format {
	f := all.Formats(all.Options{})[slices.IndexFunc(all.Formats(all.Options{}), func(f format.Format) bool { return f.Name == "mtx" })]
	open := f.Open
	f.Name = "knowing"
	f.Open = func(in *format.Input) (format.Reader, error) {
		r, err := open(in)
		return knowingReader{r, rowIDs}, err
	}
	return f
}

type knowingReader struct {
	format.Reader
	rows string
}

func (k knowingReader) IDs(s format.Side) (format.IDs, error) {
	if s == format.ColSide {
		return nil, nil
	}
	return &listed{lines: strings.Fields(k.rows)}, nil
}

type listed struct {
	lines []string
	n     int
}

func (l *listed) Next() (format.Label, error) {
	if l.n == len(l.lines) {
		return format.Label{}, io.EOF
	}
	l.n++
	id := l.lines[l.n-1]
	return format.Label{ID: []byte(id), Title: []byte(strings.ToUpper(id) + "!"), File: "features", Line: int64(l.n)}, nil
}

func (l *listed) Close() error { return nil }

// TestKeepOrder: with KeepOrder rows and columns keep the order of the input's indices, also those left by a Filter.
func TestKeepOrder(t *testing.T) {
	for _, shape := range [][2]int{{60, 25}, {25, 60}} {
		for name, id := range map[string]func(int) string{"texts": gene, "integers": func(i int) string { return fmt.Sprint(i*7 - 90) }, "both": either} {
			mm, x, y, want := namedCase(rand.New(rand.NewPCG(5, 6)), shape[0], shape[1], 300, id, id)
			rows, cols := strings.Fields(x), strings.Fields(y)
			in, out := write(t, "in", mm), target(t)
			o := Options{RowIDs: write(t, "rows", x), ColIDs: write(t, "cols", y), KeepOrder: true}
			o.RowTitles = write(t, "titles", "id\ttitle\n"+rows[7]+"\tseven\n"+rows[3]+"\tthree\n")
			rep := mustIngest(t, []string{in}, out, o)
			s := csrtest.Open(t, out, csr.OpenOptions{})
			first, second := csr.RowAxis, csr.ColAxis
			if rep.Transposed {
				first, second = second, first
			}
			if got := idsOf(t, s, first, int64(shape[0])); !slices.Equal(got, rows) {
				t.Errorf("%s: rows %q, want %q", name, got, rows)
			}
			if got := idsOf(t, s, second, int64(shape[1])); !slices.Equal(got, cols) {
				t.Errorf("%s: columns %q, want %q", name, got, cols)
			}
			if got := contents(t, out); !slices.Equal(got, want) {
				t.Errorf("%s: other entries", name)
			}
			named := must.Get(s.Titles(first))(t)
			defer named.Close()
			for i, want := range map[int64]string{7: "seven", 3: "three", 4: ""} {
				if got, err := named.At(i); got != want || err != nil {
					t.Errorf("%s: title %d is %q, %v, want %q", name, i, got, err, want)
				}
			}
			if report, err := csr.Check(t.Context(), out, csr.CheckOptions{}); err != nil || len(report.Problems) > 0 {
				t.Errorf("%s: %+v, %v", name, report, err)
			}
		}
	}
	mm := mmReal + "4 3 5\n1 1 1\n3 1 2\n3 3 3\n4 1 4\n4 2 5\n"
	o := Options{RowIDs: write(t, "rows", "d\na\nc\nb\n"), ColIDs: write(t, "cols", "0\n2\n1\n"), KeepOrder: true, Filter: Filter{MinPerRow: 2}}
	out, _ := ingested(t, []string{write(t, "in", mm)}, o)
	s := csrtest.Open(t, out, csr.OpenOptions{})
	axes := map[csr.Axis][]string{csr.RowAxis: {"c", "b"}, csr.ColAxis: {"0", "2", "1"}}
	if s.Transposed() {
		axes[csr.RowAxis], axes[csr.ColAxis] = axes[csr.ColAxis], axes[csr.RowAxis]
	}
	for axis, want := range axes {
		if got := idsOf(t, s, axis, int64(len(want))); !slices.Equal(got, want) {
			t.Errorf("%v %q, want %q", axis, got, want)
		}
	}
}

// TestKeepOrderRefuses: KeepOrder refuses equal ids, inputs without indices, and ids that do not fit in memory.
func TestKeepOrderRefuses(t *testing.T) {
	mm := mmReal + "3001 2 1\n1 1 1\n"
	far := ""
	for i := range 3001 {
		far += fmt.Sprintln("id", i)
	}
	for _, c := range []struct {
		name, in, ids, says string
		plan                plan
	}{
		{"twice", strings.Replace(mm, "3001", "3", 1), "b\na\nb\n", `:3: "b": an id that another has`, mustPlan(t)},
		{"memory", mm, far, "the ids of rows and columns that keep their order have to be in memory", crowded()},
		{"no order", "1,1,1\n", "", "the order of its rows is not kept", mustPlan(t)},
	} {
		o, out := Options{KeepOrder: true}, target(t)
		if c.ids != "" {
			o.RowIDs = write(t, "ids", c.ids)
		}
		_, err := ingest(t.Context(), []string{write(t, "in", c.in)}, out, o.withDefaults(), c.plan)
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.says)
		}
		leftovers(t, out, false)
	}
}

// TestReaderKnowsIDs: the ids that a Reader gives are used unless the options name a file of ids.
func TestReaderKnowsIDs(t *testing.T) {
	mm := mmReal + "3 2 2\n1 1 1\n3 2 2\n"
	o := Options{Formats: []format.Format{knowing("c b a")}}
	for _, c := range []struct {
		rowIDs string
		want   []triple
	}{{"", []triple{{"a", "1", 2}, {"c", "0", 1}}}, {"z\ny\nx\n", []triple{{"x", "1", 2}, {"z", "0", 1}}}} {
		if o.RowIDs = ""; c.rowIDs != "" {
			o.RowIDs = write(t, "ids", c.rowIDs)
		}
		out, _ := ingested(t, []string{write(t, "in", mm)}, o)
		if got := contents(t, out); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.rowIDs, got, c.want)
		}
	}
	o.RowIDs = ""
	o.Formats[len(o.Formats)-1] = knowing("a b a")
	_, err := Ingest(t.Context(), []string{write(t, "in", mm)}, target(t), o)
	if want := `features:3: "a": an id that another has: that of features:1`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestIDsThatDoNotFit: if ids and matrix do not match, the error names the file, the line and the numbers.
func TestIDsThatDoNotFit(t *testing.T) {
	mm := mmReal + "3 2 1\n1 1 1\n"
	far := ""
	for i := range 3000 {
		far += fmt.Sprintln(i)
	}
	for _, c := range []struct {
		name, in, ids, says string
		plan                plan
	}{
		{"too few", mm, "a\nb\n", ":2: wrong number of entries: 2 ids for the 3 rows of the matrix", mustPlan(t)},
		{"too many", mm, "a\nb\nc\nd\n", ":4: wrong number of entries: more ids than the 3 rows of the matrix", mustPlan(t)},
		{"twice", mm, "a\nb\na\n", `:3: "a": an id that another has: that of `, mustPlan(t)},
		{"twice, far apart", strings.Replace(mm, "3 2", "3001 2", 1), far + "17\n", `:3001: "17": an id that another has: that of `, crowded()},
		{"twice in a list", strings.Replace(mm, "3 2", "3001 2", 1), far + "2999\n", `:3001: "2999": an id that another has: that of `, crowded()},
		{"an empty line", mm, "a\n\nc\n", ":2: empty field: no id; expected one id a line", mustPlan(t)},
		{"fields", mm, "a\tgene\n\nc\n", "a tab in the id", mustPlan(t)},
		{"no ids", mm, "", "the file is empty", mustPlan(t)},
		{"ids of its own", "1,1,1\n", "a\n", "ids of rows beside an input that has ids of its own", mustPlan(t)},
	} {
		in, out := write(t, "in", c.in), target(t)
		o := Options{RowIDs: write(t, "ids", c.ids)}
		_, err := ingest(t.Context(), []string{in}, out, o.withDefaults(), c.plan)
		if err == nil || !strings.Contains(err.Error(), o.RowIDs) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %s", c.name, err, c.says)
		}
		leftovers(t, out, false)
	}
	if _, err := Ingest(t.Context(), []string{write(t, "in", mm)}, target(t), Options{ColIDs: filepath.Join(t.TempDir(), "nothing")}); err == nil {
		t.Error("a file that is not there: no error")
	}
	if _, err := Ingest(t.Context(), []string{write(t, "in", mm)}, target(t), Options{ColIDs: "-"}); err == nil {
		t.Error("standard input: no error")
	}
}

// TestDuplicateBesideIDs: the error names the ids of the row and column, and the lines of the input.
func TestDuplicateBesideIDs(t *testing.T) {
	o := Options{RowIDs: write(t, "ids", "c\nb\na\n")}
	in := write(t, "in", mmReal+"3 2 3\n3 2 1\n1 1 1\n3 2 2\n")
	_, err := Ingest(t.Context(), []string{in}, target(t), o)
	if want := in + ":5: row a, column 2: more than one entry (the first is at " + in + ":3)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestResumeWithOtherIDs: an ingest is recognised as finished only with the same ids.
func TestResumeWithOtherIDs(t *testing.T) {
	in, out := write(t, "in", mmReal+"2 1 1\n1 1 1\n"), target(t)
	o := Options{RowIDs: write(t, "ids", "b\na\n"), Resume: true}
	mustIngest(t, []string{in}, out, o)
	if rep := mustIngest(t, []string{in}, out, o); !rep.Finished {
		t.Error("the same ids: begun anew")
	}
	for _, other := range []string{"", write(t, "ids", "b\nc\n")} {
		o.RowIDs = other
		if _, err := Ingest(t.Context(), []string{in}, out, o); err == nil || !strings.Contains(err.Error(), "rows_ids") {
			t.Errorf("other ids: got %v", err)
		}
	}
}

// TestResumeWithIDsOfTheOtherSide: one file of ids does not go on as that of the other side.
func TestResumeWithIDsOfTheOtherSide(t *testing.T) {
	mm, rows, _, _ := namedCase(rand.New(rand.NewPCG(1, 1)), 60, 60, 900, gene, gene)
	ids := write(t, "ids", rows)
	u := &unlucky{inputs: []string{write(t, "in", mm)}, o: Options{ColIDs: ids}, plan: tiny()}
	out := target(t)
	interrupted(t, u, out)
	if _, err := ingest(t.Context(), u.inputs, out, Options{RowIDs: ids, Resume: true}.withDefaults(), u.plan); !errors.As(err, new(*csr.ResumeError)) || !strings.Contains(err.Error(), "other side") {
		t.Errorf("got %v", err)
	}
	if rep, err := ingest(t.Context(), u.inputs, out, Options{ColIDs: ids, Resume: true}.withDefaults(), u.plan); err != nil || rep.Resumes != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestRealIDs: the barcodes of a 10x folder become the ids of the columns.
func TestRealIDs(t *testing.T) {
	dir := filepath.Join(dataDir(t), "10x")
	matrix, barcodes := filepath.Join(dir, "v3.matrix.mtx.gz"), filepath.Join(dir, "v3.barcodes.tsv.gz")
	out, rep := ingested(t, []string{matrix}, Options{ColIDs: barcodes})
	s := csrtest.Open(t, out, csr.OpenOptions{})
	want := strings.Fields(string(plain(t, barcodes)))
	slices.Sort(want)
	if got := idsOf(t, s, csr.RowAxis, s.Rows()); !slices.Equal(got, want) || !rep.Transposed || rep.NNZ != 23866 {
		t.Errorf("%+v: other ids", rep)
	}
}
