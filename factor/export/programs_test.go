package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/internal/durable"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
)

// programs are Python scripts that compare U and V in their formats with want.json, bit by bit, and print "same".
var programs = map[string]struct{ needs, script string }{
	"numpy": {"numpy", `
for what, (ids, titles, x) in want.items():
    assert (numpy.load(f"{what}.npy") == x).all()
    assert (numpy.load(f"{what}.npy", mmap_mode="r") == x).all()
    assert (numpy.load(f"{what}.npy32") == x.astype("float32")).all() and numpy.load(f"{what}.npy32").dtype == "float32"
    z = numpy.load(f"{what}.npz")
    assert (z[what] == x).all() and (z["sigma"] == numpy.load("sigma.npy")).all()
    assert z["ids"].tolist() == ids, z["ids"]
    assert titles is None and "titles" not in z or z["titles"].tolist() == titles
`},
	"scipy": {"numpy, scipy.io", `
for what, (ids, titles, x) in want.items():
    assert (scipy.io.mmread(f"{what}.mtx").toarray() == x).all()
`},
	"pandas": {"numpy, pandas", `
for what, (ids, titles, x) in want.items():
    for name, sep in ("csv", ","), ("tsv", "\t"):
        t = pandas.read_csv(f"{what}.{name}", sep=sep, dtype={"id": type(ids[0])}, keep_default_na=False, float_precision="round_trip")
        assert t["id"].tolist() == ids and (t[[f"c{j + 1}" for j in range(x.shape[1])]].to_numpy() == x).all(), name
        assert titles is None and "title" not in t or t["title"].tolist() == titles, name
`},
	"pyarrow": {"numpy, pyarrow.parquet", `
for what, (ids, titles, x) in want.items():
    t = pyarrow.parquet.read_table(f"{what}.parquet", page_checksum_verification=True).to_pydict()
    assert t["id"] == ids and t.get("title") == titles
    assert (numpy.column_stack([t[f"c{j + 1}"] for j in range(x.shape[1])]) == x).all()
`},
	"duckdb": {"numpy, duckdb", `
for what, (ids, titles, x) in want.items():
    for name in "parquet", "csv", "tsv":
        rows = duckdb.sql(f"select * from '{what}.{name}'").fetchall()
        skip = 1 if titles is None else 2
        assert [r[0] for r in rows] == ids, (name, rows)
        assert titles is None or [r[1] or "" for r in rows] == titles, (name, rows)
        assert (numpy.array([r[skip:] for r in rows]) == x).all(), name
    best = duckdb.sql(f"select id from '{what}.parquet' order by c1 desc limit 1").fetchall()
    assert best == [(ids[int(x[:, 0].argmax())],)]
`},
}

const preamble = `
import json, sys
try:
    import %s
except ImportError as e:
    print(e, "missing", end="")
    sys.exit()
want = {w: (e["ids"], e.get("titles"), numpy.array(e["x"])) for w, e in json.load(open("want.json")).items()}
`

const inR = `
x <- as.matrix(read.csv("plainU.csv"))
for (what in c("U", "V")) {
  plain <- as.matrix(read.csv(paste0("plain", what, ".csv")))
  for (t in list(read.csv(paste0(what, ".csv"), colClasses = c(id = "character"), encoding = "UTF-8"),
                 read.delim(paste0(what, ".tsv"), colClasses = c(id = "character"), encoding = "UTF-8"))) {
    stopifnot(identical(as.vector(as.matrix(t[colnames(plain)])), as.vector(plain)))
    stopifnot(identical(t$id, readLines(paste0(what, ".lines"), encoding = "UTF-8")))
  }
  if (requireNamespace("Matrix", quietly = TRUE)) {
    m <- as.matrix(Matrix::readMM(paste0(what, ".mtx")))
    stopifnot(identical(as.vector(m), as.vector(plain)))
  }
}
cat("same")
`

// TestOtherPrograms: the installed programs read exported files with the same ids and bits.
func TestOtherPrograms(t *testing.T) {
	python, noPython := exec.LookPath("python3")
	rscript, noR := exec.LookPath("Rscript")
	if noPython != nil && noR != nil {
		t.Skip("there is neither python3 nor Rscript")
	}
	r, dir := result(t), t.TempDir()
	write := func(what, file, format string, bare bool) {
		t.Helper()
		must.Get(export.Write(t.Context(), r, export.Options{What: what, File: filepath.Join(dir, file), Format: format, Bare: bare}))(t)
	}
	type table struct {
		IDs    []any       `json:"ids"`
		Titles []string    `json:"titles,omitempty"`
		X      [][]float64 `json:"x"`
	}
	want := map[string]table{}
	for _, what := range []string{"U", "V"} {
		for _, format := range export.Formats() {
			write(what, what+"."+format, format, false)
		}
		write(what, "plain"+what+".csv", "csv", true)
		e := expectedOf(t, r, what)
		all := table{Titles: e.titles}
		for i, id := range e.ids {
			all.X = append(all.X, e.x.RawRowView(i))
			if x, err := strconv.ParseInt(id, 10, 64); err == nil && what == "V" {
				all.IDs = append(all.IDs, x)
			} else {
				all.IDs = append(all.IDs, id)
			}
		}
		want[what] = all
		must.Do(t, os.WriteFile(filepath.Join(dir, what+".lines"), []byte(strings.Join(e.ids, "\n")+"\n"), 0o666))
	}
	write("sigma", "sigma.npy", "npy", false)
	text, err := json.Marshal(want)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "want.json"), text, 0o666)
	}
	must.Do(t, err)
	same := func(t *testing.T, program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		switch out, err := cmd.CombinedOutput(); {
		case err == nil && strings.HasSuffix(string(out), "missing"):
			t.Skip(string(out))
		case err != nil || !strings.HasSuffix(string(out), "same"):
			t.Errorf("%v\n%s", err, out)
		}
	}
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			if noPython != nil {
				t.Skip("there is no python3")
			}
			same(t, python, "-c", fmt.Sprintf(preamble, p.needs)+p.script+`print("same", end="")`)
		})
	}
	t.Run("R", func(t *testing.T) {
		if noR != nil {
			t.Skip("there is no Rscript")
		}
		same(t, rscript, "-e", inR)
	})
}

// TestWindows: a table of several windows is exported completely.
func TestWindows(t *testing.T) {
	const rows, k = 180_000, 3
	dir := t.TempDir()
	x := mat.NewDense(rows, k, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = float64(i) / 7
	}
	r := &factor.Result{Format: "gdsvd-result/3", Rows: rows, Cols: rows, K: k, Sigma: []factor.Number{3, 2, 1}, IDs: factor.IDs{Rows: &factor.SideIDs{Kind: "range", First: 5}}}
	sum := must.Get(npy.WriteMatrix(vfs.OS(), filepath.Join(dir, "U.npy"), x, nil))(t)
	r.Files = []factor.File{{Name: "U.npy", Size: sum.Size, CRC: sum.CRC, Pieces: sum.Pieces}}
	sealed, err := durable.Seal(r, &r.CRC)
	must.Do(t, errors.Join(err, os.WriteFile(filepath.Join(dir, "result.json"), sealed, 0o666)))
	r = must.Get(factor.Open(dir))(t)
	whole, err := os.ReadFile(filepath.Join(dir, "U.npy"))
	if got := exported(t, r, "U", "npy"); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("%d bytes, %d wanted (%v)", len(got), len(whole), err)
	}
	want := expected{x: x}
	for i := range rows {
		want.ids = append(want.ids, strconv.Itoa(i+5))
	}
	read := map[string][]float64{"csv": recordsOf(t, exported(t, r, "U", "csv"), ',', want)}
	if parquetOf != nil {
		read["parquet"] = parquetOf(t, exported(t, r, "U", "parquet"), want)
	}
	for format, got := range read {
		if len(got) != rows*k {
			t.Fatalf("%s: %d numbers", format, len(got))
		}
		for i, v := range x.RawMatrix().Data {
			if got[i] != v {
				t.Fatalf("%s: number %d is %v, want %v", format, i, got[i], v)
			}
		}
	}
}
