package mtx

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

const (
	realGeneral   = "%%MatrixMarket matrix coordinate real general\n"
	arrayGeneral  = "%%MatrixMarket matrix array real general\n"
	realSymmetric = "%%MatrixMarket matrix coordinate real symmetric\n"
	realSkew      = "%%MatrixMarket matrix coordinate real skew-symmetric\n"
	pattern       = "%%MatrixMarket matrix coordinate pattern general\n"
	integer       = "%%MatrixMarket matrix coordinate integer general\n"
)

// cases holds texts with the error and its place. If err is nil, naive gives the entries.
var cases = []struct {
	name, text string
	err        error
	line       int64
	column     int
}{
	{name: "real", text: realGeneral + "2 3 2\n1 1 1.5\n2 3 -2e-3\n"},
	{name: "no last line end", text: realGeneral + "2 3 1\n1 1 1.5"},
	{name: "CRLF", text: "%%MatrixMarket matrix coordinate real general\r\n2 3 1\r\n1 1 1.5\r\n"},
	{name: "byte order mark", text: text.BOM + realGeneral + "2 3 1\n1 1 1.5\n"},
	{name: "banner in other case", text: "%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 2\n"},
	{name: "comments and blank lines anywhere", text: realGeneral + "% a\n\n%b\n2 2 2\n% c\n1 1 1\n  \n2 2 2\n%\n\n"},
	{name: "blanks around", text: realGeneral + "  2\t2  1 \n \t1   2 3  \n"},
	{name: "explicit zero kept", text: realGeneral + "2 2 2\n1 1 0\n2 1 -0\n"},
	{name: "pattern", text: pattern + "3 2 2\n3 1\n1 2\n"},
	{name: "pattern symmetric", text: "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n"},
	{name: "integer", text: integer + "2 2 2\n1 1 -7\n2 2 +7\n"},
	{name: "unsigned integer", text: "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 1 18446744073709551615\n"},
	{name: "fraction that is to be unsigned", text: "%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n1 1 1.5\n", err: text.ErrInteger, line: 3, column: 5},
	{name: "integer beyond float64", text: integer + "1 1 1\n1 1 9223372036854775807\n"},
	{name: "symmetric lower", text: realSymmetric + "3 3 3\n1 1 1\n2 1 2\n3 1 3\n"},
	{name: "symmetric upper", text: realSymmetric + "3 3 3\n1 1 1\n1 2 2\n1 3 3\n"},
	{name: "skew", text: realSkew + "3 3 2\n2 1 2\n3 1 -3\n"},
	{name: "empty rows and columns", text: realGeneral + "9 7 1\n4 2 1\n"},
	{name: "no entries", text: realGeneral + "3 4 0\n"},
	{name: "0 by 0", text: pattern + "0 0 0\n"},
	{name: "0 by 1", text: pattern + "0 1 0\n"},
	{name: "array", text: arrayGeneral + "% by columns\n2 3\n1.5\n0\n\n  % x\n-2e-3\n4\n-0\n6\n"},
	{name: "array of one row", text: arrayGeneral + "1 3\n1\n2\n3"},
	{name: "array of one column", text: arrayGeneral + "3 1\r\n1\r\n2\r\n3\r\n"},
	{name: "array symmetric", text: "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n0\n5\n6\n"},
	{name: "array skew-symmetric", text: "%%MatrixMarket matrix array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n0\n"},
	{name: "array of nothing", text: arrayGeneral + "0 3\n"},
	{name: "skew-symmetric array of one", text: "%%MatrixMarket matrix array real skew-symmetric\n1 1\n"},
	{name: "leading zeros", text: realGeneral + "02 2 1\n+1 002 1\n"},

	{name: "empty file", text: "", err: format.ErrEmpty},
	{name: "no banner", text: "2 2 1\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "array too short", text: arrayGeneral + "2 2\n1\n2\n3\n", err: format.ErrCount, line: 6},
	{name: "array too long", text: arrayGeneral + "2 2\n1\n2\n3\n4\n%\n5\n", err: format.ErrCount, line: 8},
	{name: "array of two values a line", text: arrayGeneral + "2 2\n1\n2 3\n4\n", err: text.ErrFields, line: 4},
	{name: "array with entries", text: arrayGeneral + "2 2 4\n1\n2\n3\n4\n", err: text.ErrFields, line: 2},
	{name: "array of patterns", text: "%%MatrixMarket matrix array pattern general\n1 1\n", err: format.ErrHeader, line: 1},
	{name: "array of complex numbers", text: "%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n", err: format.ErrUnsupported, line: 1},
	{name: "symmetric array not square", text: "%%MatrixMarket matrix array real symmetric\n2 1\n1\n2\n", err: format.ErrHeader, line: 2},
	{name: "array with NaN", text: arrayGeneral + "1 2\n1\n nan\n", err: format.ErrNotFinite, line: 4, column: 2},
	{name: "fraction in an array of integers", text: "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", err: text.ErrInteger, line: 3, column: 1},
	{name: "array too large", text: arrayGeneral + "4611686018427387904 2\n", err: format.ErrHeader, line: 2},
	{name: "complex", text: "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", err: format.ErrUnsupported, line: 1},
	{name: "hermitian", text: "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", err: format.ErrUnsupported, line: 1},
	{name: "vector", text: "%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 1\n", err: format.ErrUnsupported, line: 1},
	{name: "unknown object", text: "%%MatrixMarket mangled coordinate real general\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "unknown field", text: "%%MatrixMarket matrix coordinate quaternion general\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "unknown symmetry", text: "%%MatrixMarket matrix coordinate real diagonal\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "short banner", text: "%%MatrixMarket matrix coordinate real\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "pattern skew", text: "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", err: format.ErrHeader, line: 1},
	{name: "no size line", text: realGeneral + "% nothing\n", err: format.ErrTruncated, line: 3},
	{name: "size of two", text: realGeneral + "2 2\n1 1 1\n", err: text.ErrFields, line: 2},
	{name: "negative size", text: realGeneral + "2 -2 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "size too large", text: realGeneral + "99999999999999999999 2 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "symmetric not square", text: realSymmetric + "2 3 0\n", err: format.ErrHeader, line: 2},
	{name: "entries in nothing", text: realGeneral + "0 3 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "zero index", text: realGeneral + "2 2 1\n0 1 1\n", err: text.ErrIndex, line: 3, column: 1},
	{name: "negative index", text: realGeneral + "2 2 1\n1 -1 1\n", err: text.ErrIndex, line: 3, column: 3},
	{name: "index too large", text: realGeneral + "2 2 2\n1 1 1\n1 3 1\n", err: text.ErrIndex, line: 4, column: 3},
	{name: "huge index", text: realGeneral + "2 2 1\n1 18446744073709551617 1\n", err: text.ErrInteger, line: 3, column: 3},
	{name: "index not an integer", text: realGeneral + "2 2 1\n1 1.0 1\n", err: text.ErrInteger, line: 3, column: 3},
	{name: "missing value", text: realGeneral + "2 2 1\n1 1\n", err: text.ErrFields, line: 3},
	{name: "extra garbage", text: realGeneral + "2 2 1\n1 1 1 x\n", err: text.ErrFields, line: 3},
	{name: "value in a pattern", text: pattern + "2 2 1\n1 1 1\n", err: text.ErrFields, line: 3},
	{name: "not a number", text: realGeneral + "2 2 1\n1 1 one\n", err: text.ErrNumber, line: 3, column: 5},
	{name: "NaN", text: realGeneral + "2 2 1\n1 1 nan\n", err: format.ErrNotFinite, line: 3, column: 5},
	{name: "infinity", text: realSkew + "2 2 1\n2 1 -inf\n", err: format.ErrNotFinite, line: 3, column: 5},
	{name: "overflow", text: realGeneral + "2 2 1\n1 1 1e999\n", err: format.ErrOverflow, line: 3, column: 5},
	{name: "fraction in an integer matrix", text: integer + "2 2 1\n1 1 1.5\n", err: text.ErrInteger, line: 3, column: 5},
	{name: "too few entries", text: realGeneral + "2 2 3\n1 1 1\n2 2 1\n", err: format.ErrCount, line: 5},
	{name: "too many entries", text: realGeneral + "2 2 1\n1 1 1\n% x\n2 2 1\n2 1 1\n", err: format.ErrCount, line: 5},
	{name: "too many before a bad line", text: realGeneral + "2 2 1\n1 1 1\n2 2 1\nx\n", err: format.ErrCount, line: 4},
	{name: "bad line before too many", text: realGeneral + "2 2 1\nx\n2 2 1\n", err: text.ErrFields, line: 3},
	{name: "both triangles", text: realSymmetric + "3 3 3\n2 1 1\n3 3 1\n1 3 1\n", err: text.ErrTriangle, line: 5},
	{name: "skew diagonal", text: realSkew + "3 3 2\n2 1 1\n2 2 1\n", err: text.ErrTriangle, line: 4},
}

// triple is one entry, by ids or by indices from 0.
type triple formattest.Triple

// read reads a text in chunks of the given size.
func read(data string, chunk int) (entries []triple, _ format.Shape, err error) {
	in, shape := formattest.Input([]byte(data))
	all, err := formattest.Read(Format, in, chunk)
	for _, e := range all {
		entries = append(entries, triple(e))
	}
	return entries, *shape, err
}

// refused fails unless err is a *format.ParseError of the kind at the line and column, with a text of one line.
func refused(t *testing.T, err, kind error, line int64, column int) {
	t.Helper()
	var pe *format.ParseError
	if !errors.As(err, &pe) || !errors.Is(err, kind) || pe.Line != line || pe.Column != column || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one of kind %q at %d:%d", err, kind, line, column)
	}
}

// TestMatrixMarket compares with cases and naive, in one chunk and in chunks of the longest line.
func TestMatrixMarket(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			longest := 0
			for l := range strings.Lines(c.text) {
				longest = max(longest, len(l))
			}
			for _, chunk := range []int{format.ChunkBytes, max(16, longest+1)} {
				got, shape, err := read(c.text, chunk)
				if c.err != nil {
					refused(t, err, c.err, c.line, c.column)
					continue
				}
				rows, cols, want, ok := naive(strings.TrimPrefix(c.text, text.BOM))
				if err != nil || !ok || shape != (format.Shape{Rows: rows, Cols: cols}) || !slices.Equal(got, want) {
					t.Errorf("got %v: %v, %v, want %d × %d: %v, %v", shape, got, err, rows, cols, want, ok)
				}
			}
		})
	}
}

// TestMatrixMarketChecksSpanChunks: errors that concern the whole file, such as a wrong number of
// entries, are found at the same line for any chunk size.
func TestMatrixMarketChecksSpanChunks(t *testing.T) {
	filler := strings.Repeat("% filler\n", 50)
	for _, c := range []struct {
		text string
		err  error
		line int64
	}{
		{realSymmetric + "3 3 2\n" + "1 3 1\n" + filler + "2 1 1\n", text.ErrTriangle, 54},
		{realGeneral + "3 3 1\n" + "1 3 1\n" + filler + "2 1 1\n", format.ErrCount, 54},
		{realGeneral + "3 3 3\n" + "1 3 1\n" + filler + "2 1 1\n", format.ErrCount, 55},
	} {
		for _, chunk := range []int{64, 100, format.ChunkBytes} {
			_, _, err := read(c.text, chunk)
			refused(t, err, c.err, c.line, 0)
		}
	}
}

// TestArraysSpanChunks: values of an array get their row and column for any chunk size.
func TestArraysSpanChunks(t *testing.T) {
	for symmetry, n := range map[string]int{"general": 961, "symmetric": 496, "skew-symmetric": 465} {
		var b strings.Builder
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix array integer %s\n31 31\n", symmetry)
		for k := range n {
			fmt.Fprintf(&b, "%d\n", max(0, k*7919%41-20))
			if k%50 == 0 {
				b.WriteString("\n% between\n")
			}
		}
		_, _, want, ok := naive(b.String())
		for _, chunk := range []int{20, 64, 1000} {
			if got, _, err := read(b.String(), chunk); err != nil || !ok || !slices.Equal(got, want) {
				t.Errorf("%s in chunks of %d: %v, other entries", symmetry, chunk, err)
			}
		}
	}
}

// TestRealData compares published files with naive.
func TestRealData(t *testing.T) {
	dir := os.Getenv("GDSVD_DATA")
	if dir == "" {
		t.Skip("GDSVD_DATA is not set: it names the folder of real data sets")
	}
	for _, name := range []string{
		"suitesparse/west0479.mtx", "suitesparse/karate.mtx", "suitesparse/lp_e226.mtx", "suitesparse/lp_e226_transposed.mtx", "suitesparse/494_bus.mtx", "suitesparse/Ragusa16.mtx",
		"suitesparse/Franz6_id1959_aug.mtx.gz", "suitesparse/GD06_theory.mtx", "snap/soc-Slashdot0902.mtx.gz", "10x/v3.matrix.mtx.gz",
	} {
		b := must.Get(os.ReadFile(filepath.Join(dir, filepath.FromSlash(name))))(t)
		if strings.HasSuffix(name, ".gz") {
			b = must.Get(io.ReadAll(must.Get(gzip.NewReader(bytes.NewReader(b)))(t)))(t)
		}
		rows, cols, want, ok := naive(string(b))
		if got, shape, err := read(string(b), format.ChunkBytes); err != nil || !ok || shape != (format.Shape{Rows: rows, Cols: cols}) || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v: other entries", name, shape, err)
		}
	}
}

// FuzzMatrixMarket: the format accepts the texts that naive accepts and reads the same entries.
func FuzzMatrixMarket(f *testing.F) {
	for _, c := range cases {
		f.Add(c.text)
	}
	f.Add("%%MatrixMarket matrix array real general\n3 1\f\n1\n2\n3")
	f.Fuzz(func(t *testing.T, src string) {
		rows, cols, want, ok := naive(strings.TrimPrefix(src, text.BOM))
		got, shape, err := read(src, format.ChunkBytes)
		if !ok {
			if err == nil && max(shape.Rows, shape.Cols) < 1<<31 {
				t.Fatalf("%q: accepted as %v", src, got)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v, want %v", src, err, want)
		}
		if shape.Rows != rows || shape.Cols != cols || !slices.Equal(got, want) {
			t.Fatalf("%q: got %d × %d, %v, want %d × %d, %v", src, shape.Rows, shape.Cols, got, rows, cols, want)
		}
	})
}

// naive reads a Matrix Market file; ok is false if it is to be refused.
func naive(text string) (rows, cols int64, entries []triple, ok bool) {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	banner := strings.Fields(strings.ToLower(lines[0]))
	if len(banner) != 5 || banner[0] != "%%matrixmarket" || banner[1] != "matrix" || banner[2] != "coordinate" && banner[2] != "array" {
		return
	}
	field, symmetry := banner[3], banner[4]
	if !slices.Contains([]string{"real", "double", "integer", "unsigned-integer", "pattern"}, field) || !slices.Contains([]string{"general", "symmetric", "skew-symmetric"}, symmetry) ||
		field == "pattern" && symmetry == "skew-symmetric" {
		return
	}
	var data [][]string
	for _, l := range lines[1:] {
		if f := strings.FieldsFunc(l, func(r rune) bool { return r == ' ' || r == '\t' }); len(f) > 0 && f[0][0] != '%' {
			data = append(data, f)
		}
	}
	if banner[2] == "array" {
		return naiveArray(data, field, symmetry)
	}
	if len(data) == 0 || len(data[0]) != 3 {
		return
	}
	var size [3]int64
	for i, s := range data[0] {
		var err error
		if size[i], err = naiveIndex(s); err != nil {
			return
		}
	}
	rows, cols = size[0], size[1]
	if int64(len(data)-1) != size[2] || symmetry != "general" && rows != cols || max(rows, cols) >= 1<<31 {
		return
	}
	lower, upper := false, false
	for _, f := range data[1:] {
		want := 3
		if field == "pattern" {
			want = 2
		}
		if len(f) != want {
			return
		}
		i, err1 := naiveIndex(f[0])
		j, err2 := naiveIndex(f[1])
		v, err3 := 1.0, error(nil)
		if field != "pattern" {
			if v, err3 = formattest.Float(f[2]); strings.HasSuffix(field, "integer") && strings.ContainsAny(f[2], ".eE") {
				return
			}
		}
		if err1 != nil || err2 != nil || err3 != nil || i < 1 || j < 1 || i > rows || j > cols {
			return
		}
		name := func(i int64) string { return strconv.FormatInt(i-1, 10) }
		entries = append(entries, triple{name(i), name(j), v})
		switch {
		case symmetry == "general":
			continue
		case i == j && symmetry == "skew-symmetric":
			return
		case i == j:
			continue
		case symmetry == "skew-symmetric":
			v = -v
		}
		lower, upper = lower || i > j, upper || i < j
		entries = append(entries, triple{name(j), name(i), v})
	}
	return rows, cols, entries, !lower || !upper
}

// naiveArray reads the fields of a dense file in column order.
func naiveArray(data [][]string, field, symmetry string) (rows, cols int64, entries []triple, ok bool) {
	if field == "pattern" || len(data) == 0 || len(data[0]) != 2 {
		return
	}
	rows, err1 := naiveIndex(data[0][0])
	cols, err2 := naiveIndex(data[0][1])
	if err1 != nil || err2 != nil || symmetry != "general" && rows != cols || max(rows, cols) >= 1<<31 {
		return
	}
	data = data[1:]
	for j := range cols {
		for i := range rows {
			if symmetry == "symmetric" && i < j || symmetry == "skew-symmetric" && i <= j {
				continue
			}
			if len(data) == 0 || len(data[0]) != 1 {
				return
			}
			v, err := formattest.Float(data[0][0])
			if err != nil || strings.HasSuffix(field, "integer") && strings.ContainsAny(data[0][0], ".eE") {
				return
			}
			data = data[1:]
			if v == 0 {
				continue
			}
			entries = append(entries, triple{strconv.FormatInt(i, 10), strconv.FormatInt(j, 10), v})
			if symmetry == "skew-symmetric" {
				v = -v
			}
			if symmetry != "general" && i != j {
				entries = append(entries, triple{strconv.FormatInt(j, 10), strconv.FormatInt(i, 10), v})
			}
		}
	}
	return rows, cols, entries, len(data) == 0
}

func naiveIndex(s string) (int64, error) {
	if len(s) > 1 && s[0] == '+' {
		s = s[1:]
	}
	if strings.Trim(s, "0123456789") != "" || len(s) > 18 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(s, 10, 64)
}
