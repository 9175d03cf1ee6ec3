//go:build alltests

package formattest

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	pq "github.com/parquet-go/parquet-go"
)

// Parquet returns a file of rows as parquet-go writes it, with a row group for each groups rows.
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

// ParquetRows returns n rows with entries at random places, and these entries in order.
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
