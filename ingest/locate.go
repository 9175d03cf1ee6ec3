package ingest

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync/atomic"
)

// duplicateError names the place and, by reading the inputs once more, the first two lines that fill it.
// count is how many entries are at a place with one before.
func (g *ingestion) duplicateError(ctx context.Context, key uint64, count int64) error {
	e := &DuplicateError{Count: count, Entries: g.spool.n}
	e.Row, e.Col = g.place(key)
	if slices.Contains(g.names, "-") {
		return e
	}
	match := func(b *batch) int { return matchIDs(b, []byte(e.Row), []byte(e.Col)) }
	if g.reading.keys != nil {
		match = func(b *batch) int { return matchKey(b, key) }
	}
	l := &locator{match: match, o: g.o}
	l.open = g.reading.open
	l.open.bytes = new(atomic.Int64)
	var prev *source
	for _, name := range g.names {
		src, err := openSource(ctx, l.open, name, g.o, prev)
		if err != nil {
			break
		}
		err = l.search(ctx, src)
		_ = src.in.Close() // only read; the place is known anyway
		if err != nil || len(l.lines) >= 2 {
			break
		}
		prev = src
	}
	if len(l.lines) >= 2 {
		e.FirstFile, e.FirstLine = l.files[0], l.lines[0]
		e.SecondFile, e.SecondLine = l.files[1], l.lines[1]
	}
	return e
}

// A locator finds the lines of some entries.
type locator struct {
	match func(*batch) int // how many entries of the batch match
	o     Options
	open  opener
	files []string
	lines []int64
}

// search goes through one input until two lines are found.
func (l *locator) search(ctx context.Context, src *source) error {
	c := &chunk{data: make([]byte, 0, chunkSize)}
	b := new(batch)
	for len(l.lines) < 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := src.fill(c); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		b.reset()
		src.parser.parse(c, b, l.o.MaxBadLines)
		if l.match(b) > 0 {
			l.searchLines(src, c, b)
		}
	}
	return nil
}

// searchLines parses a chunk line by line.
func (l *locator) searchLines(src *source, c *chunk, b *batch) {
	for text, line := c.data, c.firstLine; len(text) > 0; line++ {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		one := chunk{data: text[:n], firstLine: line}
		b.reset()
		src.parser.parse(&one, b, l.o.MaxBadLines)
		for range l.match(b) {
			l.files = append(l.files, src.in.name)
			l.lines = append(l.lines, line)
		}
		text = text[n:]
	}
}

func matchKey(b *batch, key uint64) int {
	n := 0
	for _, k := range b.keys {
		if k == key {
			n++
		}
	}
	return n
}

func matchIDs(b *batch, user, item []byte) int {
	b.user.toText()
	b.item.toText()
	n := 0
	for i := range b.val {
		if bytes.Equal(b.user.at(i), user) && bytes.Equal(b.item.at(i), item) {
			n++
		}
	}
	return n
}
