package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/vfs/vfstest"
	"github.com/gdsvd/gdsvd/stream/view"
)

// TestMatrixClose: the error of closing the ids of the rows is returned.
func TestMatrixClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.csr")
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: 1, Values: csr.Values{Coding: csr.Float64}}))(t)
	must.Do(t, w.AppendRow([]uint32{0}, []float64{1}))
	ids := must.Get(w.IDs(csr.RowAxis, csr.StringIDs))(t)
	must.Do(t, ids.AppendString("a"))
	must.Do(t, ids.Close())
	must.Do(t, w.Commit())
	failed := errors.New("closed badly")
	var fail bool
	store := csrtest.Open(t, path, csr.OpenOptions{FS: &vfstest.FaultFS{Inject: func(op vfstest.Op) error {
		if fail && op.Kind == vfstest.OpClose {
			return failed
		}
		return nil
	}}})
	fail = true
	_, err := export.WriteMatrix(t.Context(), store, export.Options{File: filepath.Join(t.TempDir(), "m.csv")}, look.Options{})
	if fail = false; !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

// TestMatrixAgain: ingest reads a matrix of odd ids back from each format with ids.
func TestMatrixAgain(t *testing.T) {
	dir := t.TempDir()
	odd := []string{" a ", `"q" z`, "# b", "-0", "=1+1", "NA", "c, d\te", "\ufefff"}
	path := filepath.Join(dir, "m.csr")
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: int64(len(odd)), Values: csr.Values{Coding: csr.Float64}}))(t)
	for i := range odd {
		must.Do(t, w.AppendRow([]uint32{uint32(i)}, []float64{float64(i) + 0.5}))
	}
	for _, axis := range []csr.Axis{csr.RowAxis, csr.ColAxis} {
		ids := must.Get(w.IDs(axis, csr.StringIDs))(t)
		for _, id := range odd {
			must.Do(t, ids.AppendString(id))
		}
		must.Do(t, ids.Close())
	}
	must.Do(t, w.Commit())
	text := func(store, file string) string {
		must.Get(export.WriteMatrix(t.Context(), csrtest.Open(t, store, csr.OpenOptions{}), export.Options{File: file}, look.Options{}))(t)
		return string(must.Get(os.ReadFile(file))(t))
	}
	want := text(path, filepath.Join(dir, "want.csv"))
	for _, format := range []string{"csv", "tsv", "parquet"} {
		file, again := filepath.Join(dir, "m."+format), filepath.Join(dir, format+".csr")
		text(path, file)
		if _, err := ingest.Ingest(t.Context(), []string{file}, again, ingest.Options{Memory: 128 << 20}); err != nil {
			t.Errorf("%s: %v", format, err)
		} else if got := text(again, filepath.Join(dir, format+".again.csv")); got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}

// cells returns a store of 300 rows, every third of them empty, and 40 columns, with ids, and its entries by row and
// column. If transposed, the rows of the store are the columns of the matrix.
func cells(t *testing.T, transposed bool) (*csr.Store, map[[2]int]float64) {
	t.Helper()
	const rows, cols = 300, 40
	path := filepath.Join(t.TempDir(), "m.csr")
	w := must.Get(csr.Create(path, csr.CreateOptions{Cols: cols, Transposed: transposed, Values: csr.Values{Coding: csr.Float64}}))(t)
	want := map[[2]int]float64{}
	for i := range rows {
		var at []uint32
		var val []float64
		for j := i % 7; j < cols && i%3 > 0; j += 1 + i%5 {
			v := float64((i*j)%11) - 3.25
			at, val = append(at, uint32(j)), append(val, v)
			place := [2]int{i, j}
			if transposed {
				place = [2]int{j, i}
			}
			want[place] = v
		}
		must.Do(t, w.AppendRow(at, val))
	}
	ints, err := w.IDs(csr.RowAxis, csr.IntIDs)
	must.Do(t, err)
	for i := range rows {
		err = ints.AppendInt(int64(1000 + 2*i))
	}
	texts, bad := w.IDs(csr.ColAxis, csr.StringIDs)
	if err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	for j := range cols {
		err = texts.AppendString(fmt.Sprintf("tea, %02d", j))
	}
	must.Do(t, errors.Join(err, ints.Close(), texts.Close(), w.Commit()))
	return csrtest.Open(t, path, csr.OpenOptions{}), want
}

// written reads the entries of a matrix in a format, by readers of others if there are any. nil: the build has no reader.
func written(t *testing.T, file []byte, format string, transposed bool) map[[2]string]float64 {
	t.Helper()
	got := map[[2]string]float64{}
	put := func(row, col string, v float64) {
		if _, twice := got[[2]string{row, col}]; twice {
			t.Errorf("%s: %s, %s twice", format, row, col)
		}
		got[[2]string{row, col}] = v
	}
	switch format {
	case "csv", "tsv":
		r := csv.NewReader(bytes.NewReader(file))
		if format == "tsv" {
			r.Comma = '\t'
		}
		all, err := r.ReadAll()
		if err != nil || strings.Join(all[0], "|") != "row|column|value" {
			t.Fatal(err, all[:1])
		}
		for _, l := range all[1:] {
			v, _ := strconv.ParseFloat(l[2], 64)
			put(l[0], l[1], v)
		}
	case "parquet":
		if parquetCells == nil {
			return nil
		}
		parquetCells(t, file, put)
	case "mtx":
		lines := strings.Split(strings.TrimSpace(string(file)), "\n")
		if lines[0] != "%%MatrixMarket matrix coordinate real general" || !strings.HasSuffix(lines[1], fmt.Sprint(" ", len(lines)-2)) {
			t.Errorf("%q, %d lines", lines[:2], len(lines))
		}
		for _, l := range lines[2:] {
			var i, j int
			var v float64
			must.Get(fmt.Sscan(l, &i, &j, &v))(t)
			put(fmt.Sprint(i-1), fmt.Sprint(j-1), v)
		}
	case "npz":
		z := must.Get(zip.NewReader(bytes.NewReader(file), int64(len(file))))(t)
		files := map[string][]byte{}
		for _, f := range z.File {
			r := must.Get(f.Open())(t)
			files[f.Name] = must.Get(io.ReadAll(r))(t)
		}
		kind := map[bool]string{false: "csr", true: "csc"}[transposed]
		if !bytes.HasSuffix(files["format.npy"], []byte(kind)) {
			t.Errorf("format %q, want %s", files["format.npy"], kind)
		}
		ptr := arrayOf(t, files["indptr.npy"], "[301]")
		n := fmt.Sprint("[", ptr[300], "]")
		at, val := arrayOf(t, files["indices.npy"], n), arrayOf(t, files["data.npy"], n)
		for i := range 300 {
			for p := int(ptr[i]); p < int(ptr[i+1]); p++ {
				row, col := fmt.Sprint(i), fmt.Sprint(at[p])
				if transposed {
					row, col = col, row
				}
				put(row, col, val[p])
			}
		}
	}
	return got
}

// TestMatrix: each format has exactly the entries of the store, or of a view of it, with ids, in both orientations.
func TestMatrix(t *testing.T) {
	steps := must.Get(view.Parse("multiply=2 | binary>=4"))(t)
	for _, transposed := range []bool{false, true} {
		store, cells := cells(t, transposed)
		for _, format := range export.MatrixFormats() {
			for _, p := range []view.Pipeline{nil, steps} {
				for _, bare := range []bool{false, true} {
					file := filepath.Join(t.TempDir(), "m."+format)
					r := must.Get(export.WriteMatrix(t.Context(), store, export.Options{File: file, Bare: bare}, look.Options{View: p, Memory: 64 << 20}))(t)
					named := !bare && format != "mtx" && format != "npz"
					want := map[[2]string]float64{}
					for at, v := range cells {
						row, col := fmt.Sprint(at[0]), fmt.Sprint(at[1])
						if named {
							stored, across := at[0], at[1]
							if transposed {
								stored, across = across, stored
							}
							row, col = fmt.Sprint(1000+2*stored), fmt.Sprintf("tea, %02d", across)
							if transposed {
								row, col = col, row
							}
						}
						switch {
						case p == nil:
							want[[2]string{row, col}] = v
						case 2*v >= 4:
							want[[2]string{row, col}] = 1
						}
					}
					b, err := os.ReadFile(file)
					if err != nil || int64(len(b)) != r.Bytes || r.IDs != named {
						t.Fatalf("%+v, %v", r, err)
					}
					if got := written(t, b, format, transposed); got != nil && fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s, transposed %t, view %v, bare %t: %d entries, want %d, or others", format, transposed, p, bare, len(got), len(want))
					}
				}
			}
		}
	}
	plain := csrtest.FromDense(t, mat.NewDense(2, 1, []float64{1, 2}), csr.CreateOptions{})
	if r := must.Get(export.WriteMatrix(t.Context(), plain, export.Options{File: filepath.Join(t.TempDir(), "plain.csv")}, look.Options{}))(t); r.IDs {
		t.Errorf("ids of a store that has none: %+v", r)
	}
	store, _ := cells(t, false)
	centred := must.Get(view.Parse("center=columns"))(t)
	for says, c := range map[string]struct {
		file string
		o    look.Options
	}{"it fills the matrix": {"a.mtx", look.Options{View: centred}}, "not written as npy": {"a.npy", look.Options{}}, "its extension is not that of a format": {"a.mat", look.Options{}}} {
		file := filepath.Join(t.TempDir(), c.file)
		_, err := export.WriteMatrix(t.Context(), store, export.Options{File: file}, c.o)
		if _, there := os.Stat(file); err == nil || !strings.Contains(err.Error(), says) || there == nil {
			t.Errorf("%s: %v", says, err)
		}
	}
}
