package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/align"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
)

func TestMain(m *testing.M) {
	longtest.InMemory()
	goleak.VerifyTestMain(m)
}

// result returns a factorisation with text ids of the rows, some of which need quotes, and integer ids of the
// columns, some of which have titles.
func result(t *testing.T) *factor.Result {
	t.Helper()
	work := t.TempDir()
	var text strings.Builder
	users := []string{`plain`, `a,b`, `a"b`, "tab\there", "é ü 漢", " blank ", `back\slash`, "x'y#z", "007"}
	for i := range 50 {
		users = append(users, fmt.Sprintf("user %02d", i))
	}
	for i := range 300 {
		line := must.Get(json.Marshal(map[string]any{"user": users[i%len(users)], "item": i * 7 % 23 * 3, "rating": 1 + i%5}))(t)
		fmt.Fprintf(&text, "%s\n", line)
	}
	titles := filepath.Join(work, "titles.csv")
	must.Do(t, os.WriteFile(titles, []byte("item,title\n0,\"Casablanca, \"\"1942\"\"\"\n3,Amélie\n66,M\n"), 0o666))
	path := filepath.Join(work, "m.csr")
	must.Get(ingest.Ingest(t.Context(), []string{"-"}, path, ingest.Options{Stdin: strings.NewReader(text.String()), Memory: 128 << 20, Duplicates: ingest.Last, ColTitles: titles}))(t)
	store := must.Get(csr.Open(path, csr.OpenOptions{}))(t)
	r, err := factor.Run(t.Context(), store, factor.Options{Rank: 3, Dir: filepath.Join(work, "out")})
	must.Do(t, errors.Join(err, store.Close()))
	return r
}

// expected is the table that an export must contain.
type expected struct {
	x           *mat.Dense
	ids, titles []string // nil: not written
}

func expectedOf(t *testing.T, r *factor.Result, what string) (e expected) {
	t.Helper()
	names, read := r.RowNames, r.ReadU
	switch what[0] {
	case 's':
		e.x = mat.NewDense(r.K, 1, r.Values())
		for i := range r.K {
			e.ids = append(e.ids, strconv.Itoa(i+1))
		}
		return e
	case 'U':
		e.x = mat.NewDense(int(r.Rows), r.K, nil)
	case 'V':
		e.x = mat.NewDense(int(r.Cols), r.K, nil)
		names, read = r.ColNames, r.ReadV
	}
	must.Do(t, read(0, e.x))
	if len(what) == 2 {
		e.x.Apply(func(_, j int, v float64) float64 { return v * float64(r.Sigma[j]) }, e.x)
	}
	n := must.Get(names(t.Context()))(t)
	defer n.Close()
	for i := range n.Count() {
		name := must.Get(n.At(i))(t)
		e.ids = append(e.ids, fmt.Sprint(name.ID))
		if n.Titled() {
			e.titles = append(e.titles, name.Title)
		}
	}
	return e
}

func exported(t *testing.T, r *factor.Result, what, format string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x."+format)
	report := must.Get(export.Write(t.Context(), r, export.Options{What: what, File: file, Format: format, Workers: 3}))(t)
	b, err := os.ReadFile(file)
	if err != nil || int64(len(b)) != report.Bytes {
		t.Fatalf("%d bytes, %+v, %v", len(b), report, err)
	}
	return b
}

// TestFormats: each table in each format is read by other readers with the same bits.
func TestFormats(t *testing.T) {
	r := result(t)
	for _, what := range export.Tables() {
		want := expectedOf(t, r, what)
		rows, k := want.x.Dims()
		sameNumbers := func(format string, got []float64) {
			t.Helper()
			if len(got) != rows*k {
				t.Fatalf("%s as %s: %d numbers, want %d", what, format, len(got), rows*k)
			}
			for i, v := range want.x.RawMatrix().Data {
				if format == "npy32" {
					v = float64(float32(v))
				}
				if math.Float64bits(got[i]) != math.Float64bits(v) {
					t.Fatalf("%s as %s: number %d is %v, want %v", what, format, i, got[i], v)
				}
			}
		}
		shape := fmt.Sprint([]int64{int64(rows), int64(k)})
		if what == "sigma" {
			shape = fmt.Sprint([]int64{int64(rows)})
		}
		for _, format := range []string{"npy", "npy32"} {
			sameNumbers(format, arrayOf(t, exported(t, r, what, format), shape))
		}
		sameNumbers("npz", archiveOf(t, exported(t, r, what, "npz"), what, shape, want))
		for format, separator := range map[string]rune{"csv": ',', "tsv": '\t'} {
			sameNumbers(format, recordsOf(t, exported(t, r, what, format), separator, want))
		}
		if parquetOf != nil {
			sameNumbers("parquet", parquetOf(t, exported(t, r, what, "parquet"), want))
		}
		sameNumbers("mtx", matrixOf(t, exported(t, r, what, "mtx"), rows, k))
	}
}

// TestSame: files of one row group have the same bytes for any number of workers, any memory and any windows.
func TestSame(t *testing.T) {
	r := result(t)
	for _, format := range export.Formats() {
		one, many := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "many")
		_, err := export.Write(t.Context(), r, export.Options{What: "US", File: one, Format: format, Workers: 1})
		_, err2 := export.Write(t.Context(), r, export.Options{What: "US", File: many, Format: format, Workers: 7, Memory: 31 << 20})
		x, err3 := os.ReadFile(one)
		y, err4 := os.ReadFile(many)
		if err := errors.Join(err, err2, err3, err4); err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s: %d and %d bytes, %v", format, len(x), len(y), err)
		}
	}
}

// TestRefuses: options that cannot be satisfied are errors, and no file is left.
func TestRefuses(t *testing.T) {
	r := result(t)
	dir := t.TempDir()
	there := filepath.Join(dir, "there.npy")
	must.Do(t, os.WriteFile(there, []byte("x"), 0o666))
	file := filepath.Join(dir, "x.npy")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for want, o := range map[string]export.Options{
		`"W" is nothing to export: want one of U, V, US, VS, sigma`: {What: "W", File: file},
		"x.bin: its extension is not that of a format":              {What: "U", File: filepath.Join(dir, "x.bin")},
		`format "hdf5" is not known: want one of npy,`:              {What: "U", File: file, Format: "hdf5"},
		"at least 31.0 MiB":  {What: "U", File: file, Memory: 31<<20 - 1},
		"already exists":     {What: "U", File: there},
		"a directory":        {What: "U", File: dir, Format: "npy", Replace: true},
		"make the directory": {What: "U", File: filepath.Join(dir, "none", "x.npy")},
	} {
		if _, err := export.Write(t.Context(), r, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	if _, err := export.Write(t.Context(), r, export.Options{What: "U", File: there}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := export.Write(cancelled, r, export.Options{What: "U", File: file}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v are left (%v)", left, err)
	}
	if _, err := export.Write(t.Context(), r, export.Options{What: "U", File: there, Replace: true}); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "link.npy") // leads nowhere
	if os.Symlink(filepath.Join(dir, "none"), link) != nil {
		return // some systems have no symbolic links
	}
	if _, err := export.Write(t.Context(), r, export.Options{What: "U", File: link}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if _, err := export.Write(t.Context(), r, export.Options{What: "U", File: link, Replace: true}); err != nil {
		t.Error(err)
	}
}

// TestFaults fails each operation in turn: the directory holds one complete file, the old or the new one.
func TestFaults(t *testing.T) {
	r := result(t)
	file := filepath.Join(t.TempDir(), "x.parquet")
	vfstest.EachFault(t, 5, 1, func(at int, fsys *vfstest.FaultFS) error {
		must.Do(t, os.WriteFile(file, []byte("old"), 0o666))
		_, err := export.Write(t.Context(), r, export.Options{What: "V", File: file, Replace: true, FS: fsys})
		left, bad := os.ReadDir(filepath.Dir(file))
		if bad != nil || len(left) != 1 {
			t.Fatalf("operation %d fails: %v are left, %v", at, left, bad)
		}
		return err
	})
}

// TestBare: with Bare, ids and titles are not written.
func TestBare(t *testing.T) {
	r := result(t)
	file := filepath.Join(t.TempDir(), "x.csv")
	report, err := export.Write(t.Context(), r, export.Options{What: "V", File: file, Bare: true})
	if err != nil || report.IDs || report.Titles || report.Rows != r.Cols || report.Columns != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	b, err := os.ReadFile(file)
	if head, _, _ := strings.Cut(string(b), "\n"); err != nil || head != "c1,c2,c3" {
		t.Errorf("%q, %v", head, err)
	}
}

// TestArray: X of a result aligned with itself is its V, with ids and titles; a damaged description is refused.
func TestArray(t *testing.T) {
	r, dir := result(t), filepath.Join(t.TempDir(), "x")
	must.Get(align.Align(t.Context(), r, r, align.Options{What: "V", Dir: dir}))(t)
	file, want := filepath.Join(t.TempDir(), "x.parquet"), expectedOf(t, r, "V")
	report, err := export.WriteArray(t.Context(), dir, export.Options{What: "X", File: file})
	if err != nil || !report.IDs || !report.Titles || report.Rows != r.Cols || report.Columns != r.K {
		t.Fatalf("%+v, %v", report, err)
	}
	b := must.Get(os.ReadFile(file))(t)
	if parquetOf != nil && !mat.EqualApprox(mat.NewDense(int(r.Cols), r.K, parquetOf(t, b, want)), want.x, 1e-14) {
		t.Error("other numbers")
	}
	if _, err := export.WriteArray(t.Context(), dir, export.Options{What: "X", File: filepath.Join(t.TempDir(), "x.npz")}); err != nil {
		t.Error(err)
	}
	if _, err := export.WriteArray(t.Context(), dir, export.Options{What: "U", File: filepath.Join(t.TempDir(), "x.npz")}); err == nil || !strings.Contains(err.Error(), "only X can be exported") {
		t.Error(err)
	}
	name := filepath.Join(dir, "alignment.json")
	text := must.Get(os.ReadFile(name))(t)
	for i := 0; i < len(text); i += 7 {
		bad := bytes.Clone(text)
		bad[i] ^= 1
		must.Do(t, os.WriteFile(name, bad, 0o666))
		if _, err := export.WriteArray(t.Context(), dir, export.Options{What: "X", File: file, Replace: true}); err == nil || !strings.Contains(err.Error(), "the file is damaged; make it again") {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}
