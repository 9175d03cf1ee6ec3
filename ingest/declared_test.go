package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

const (
	mmReal  = "%%MatrixMarket matrix coordinate real general\n"
	mmArray = "%%MatrixMarket matrix array real general\n"
	mmSym   = "%%MatrixMarket matrix coordinate real symmetric\n"
	mmInt   = "%%MatrixMarket matrix coordinate integer general\n"
)

// TestDeclaredShapes: a matrix whose file declares the shape becomes a store of that shape, whatever entries it has.
// The tests of each format cover its syntax.
func TestDeclaredShapes(t *testing.T) {
	for _, c := range []struct {
		name, content, format string
		rows, cols            int64
		want                  []triple
	}{
		{"empty rows and columns, explicit zeros", mmReal + "9 7 3\n4 2 1.5\n1 1 0\n2 1 -0\n", "mtx", 9, 7, []triple{{"0", "0", 0}, {"1", "0", 0}, {"3", "1", 1.5}}},
		{"symmetric", mmSym + "3 3 3\n1 1 1\n2 1 2\n3 1 3\n", "mtx", 3, 3, []triple{{"0", "0", 1}, {"0", "1", 2}, {"0", "2", 3}, {"1", "0", 2}, {"2", "0", 3}}},
		{"array", mmArray + "2 3\n1.5\n0\n-2e-3\n4\n-0\n6\n", "mtx", 2, 3, []triple{{"0", "0", 1.5}, {"0", "1", -2e-3}, {"1", "1", 4}, {"1", "2", 6}}},
		{"no entries", mmReal + "3 4 0\n", "mtx", 3, 4, nil},
		{"0 by 0", "%%MatrixMarket matrix coordinate pattern general\n0 0 0\n", "mtx", 0, 0, nil},
		{"0 by 1", "%%MatrixMarket matrix coordinate pattern general\n0 1 0\n", "mtx", 0, 1, nil},
		{"array of nothing", mmArray + "0 3\n", "mtx", 0, 3, nil},
		{"idx", "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x01\x00\xff\x00\x00\x00\x00\x07", "idx", 2, 4, []triple{{"0", "0", 1}, {"0", "2", 255}, {"1", "3", 7}}},
		{"idx, no rows", "\x00\x00\x08\x02\x00\x00\x00\x00\x00\x00\x00\x03", "idx", 0, 3, nil},
		{"idx, no columns", "\x00\x00\x08\x02\x00\x00\x00\x03\x00\x00\x00\x00", "idx", 3, 0, nil},
	} {
		rep, got, err := ingestText(t, c.content, Options{})
		if err != nil || rep.Format != c.format || rep.Rows != c.rows || rep.Cols != c.cols || rep.NNZ != int64(len(c.want)) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v, %v, want %d × %d: %v", c.name, rep, got, err, c.rows, c.cols, c.want)
		}
	}
	for _, c := range []struct {
		content, format string
		err             error
		line            int64
		column          int
	}{
		{mmReal + "999999999999 999999999999 1\n1 1 1\n", "", format.ErrUnsupported, 2, 0},
		{"", "mtx", format.ErrEmpty, 0, 0},
		{mmReal + "2 2 2\n1 1 1\n1 3 1\n", "", text.ErrIndex, 4, 3},
		{mmReal + "2 2 1\n1 1 1\n2 2 1\nx\n", "", format.ErrCount, 4, 0}, // the first of two errors is reported
		{mmReal + "2 2 1\nx\n2 2 1\n", "", text.ErrFields, 3, 0},
		{mmSym + "3 3 3\n2 1 1\n3 3 1\n1 3 1\n", "", text.ErrTriangle, 5, 0},
		{"", "idx", format.ErrTruncated, 0, 0},
		{"\x00\x00\x08\x01\x00\x00\x00\x02\x01\x02\x03", "", format.ErrCount, 0, 0},
	} {
		_, _, err := ingestText(t, c.content, Options{Format: c.format})
		parseError(t, err, c.err, c.line, c.column)
	}
	tolerated := Options{MaxBadLines: 100} // MaxBadLines does not matter: IDX has no lines
	_, _, err := ingestText(t, "\x00\x00\x0d\x01\x00\x00\x00\x01\xff\x80\x00\x00", tolerated)
	parseError(t, err, format.ErrNotFinite, 0, 0)
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

// TestArraysAfterDeath: after a resumed ingest, each value of a Matrix Market array is at its row and column.
func TestArraysAfterDeath(t *testing.T) {
	for symmetry, n := range map[string]int{"general": 961, "symmetric": 496, "skew-symmetric": 465} {
		var b strings.Builder
		fmt.Fprintf(&b, "%%%%MatrixMarket matrix array integer %s\n31 31\n", symmetry)
		for k := range n {
			fmt.Fprintf(&b, "%d\n", max(0, k*7919%41-20))
			if k%50 == 0 {
				b.WriteString("\n% between\n")
			}
		}
		want, _, err := parseAll([]byte(b.String()), Options{}, format.ChunkBytes)
		must.Do(t, err)
		slices.SortFunc(want, compareTriples)
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
