package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/npy"
)

func arrayOf(t *testing.T, b []byte, shape string) []float64 {
	t.Helper()
	h, err := npy.ReadHeader(bytes.NewReader(b))
	if err != nil || fmt.Sprint(h.Shape) != shape || h.Fortran {
		t.Fatalf("%+v, %v; want shape %s", h, err, shape)
	}
	kind := must.Get(npy.TypeOf(h.Descr))(t)
	x := make([]float64, h.Elements())
	if want := h.Size + int64(len(x)*kind.Size); int64(len(b)) != want || h.Size%64 != 0 {
		t.Fatalf("%d bytes, want %d", len(b), want)
	}
	kind.Floats(x, b[h.Size:])
	return x
}

func archiveOf(t *testing.T, b []byte, what, shape string, want expected) []float64 {
	t.Helper()
	z := must.Get(zip.NewReader(bytes.NewReader(b), int64(len(b))))(t)
	files := map[string][]byte{}
	for _, f := range z.File {
		r := must.Get(f.Open())(t)
		files[f.Name] = must.Get(io.ReadAll(r))(t)
	}
	count := 2
	switch {
	case what == "sigma":
		count = 1
	default:
		count++
		if got := textsOf(t, files["ids.npy"]); strings.Join(got, "|") != strings.Join(want.ids, "|") {
			t.Errorf("ids %q, want %q", got, want.ids)
		}
		if want.titles != nil {
			count++
			if got := textsOf(t, files["titles.npy"]); strings.Join(got, "|") != strings.Join(want.titles, "|") {
				t.Errorf("titles %q, want %q", got, want.titles)
			}
		}
		if sigma := arrayOf(t, files["sigma.npy"], "[3]"); len(sigma) != 3 {
			t.Error(sigma)
		}
	}
	if len(files) != count {
		t.Errorf("%d files, want %d", len(files), count)
	}
	return arrayOf(t, files[what+".npy"], shape)
}

// textsOf reads a NumPy array of integers or strings as texts.
func textsOf(t *testing.T, b []byte) (all []string) {
	t.Helper()
	h := must.Get(npy.ReadHeader(bytes.NewReader(b)))(t)
	b = b[h.Size:]
	for range h.Elements() {
		if h.Descr == "<i8" {
			all, b = append(all, fmt.Sprint(int64(binary.LittleEndian.Uint64(b)))), b[8:]
			continue
		}
		var n int
		if _, err := fmt.Sscanf(h.Descr, "<U%d", &n); err != nil {
			t.Fatal(h.Descr)
		}
		text := ""
		for ; n > 0; n-- {
			if c := binary.LittleEndian.Uint32(b); c != 0 {
				text += string(rune(c))
			}
			b = b[4:]
		}
		all = append(all, text)
	}
	if len(b) > 0 {
		t.Errorf("%d more bytes", len(b))
	}
	return all
}

func recordsOf(t *testing.T, b []byte, separator rune, want expected) (x []float64) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(b))
	r.Comma = separator
	all := must.Get(r.ReadAll())(t)
	first := 1
	if want.titles != nil {
		first++
	}
	if len(all) != len(want.ids)+1 || len(all[0]) != first+want.x.RawMatrix().Cols {
		t.Fatalf("%d records of %d fields", len(all), len(all[0]))
	}
	for i, record := range all[1:] {
		if record[0] != want.ids[i] || want.titles != nil && record[1] != want.titles[i] {
			t.Errorf("record %d: %q, want id %q", i, record, want.ids[i])
		}
		for _, field := range record[first:] {
			v := must.Get(strconv.ParseFloat(field, 64))(t)
			x = append(x, v)
		}
	}
	return x
}

// parquetOf and parquetCells read Parquet files with parquet-go. They are nil without -tags alltests.
var (
	parquetOf    func(t *testing.T, b []byte, want expected) []float64
	parquetCells func(t *testing.T, file []byte, put func(row, col string, v float64))
)

func matrixOf(t *testing.T, b []byte, rows, k int) (x []float64) {
	t.Helper()
	lines := strings.Split(string(b), "\n")
	if lines[0] != "%%MatrixMarket matrix coordinate real general" || lines[2] != fmt.Sprint(rows, k, rows*k) || len(lines) != rows*k+4 {
		t.Fatalf("%q, %d lines", lines[:3], len(lines))
	}
	for n, line := range lines[3 : len(lines)-1] {
		var i, j int
		var v float64
		if _, err := fmt.Sscan(line, &i, &j, &v); err != nil || i != n/k+1 || j != n%k+1 {
			t.Fatalf("%q: %v", line, err)
		}
		x = append(x, v)
	}
	return x
}
