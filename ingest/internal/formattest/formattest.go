// Package formattest provides helpers for tests of formats and of ingest: inputs, entries as texts and, with -tags alltests,
// Parquet files made by another implementation.
package formattest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

type Triple struct {
	Row, Col string
	Val      float64
}

func Compare(a, b Triple) int {
	return cmp.Or(cmp.Compare(a.Row, b.Row), cmp.Compare(a.Col, b.Col), cmp.Compare(a.Val, b.Val))
}

// Triples returns the entries of a batch, whose keys it converts to texts.
func Triples(b *format.Batch) (entries []Triple) {
	b.Row.ToText()
	b.Col.ToText()
	for i, v := range b.Val {
		entries = append(entries, Triple{string(b.Row.Text(i)), string(b.Col.Text(i)), v})
	}
	return entries
}

type stream struct{ *bufio.Reader }

func (s stream) Skip(n int64) error {
	_, err := s.Discard(int(n))
	return err
}

// Input returns data as an input without random access, and the shape that its reader will declare.
func Input(data []byte) (*format.Input, *format.Shape) {
	shape := new(format.Shape)
	in := &format.Input{Name: "in", Stream: stream{bufio.NewReaderSize(bytes.NewReader(data), format.ChunkBytes)}}
	in.Declare = func(s format.Shape) error { *shape = s; return nil }
	return in, shape
}

// Read reads an input of a format, chunk bytes at a time, to its end or to the first error.
func Read(f format.Format, in *format.Input, chunk int) (entries []Triple, err error) {
	r, err := f.Open(in)
	if err != nil {
		return nil, err
	}
	var b format.Batch
	var all format.Tally
	c := format.Chunk{Data: make([]byte, 0, chunk)}
	for {
		c.Data = c.Data[:0]
		if err := r.Next(&c); err == io.EOF {
			return entries, r.Check(all, nil, nil)
		} else if err != nil {
			return nil, err
		}
		b.Reset(0)
		err := r.Parse(&c, &b)
		all.Add(b.Tally)
		if err := text.FirstError(append(b.Errs, err, r.Check(all, &c, &b))...); err != nil {
			return nil, err
		}
		entries = append(entries, Triples(&b)...)
	}
}

// Float parses a finite number with strconv.
func Float(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err == nil && (v-v != 0 || strings.ContainsAny(s, "xXpP_")) {
		err = strconv.ErrSyntax
	}
	return v, err
}
