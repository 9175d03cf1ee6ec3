package ingest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/input"
)

// duplicateError names the place and, by reading the inputs once more, the first two lines that fill it.
func (g *ingestion) duplicateError(ctx context.Context, c *combiner) error {
	e := &DuplicateError{Count: c.duplicates, Places: c.places, Entries: g.spool.N}
	key := c.repeated
	e.Row, e.Col = g.place(key)
	if slices.Contains(g.names, "-") {
		return e
	}
	i, j := g.userPlace(key)
	_, row := g.name(format.RowSide, i)
	_, col := g.name(format.ColSide, j)
	l := &locator{row: []byte(row), col: []byte(col), o: g.o, open: g.reading.open}
	l.open.Bytes = new(atomic.Int64)
	var prev *source
	for _, name := range g.names {
		src, err := openSource(ctx, l.open, name, g.o, prev)
		if err != nil {
			break
		}
		err = l.search(ctx, src)
		_ = src.Close() // only read; the place is known anyway
		if err != nil || len(l.found) >= 2 {
			break
		}
		prev = src
	}
	if len(l.found) >= 2 {
		e.FirstFile, e.First = l.files[0], l.found[0]
		e.SecondFile, e.Second = l.files[1], l.found[1]
	}
	return e
}

// A locator finds the positions of the entries with some keys.
type locator struct {
	row, col []byte // as texts
	o        Options
	open     input.Opener
	files    []string
	found    []format.Position
}

// search goes through one input until two entries are found.
func (l *locator) search(ctx context.Context, src *source) error {
	c := &format.Chunk{Data: make([]byte, 0, format.ChunkBytes)}
	b := new(format.Batch)
	for len(l.found) < 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Data = c.Data[:0]
		if err := src.reader.Next(c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b.Reset(l.o.MaxBadLines)
		if err := src.reader.Parse(c, b); err != nil {
			return err
		}
		b.Row.ToText()
		b.Col.ToText()
		for i := range b.Val {
			if bytes.Equal(b.Row.Text(i), l.row) && bytes.Equal(b.Col.Text(i), l.col) {
				l.files = append(l.files, src.Name)
				l.found = append(l.found, src.reader.Locate(c, i))
			}
		}
	}
	return nil
}
