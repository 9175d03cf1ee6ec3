package recommend_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/must"
)

// films returns a small result whose titles need quotes.
func films(t *testing.T) (*factor.Result, *csr.Store) {
	dir := t.TempDir()
	path := filepath.Join(dir, "films.csr")
	csrtest.Write(t, path, 4, [][]csrtest.Entry{{{Col: 0, Val: 5}, {Col: 1, Val: 3}}, {{Col: 1, Val: 4}, {Col: 2, Val: 1}}, {}, {{Col: 0, Val: 2}, {Col: 3, Val: 5}}, {{Col: 2, Val: 1}}}, csr.CreateOptions{})
	store := csrtest.Open(t, path, csr.OpenOptions{})
	titles := []string{`Good, Bad "and" Ugly`, "", "<Brazil>\n", "Été"}
	err := store.WriteTitles(csr.ColAxis, func(yield func(string, error) bool) {
		for _, title := range titles {
			if !yield(title, nil) {
				return
			}
		}
	})
	must.Do(t, err)
	r := must.Get(factor.Run(t.Context(), store, factor.Options{Rank: 2, Dir: filepath.Join(dir, "films.svd")}))(t)
	return r, store
}

// record is one recommendation as readers of the formats return it.
type record struct {
	Row    int64   `json:"row" parquet:"row"`
	Column int64   `json:"column" parquet:"column"`
	Rank   int32   `json:"rank" parquet:"rank"`
	Score  float64 `json:"score" parquet:"score"`
	Title  string  `json:"column_title" parquet:"column_title"`
}

// readParquet reads records with parquet-go. It is nil without -tags alltests.
var readParquet func(file []byte) ([]record, error)

// TestShortRows: rows with fewer columns than N are counted, also if there are fewer candidates than N or a row has no column left.
func TestShortRows(t *testing.T) {
	r, store := films(t)
	f := must.Get(recommend.Of(r))(t)
	none := func(int64, []recommend.Item) error { return nil }
	for _, c := range []struct {
		o            recommend.Options
		short, items int64
	}{
		{recommend.Options{N: 20}, 4, 9},
		{recommend.Options{N: 20, Candidates: []uint32{0}}, 4, 2},
		{recommend.Options{N: 1, Candidates: []uint32{0}}, 2, 2},
	} {
		sum := must.Get(recommend.Rows(t.Context(), f, store, c.o, none))(t)
		if sum.Rows != 4 || sum.Empty != 1 || sum.Short != c.short || sum.Items != c.items {
			t.Errorf("%d of %v: %+v", c.o.N, c.o.Candidates, sum)
		}
	}
}

// TestWriter: each format is read back with the same records and bits.
func TestWriter(t *testing.T) {
	r, store := films(t)
	f := must.Get(recommend.Of(r))(t)
	rows := must.Get(r.RowNames(t.Context()))(t)
	defer rows.Close()
	cols := must.Get(r.ColNames(t.Context()))(t)
	defer cols.Close()
	var want []record
	made := func(format recommend.Format) []byte {
		var b bytes.Buffer
		w := must.Get(recommend.NewWriter(&b, format, recommend.Side{What: "row", Names: rows}, recommend.Side{What: "column", Names: cols}, false))(t)
		want = nil
		sum, err := recommend.Rows(t.Context(), f, store, recommend.Options{N: 3}, func(row int64, items []recommend.Item) error {
			for i, item := range items {
				title, err := cols.Title(int64(item.Index))
				if err != nil {
					return err
				}
				want = append(want, record{row, int64(item.Index), int32(i + 1), item.Score, title})
			}
			return w.Row(row, items)
		})
		must.Do(t, err)
		must.Do(t, w.Close())
		if sum.Rows != 4 || sum.Empty != 1 || sum.Short != 3 || sum.Items != int64(len(want)) {
			t.Errorf("%+v", sum)
		}
		return b.Bytes()
	}
	lines, err := csv.NewReader(bytes.NewReader(made(recommend.CSV))).ReadAll()
	if err != nil || strings.Join(lines[0], ",") != "row,column,rank,score,column_title" || len(lines) != len(want)+1 {
		t.Fatalf("%v: %q", err, lines)
	}
	for i, line := range lines[1:] {
		score, err := strconv.ParseFloat(line[3], 64)
		if text := fmt.Sprintf("%d %d %d %s", want[i].Row, want[i].Column, want[i].Rank, want[i].Title); err != nil || math.Float64bits(score) != math.Float64bits(want[i].Score) || fmt.Sprintf("%s %s %s %s", line[0], line[1], line[2], line[4]) != text {
			t.Errorf("line %d is %q, want %s", i, line, text)
		}
	}
	var got []record
	for line := range bytes.Lines(made(recommend.JSONLines)) {
		var x record
		must.Do(t, json.Unmarshal(line, &x))
		got = append(got, x)
	}
	if !slices.Equal(got, want) {
		t.Errorf("jsonl: %+v, want %+v", got, want)
	}
	file := made(recommend.Parquet)
	if readParquet == nil {
		return
	}
	if got, err := readParquet(file); err != nil || !slices.Equal(got, want) {
		t.Errorf("parquet: %v, %+v, want %+v", err, got, want)
	}
}

// TestNotUTF8: ids that are not UTF-8 are kept in CSV and Parquet, and refused in JSON, where two of them would be the same text.
func TestNotUTF8(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.csr")
	input := "u\tx\xff\t5\nu\tx\xfe\t3\nv\tx\xff\t2\n"
	must.Get(ingest.Ingest(t.Context(), []string{"-"}, path, ingest.Options{Stdin: strings.NewReader(input), Memory: 128 << 20}))(t)
	r := must.Get(factor.Run(t.Context(), csrtest.Open(t, path, csr.OpenOptions{}), factor.Options{Rank: 1, Dir: filepath.Join(dir, "m.svd")}))(t)
	rows := must.Get(r.RowNames(t.Context()))(t)
	defer rows.Close()
	cols := must.Get(r.ColNames(t.Context()))(t)
	defer cols.Close()
	for _, format := range []recommend.Format{recommend.CSV, recommend.Parquet, recommend.JSONLines} {
		var b bytes.Buffer
		w := must.Get(recommend.NewWriter(&b, format, recommend.Side{What: "row", Names: rows}, recommend.Side{What: "column", Names: cols}, false))(t)
		err := w.Row(0, []recommend.Item{{Index: 0, Score: 1}, {Index: 1, Score: 0.5}})
		switch {
		case format == recommend.JSONLines:
			if err == nil || !strings.Contains(err.Error(), `the id "x\xfe" has bytes that are not UTF-8`) {
				t.Errorf("%s: %v", format, err)
			}
		case errors.Join(err, w.Close()) != nil || !bytes.Contains(b.Bytes(), []byte("x\xfe")) || !bytes.Contains(b.Bytes(), []byte("x\xff")):
			t.Errorf("%s: %v, %q", format, err, b.Bytes())
		}
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]recommend.Format{"a.csv": recommend.CSV, "b.JSONL": recommend.JSONLines, "x/y.parquet": recommend.Parquet} {
		if got, err := recommend.FormatOf(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := recommend.FormatOf("recs.txt"); err == nil {
		t.Error("recs.txt has a format")
	}
}

func TestNumbers(t *testing.T) {
	r, _ := films(t)
	cols := must.Get(r.ColNames(t.Context()))(t)
	defer cols.Close()
	got, err := recommend.Numbers(cols, "column", recommend.ParseIDs([]byte("\uFEFF3\r\n\n 1 \n3\n0")))
	if err != nil || !slices.Equal(got, []int64{0, 1, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	if ids := recommend.ParseIDs([]byte("a\n \n\n")); !slices.Equal(ids, []string{"a", " "}) {
		t.Errorf("%q", ids)
	}
	if _, err := recommend.Numbers(cols, "column", []string{"1", "x"}); err == nil || !strings.Contains(err.Error(), `column "x": the result has no column with that id (2 of 2)`) {
		t.Errorf("%v", err)
	}
}
