package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// ErrDuplicates is wrapped by the error for several entries at one place, under DuplicatesError.
var ErrDuplicates = errors.New("more than one entry")

type duplicateError struct {
	Row, Col              string // ids of the place in the user's matrix; 1-based indices where there are no ids
	FirstFile, SecondFile string // empty if not known (standard input cannot be read again)
	First, Second         format.Position
	Count, Entries        int64 // number of entries at a place that already has one, and of all entries
	Places                int64 // number of places that have more than one entry
}

func (e *duplicateError) Unwrap() error { return ErrDuplicates }

func (e *duplicateError) Error() string {
	pairs, repeat := "pairs have", "entries repeat"
	if e.Places == 1 {
		pairs = "pair has"
	}
	if e.Count == 1 {
		repeat = "entry repeats"
	}
	row, col, first, second := escape.Line(e.Row), escape.Line(e.Col), escape.Line(e.FirstFile), escape.Line(e.SecondFile)
	advice := fmt.Sprintf("%d %s several, %d %s a place, of %d; --duplicates sum adds them up (or: mean, first, last, max), --value count counts them",
		e.Places, pairs, e.Count, repeat, e.Entries)
	place := fmt.Sprintf("row %s, column %s: more than one entry", row, col)
	switch {
	case e.FirstFile == "":
		return place + "; " + advice
	case e.FirstFile == e.SecondFile && e.First == e.Second:
		return fmt.Sprintf("%s%v: %s; %s", first, e.First, place, advice)
	}
	return fmt.Sprintf("%s%v: %s (the first is at %s%v); %s",
		second, e.Second, place, first, e.First, advice)
}

type locator struct {
	row, col []byte // texts of the ids
	o        request
	either   bool // the edge (col, row) counts as well
	files    []string
	found    []format.Position
}

// search reads one input until two entries at the place are found.
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
		mirrored, _ := src.mirrored()
		is := func(row, col *format.Keys, i int) bool {
			return bytes.Equal(row.Text(i), l.row) && bytes.Equal(col.Text(i), l.col)
		}
		for i := range b.Val {
			if l.o.Filter.times() && !l.o.Filter.within(b.Time[i]) {
				continue
			}
			if is(&b.Row, &b.Col, i) || l.either && !mirrored && is(&b.Col, &b.Row, i) {
				l.files = append(l.files, src.Name)
				l.found = append(l.found, src.reader.Locate(c, i))
			}
		}
	}
	return nil
}
