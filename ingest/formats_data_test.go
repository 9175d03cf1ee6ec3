//go:build alltests

package ingest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gdsvd/gdsvd/ingest/internal/formattest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	pq "github.com/parquet-go/parquet-go"
)

// TestOneMatrixInManyFormats: the ratings of MovieLens 1M give the same store in all of these formats.
func TestOneMatrixInManyFormats(t *testing.T) {
	path := filepath.Join(dataDir(t), "movielens", "ml-1m", "ratings-notimestamp.dat.gz")
	entries, _ := naiveLines(string(plain(t, path)), "::", []int{0, 1, 2})
	if !longtest.On() {
		entries = entries[:20000]
	}
	type row struct {
		Rating float32 `parquet:"rating"`
		Movie  int32   `parquet:"movieId"`
		User   string  `parquet:"userId,dict"`
	}
	var rows []row
	var colons, csv, jsonl strings.Builder
	csv.WriteString("movieId,rating,userId\n")
	for _, e := range entries {
		movie := must.Get(strconv.Atoi(e.Col))(t)
		fmt.Fprintf(&colons, "%s::%s::%g\n", e.Row, e.Col, e.Val)
		fmt.Fprintf(&csv, "%s,%g,%s\n", e.Col, e.Val, e.Row)
		fmt.Fprintf(&jsonl, "{\"userId\": %q, \"rating\": %.1f, \"movieId\": %s}\n", e.Row, e.Val, e.Col)
		rows = append(rows, row{float32(e.Val), int32(movie), e.Row})
	}
	want, _ := ingested(t, []string{write(t, "ratings", colons.String())}, Options{})
	for name, data := range map[string]string{
		"csv":     csv.String(),
		"jsonl":   jsonl.String(),
		"parquet": string(formattest.Parquet(t, rows, 100000, pq.Compression(&pq.Snappy))),
		"stream":  string(streamOf(t, streamHeader{rowKeys: "s", colKeys: "i8", values: "f4"}, entries)),
	} {
		out, rep := ingested(t, []string{write(t, "ratings", data)}, Options{})
		if rep.NNZ != int64(len(entries)) || fingerprint(t, out) != fingerprint(t, want) {
			t.Errorf("%s: %+v: another matrix", name, rep)
		}
	}
}
