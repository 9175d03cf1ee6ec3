package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

// dataDir returns the folder of real data sets, which may not be distributed with the project.
func dataDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("GDSVD_DATA")
	if dir == "" {
		t.Skip("GDSVD_DATA is not set: it names the folder of real data sets")
	}
	return dir
}

// plain returns the content of a file, decompressed with the standard library if its name ends in .gz.
func plain(t testing.TB, path string) []byte {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	if !strings.HasSuffix(path, ".gz") {
		return b
	}
	z := must.Get(gzip.NewReader(bytes.NewReader(b)))(t)
	b = must.Get(io.ReadAll(z))(t)
	return b
}

// cutHeader returns b without its first line.
func cutHeader(b []byte) string { return string(b[bytes.IndexByte(b, '\n')+1:]) }

func TestRealData(t *testing.T) {
	dir := dataDir(t)
	lines := func(sep string) func(b []byte) []triple {
		return func(b []byte) []triple {
			e, _ := naiveLines(string(b), sep, []int{0, 1, 2})
			return e
		}
	}
	mm := func(b []byte) []triple { // the format's own reader; package mtx compares it with a naive reader
		e, _, _ := parseAll(b, Options{Format: "mtx"}, format.ChunkBytes)
		return e
	}
	for _, c := range []struct {
		file            string
		rows, cols, nnz int64
		naive           func(b []byte) []triple
	}{
		{"movielens/ml-100k/u.data", 943, 1682, 100000, lines("\t")},
		{"movielens/ml-1m/ratings-notimestamp.dat.gz", 6040, 3706, 1000209, lines("::")},
		{"movielens/ml-latest-small/ratings.csv", 610, 9724, 100836, func(b []byte) []triple { return lines(",")([]byte(cutHeader(b))) }},
		{"suitesparse/west0479.mtx", 479, 479, 1910, mm},
		{"suitesparse/karate.mtx", 34, 34, 156, mm},
		{"suitesparse/lp_e226.mtx", 223, 472, 2768, mm},
		{"suitesparse/lp_e226_transposed.mtx", 472, 223, 2768, mm},
		{"suitesparse/494_bus.mtx", 494, 494, 1666, mm},
		{"suitesparse/Ragusa16.mtx", 24, 24, 81, mm},
		{"suitesparse/Franz6_id1959_aug.mtx.gz", 10592, 3016, 48472, mm},
		{"suitesparse/GD06_theory.mtx", 101, 101, 380, mm},
		{"snap/soc-Slashdot0902.mtx.gz", 82168, 82168, 948464, mm},
		{"10x/v3.matrix.mtx.gz", 507, 1107, 23866, mm},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := filepath.Join(dir, filepath.FromSlash(c.file))
			out, rep := ingested(t, []string{path}, Options{Memory: 64 << 20})
			if rep.Rows != c.rows || rep.Cols != c.cols || rep.NNZ != c.nnz || rep.Transposed != (c.cols > c.rows) {
				t.Errorf("%d × %d with %d entries, transposed %v; want %d × %d, %d", rep.Rows, rep.Cols, rep.NNZ, rep.Transposed, c.rows, c.cols, c.nnz)
			}
			want := c.naive(plain(t, path))
			slices.SortFunc(want, compareTriples)
			if !slices.Equal(contents(t, out), want) {
				t.Error("contents differ from a naive reading")
			}
		})
	}
}

// TestMNIST compares the number and sum of the entries of each row with the file; triples of all would take much memory.
func TestMNIST(t *testing.T) {
	path := filepath.Join(dataDir(t), "mnist", "train-images-idx3-ubyte.gz")
	data := plain(t, path)[16:]
	out, rep := ingested(t, []string{path}, Options{})
	if rep.Rows != 60000 || rep.Cols != 784 || rep.NNZ != 8994156 || rep.Format != "idx" {
		t.Fatalf("got %+v", rep)
	}
	got := make([][2]int, rep.Rows) // number and sum of the entries of each row
	eachStored(t, out, func(row int64, _ uint32, v float64) {
		got[row][0]++
		got[row][1] += int(v)
	})
	for row := range got {
		var want [2]int
		for _, v := range data[row*784 : (row+1)*784] {
			if v != 0 {
				want[0]++
				want[1] += int(v)
			}
		}
		if got[row] != want {
			t.Fatalf("row %d: %d entries of sum %d, want %v", row, got[row][0], got[row][1], want)
		}
	}
}

func TestExplicitZerosOfWest0479(t *testing.T) {
	out, _ := ingested(t, []string{filepath.Join(dataDir(t), "suitesparse", "west0479.mtx")}, Options{})
	zeros := 0
	for _, e := range contents(t, out) {
		if e.Val == 0 {
			zeros++
		}
	}
	if zeros != 22 {
		t.Errorf("%d explicit zeros, want 22", zeros)
	}
}

// TestQuirks: every file of the collection of Matrix Market oddities is read or refused as listed.
func TestQuirks(t *testing.T) {
	dir := filepath.Join(dataDir(t), "mm-quirks")
	type verdict struct {
		rows, cols, nnz int64
		err             error
		line            int64
	}
	want := map[string]verdict{
		"a0.mtx":                {},
		"a01.mtx":               {cols: 1},
		"empty.mtx":             {rows: 3, cols: 4},
		"matrix_int64.mtx":      {rows: 7, cols: 7, nnz: 12},
		"comments_west0067.mtx": {err: format.ErrNotFinite, line: 6},
		"skew_fp64.mtx":         {err: format.ErrNotFinite, line: 4},
		"full_symmetric.mtx":    {rows: 4, cols: 4, nnz: 16},
		"hermitian_c.mtx":       {err: format.ErrUnsupported, line: 1},
		"mangled1.mtx":          {err: format.ErrHeader, line: 1},
		"mangled7.mtx":          {err: text.ErrFields, line: 5},
		"mangled10.mtx":         {err: format.ErrCount, line: 7},
		"mangled14.mtx":         {err: errors.New("duplicate"), line: 8},
		"west0067_noheader.mtx": {err: format.ErrHeader, line: 1},
	}
	for _, e := range must.Get(os.ReadDir(dir))(t) {
		t.Run(e.Name(), func(t *testing.T) {
			v, known := want[e.Name()]
			if !known {
				t.Fatal("no verdict for this file")
			}
			rep, err := Ingest(t.Context(), []string{filepath.Join(dir, e.Name())}, target(t), Options{Format: "mtx"})
			var de *duplicateError
			switch {
			case e.Name() == "mangled14.mtx":
				if !errors.As(err, &de) || de.Second.Line != v.line || de.First.Line != v.line-1 {
					t.Errorf("got %v", err)
				}
			case v.err != nil:
				parseError(t, err, v.err, v.line, parseColumn(err))
			case err != nil || rep.Rows != v.rows || rep.Cols != v.cols || rep.NNZ != v.nnz:
				t.Errorf("got %+v, %v, want %+v", rep, err, v)
			}
		})
	}
}

// parseColumn returns the column of a *format.ParseError, for calls of parseError that do not check the column.
func parseColumn(err error) int {
	var pe *format.ParseError
	if errors.As(err, &pe) {
		return pe.Column
	}
	return 0
}
