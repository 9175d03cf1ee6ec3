// Package formattest has what tests of formats and of ingest share: entries as texts, and files of
// Parquet made by another implementation.
package formattest

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/gdsvd/gdsvd/ingest/format"
)

type Triple struct {
	Row, Col string
	Val      float64
}

func Compare(a, b Triple) int {
	return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Val, b.Val))
}

// Triples are the entries of a batch, whose keys become texts.
func Triples(b *format.Batch) (entries []Triple) {
	b.Row.ToText()
	b.Col.ToText()
	for i, v := range b.Val {
		entries = append(entries, Triple{string(b.Row.Text(i)), string(b.Col.Text(i)), v})
	}
	return entries
}

// Parquet is a file of rows as parquet-go writes it; each of groups rows is a row group.
func Parquet[T any](t testing.TB, rows []T, groups int, o ...pq.WriterOption) []byte {
	t.Helper()
	var b bytes.Buffer
	w := pq.NewGenericWriter[T](&b, o...)
	for part := range slices.Chunk(rows, groups) {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A ParquetRow is an entry among columns of other kinds.
type ParquetRow struct {
	User   string   `parquet:"user,dict"`
	Item   int64    `parquet:"item,delta"`
	Rating *float64 `parquet:"rating,optional"`
	Note   []string `parquet:"note"`
}

// ParquetRows are n of them at random places, and the entries in order.
func ParquetRows(n int) (rows []ParquetRow, want []Triple) {
	r := rand.New(rand.NewPCG(8, 8))
	for _, k := range r.Perm(70 * n)[:n] {
		v := math.Round(r.NormFloat64()*8) / 8
		row := ParquetRow{User: "user " + strconv.Itoa(k/70), Item: int64(k%70) * 1e12, Rating: &v, Note: make([]string, k%3)}
		rows = append(rows, row)
		want = append(want, Triple{row.User, strconv.FormatInt(row.Item, 10), v})
	}
	slices.SortFunc(want, Compare)
	return rows, want
}
