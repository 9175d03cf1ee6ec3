package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

const (
	mmReal    = "%%MatrixMarket matrix coordinate real general\n"
	mmArray   = "%%MatrixMarket matrix array real general\n"
	mmSym     = "%%MatrixMarket matrix coordinate real symmetric\n"
	mmSkew    = "%%MatrixMarket matrix coordinate real skew-symmetric\n"
	mmPattern = "%%MatrixMarket matrix coordinate pattern general\n"
	mmInt     = "%%MatrixMarket matrix coordinate integer general\n"
)

// mmCases: err nil means accepted, and then the content is that of the naive reader.
var mmCases = []struct {
	name, text string
	err        error
	line       int64
	column     int
}{
	{name: "real", text: mmReal + "2 3 2\n1 1 1.5\n2 3 -2e-3\n"},
	{name: "no last line end", text: mmReal + "2 3 1\n1 1 1.5"},
	{name: "CRLF", text: "%%MatrixMarket matrix coordinate real general\r\n2 3 1\r\n1 1 1.5\r\n"},
	{name: "byte order mark", text: text.BOM + mmReal + "2 3 1\n1 1 1.5\n"},
	{name: "banner in other case", text: "%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 2\n"},
	{name: "comments and blank lines anywhere", text: mmReal + "% a\n\n%b\n2 2 2\n% c\n1 1 1\n  \n2 2 2\n%\n\n"},
	{name: "blanks around", text: mmReal + "  2\t2  1 \n \t1   2 3  \n"},
	{name: "explicit zero kept", text: mmReal + "2 2 2\n1 1 0\n2 1 -0\n"},
	{name: "pattern", text: mmPattern + "3 2 2\n3 1\n1 2\n"},
	{name: "pattern symmetric", text: "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 3\n1 1\n2 1\n3 2\n"},
	{name: "integer", text: mmInt + "2 2 2\n1 1 -7\n2 2 +7\n"},
	{name: "integer beyond float64", text: mmInt + "1 1 1\n1 1 9223372036854775807\n"},
	{name: "symmetric lower", text: mmSym + "3 3 3\n1 1 1\n2 1 2\n3 1 3\n"},
	{name: "symmetric upper", text: mmSym + "3 3 3\n1 1 1\n1 2 2\n1 3 3\n"},
	{name: "skew", text: mmSkew + "3 3 2\n2 1 2\n3 1 -3\n"},
	{name: "empty rows and columns", text: mmReal + "9 7 1\n4 2 1\n"},
	{name: "no entries", text: mmReal + "3 4 0\n"},
	{name: "0 by 0", text: mmPattern + "0 0 0\n"},
	{name: "0 by 1", text: mmPattern + "0 1 0\n"},
	{name: "array", text: mmArray + "% by columns\n2 3\n1.5\n0\n\n  % x\n-2e-3\n4\n-0\n6\n"},
	{name: "array of one row", text: mmArray + "1 3\n1\n2\n3"},
	{name: "array of one column", text: mmArray + "3 1\r\n1\r\n2\r\n3\r\n"},
	{name: "array symmetric", text: "%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n0\n5\n6\n"},
	{name: "array skew-symmetric", text: "%%MatrixMarket matrix array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n0\n"},
	{name: "array of nothing", text: mmArray + "0 3\n"},
	{name: "skew-symmetric array of one", text: "%%MatrixMarket matrix array real skew-symmetric\n1 1\n"},
	{name: "leading zeros", text: mmReal + "02 2 1\n+1 002 1\n"},

	{name: "empty file", text: "", err: format.ErrEmpty},
	{name: "no banner", text: "2 2 1\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "array too short", text: mmArray + "2 2\n1\n2\n3\n", err: format.ErrCount, line: 6},
	{name: "array too long", text: mmArray + "2 2\n1\n2\n3\n4\n%\n5\n", err: format.ErrCount, line: 8},
	{name: "array of two values a line", text: mmArray + "2 2\n1\n2 3\n4\n", err: text.ErrFields, line: 4},
	{name: "array with entries", text: mmArray + "2 2 4\n1\n2\n3\n4\n", err: text.ErrFields, line: 2},
	{name: "array of patterns", text: "%%MatrixMarket matrix array pattern general\n1 1\n", err: format.ErrHeader, line: 1},
	{name: "array of complex numbers", text: "%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n", err: format.ErrUnsupported, line: 1},
	{name: "symmetric array not square", text: "%%MatrixMarket matrix array real symmetric\n2 1\n1\n2\n", err: format.ErrHeader, line: 2},
	{name: "array with NaN", text: mmArray + "1 2\n1\n nan\n", err: format.ErrNotFinite, line: 4, column: 2},
	{name: "fraction in an array of integers", text: "%%MatrixMarket matrix array integer general\n1 1\n1.5\n", err: text.ErrInteger, line: 3, column: 1},
	{name: "array too large", text: mmArray + "4611686018427387904 2\n", err: format.ErrHeader, line: 2},
	{name: "complex", text: "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", err: format.ErrUnsupported, line: 1},
	{name: "hermitian", text: "%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 1\n", err: format.ErrUnsupported, line: 1},
	{name: "vector", text: "%%MatrixMarket vector coordinate real general\n1 1 1\n1 1 1\n", err: format.ErrUnsupported, line: 1},
	{name: "unknown object", text: "%%MatrixMarket mangled coordinate real general\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "unknown field", text: "%%MatrixMarket matrix coordinate quaternion general\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "unknown symmetry", text: "%%MatrixMarket matrix coordinate real diagonal\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "short banner", text: "%%MatrixMarket matrix coordinate real\n1 1 1\n", err: format.ErrHeader, line: 1},
	{name: "pattern skew", text: "%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n", err: format.ErrHeader, line: 1},
	{name: "no size line", text: mmReal + "% nothing\n", err: format.ErrTruncated, line: 3},
	{name: "size of two", text: mmReal + "2 2\n1 1 1\n", err: text.ErrFields, line: 2},
	{name: "negative size", text: mmReal + "2 -2 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "size too large", text: mmReal + "99999999999999999999 2 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "matrix too large", text: mmReal + "999999999999 999999999999 1\n1 1 1\n", err: format.ErrUnsupported, line: 2},
	{name: "symmetric not square", text: mmSym + "2 3 0\n", err: format.ErrHeader, line: 2},
	{name: "entries in nothing", text: mmReal + "0 3 1\n1 1 1\n", err: format.ErrHeader, line: 2},
	{name: "zero index", text: mmReal + "2 2 1\n0 1 1\n", err: text.ErrIndex, line: 3, column: 1},
	{name: "negative index", text: mmReal + "2 2 1\n1 -1 1\n", err: text.ErrIndex, line: 3, column: 3},
	{name: "index too large", text: mmReal + "2 2 2\n1 1 1\n1 3 1\n", err: text.ErrIndex, line: 4, column: 3},
	{name: "huge index", text: mmReal + "2 2 1\n1 18446744073709551617 1\n", err: text.ErrInteger, line: 3, column: 3},
	{name: "index not an integer", text: mmReal + "2 2 1\n1 1.0 1\n", err: text.ErrInteger, line: 3, column: 3},
	{name: "missing value", text: mmReal + "2 2 1\n1 1\n", err: text.ErrFields, line: 3},
	{name: "extra garbage", text: mmReal + "2 2 1\n1 1 1 x\n", err: text.ErrFields, line: 3},
	{name: "value in a pattern", text: mmPattern + "2 2 1\n1 1 1\n", err: text.ErrFields, line: 3},
	{name: "not a number", text: mmReal + "2 2 1\n1 1 one\n", err: text.ErrNumber, line: 3, column: 5},
	{name: "NaN", text: mmReal + "2 2 1\n1 1 nan\n", err: format.ErrNotFinite, line: 3, column: 5},
	{name: "infinity", text: mmSkew + "2 2 1\n2 1 -inf\n", err: format.ErrNotFinite, line: 3, column: 5},
	{name: "overflow", text: mmReal + "2 2 1\n1 1 1e999\n", err: format.ErrOverflow, line: 3, column: 5},
	{name: "fraction in an integer matrix", text: mmInt + "2 2 1\n1 1 1.5\n", err: text.ErrInteger, line: 3, column: 5},
	{name: "too few entries", text: mmReal + "2 2 3\n1 1 1\n2 2 1\n", err: format.ErrCount, line: 5},
	{name: "too many entries", text: mmReal + "2 2 1\n1 1 1\n% x\n2 2 1\n2 1 1\n", err: format.ErrCount, line: 5},
	{name: "too many before a bad line", text: mmReal + "2 2 1\n1 1 1\n2 2 1\nx\n", err: format.ErrCount, line: 4},
	{name: "bad line before too many", text: mmReal + "2 2 1\nx\n2 2 1\n", err: text.ErrFields, line: 3},
	{name: "both triangles", text: mmSym + "3 3 3\n2 1 1\n3 3 1\n1 3 1\n", err: text.ErrTriangle, line: 5},
	{name: "skew diagonal", text: mmSkew + "3 3 2\n2 1 1\n2 2 1\n", err: text.ErrTriangle, line: 4},
}

func TestMatrixMarket(t *testing.T) {
	for _, c := range mmCases {
		t.Run(c.name, func(t *testing.T) {
			rep, got, err := ingestText(t, c.text, Options{Format: "mtx"})
			if c.err != nil {
				parseError(t, err, c.err, c.line, c.column)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, cols, want, ok := naiveMatrixMarket(strings.TrimPrefix(c.text, text.BOM))
			slices.SortFunc(want, compareTriples)
			if !ok || rep.Rows != rows || rep.Cols != cols || rep.NNZ != int64(len(want)) || !slices.Equal(got, want) {
				t.Errorf("got %d × %d: %v, want %d × %d: %v, %v", rep.Rows, rep.Cols, got, rows, cols, want, ok)
			}
		})
	}
}

// TestMatrixMarketChecksSpanChunks: what only all batches together show is
// found however the file is cut, at the same line.
func TestMatrixMarketChecksSpanChunks(t *testing.T) {
	filler := strings.Repeat("% filler\n", 50)
	for _, c := range []struct {
		text string
		err  error
		line int64
	}{
		{mmSym + "3 3 2\n" + "1 3 1\n" + filler + "2 1 1\n", text.ErrTriangle, 54},
		{mmReal + "3 3 1\n" + "1 3 1\n" + filler + "2 1 1\n", format.ErrCount, 54},
		{mmReal + "3 3 3\n" + "1 3 1\n" + filler + "2 1 1\n", format.ErrCount, 55},
	} {
		for _, chunkLen := range []int{64, 100, format.ChunkBytes} {
			_, _, err := parseAll([]byte(c.text), Options{}, chunkLen)
			parseError(t, err, c.err, c.line, 0)
		}
	}
}

func TestMatrixMarketDuplicatesFollowThePolicy(t *testing.T) {
	text := mmReal + "3 4 3\n1 1 3.0\n2 2 3.4\n2 2 7.1\n"
	_, _, err := ingestText(t, text, Options{})
	var de *duplicateError
	if !errors.As(err, &de) || de.Row != "2" || de.Col != "2" || de.First.Line != 4 || de.Second.Line != 5 {
		t.Errorf("got %v", err)
	}
	_, got, err := ingestText(t, text, Options{Duplicates: Max})
	if want := []triple{{"0", "0", 3}, {"1", "1", 7.1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestArraysSpanChunks: a value is at its place however the file is cut, and after a death.
func TestArraysSpanChunks(t *testing.T) {
	for _, symmetry := range []string{"general", "symmetric", "skew-symmetric"} {
		var b strings.Builder
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix array integer %s\n31 31\n", symmetry)
		n := map[string]int{"general": 961, "symmetric": 496, "skew-symmetric": 465}[symmetry]
		for k := range n {
			fmt.Fprintf(&b, "%d\n", max(0, k*7919%41-20))
			if k%50 == 0 {
				b.WriteString("\n% between\n")
			}
		}
		_, _, want, ok := naiveMatrixMarket(b.String())
		slices.SortFunc(want, compareTriples)
		for _, chunkLen := range []int{20, 64, 1000} {
			got, _, err := parseAll([]byte(b.String()), Options{}, chunkLen)
			slices.SortFunc(got, compareTriples)
			if err != nil || !ok || !slices.Equal(got, want) {
				t.Errorf("%s in chunks of %d: %v, other entries", symmetry, chunkLen, err)
			}
		}
		u := &unlucky{"array", []string{write(t, "in", b.String())}, Options{}, tiny()}
		u.plan.Run, u.plan.First = 32, 32
		whole := target(t)
		rep, _, err := u.run(t, whole, -1)
		if err != nil || rep.Runs < 3 || !slices.Equal(contents(t, whole), want) {
			t.Fatalf("%+v, %v", rep, err)
		}
		if symmetry == "symmetric" {
			resumesAfterDeath(t, u, whole, rep)
		}
	}
}
