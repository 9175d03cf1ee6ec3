// Package formattest has what tests of formats and of ingest share: entries as texts, and, with -tags alltests, files
// of Parquet made by another implementation.
package formattest

import (
	"cmp"

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
