package ingest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
)

// A source is one opened input with its format recognised and its header read.
type source struct {
	in     *input
	format Format
	parser parser
	fill   func(*chunk) error             // of place; puts the next part of the input into the chunk; io.EOF behind the last
	check  func(c *chunk, b *batch) error // what is true of all batches together, in input order; may be nil
	end    func() error                   // the same behind the last batch; may be nil
	keys   *keyPacker                     // of inputs with a declared shape; else nil
	tally  tally                          // of the batches check has seen
	place  placer
}

// A tally is what check has counted.
type tally struct {
	Entries      int64 // as batch.entries
	Lower, Upper int64 // first lines with an entry below and above the diagonal; 0 if none
}

// A placer cuts an input into chunks and can go on from a place within it.
type placer interface {
	fill(*chunk) error
	// rest is how many bytes have been taken from the reader but not given out.
	rest() int
	// line is the number of the line the next chunk begins with, 0 in binary input.
	line() int64
	// moved tells that bytes have been skipped: the next chunk begins with line.
	moved(bytes, line int64)
}

// offset is the place in the uncompressed input at which the next chunk begins.
func (src *source) offset() int64 {
	return src.in.read - int64(src.in.r.Buffered()) - int64(src.place.rest())
}

// resume goes on at a place noted before, in an input that has just been opened.
func (src *source) resume(ctx context.Context, p place) error {
	n := p.Offset - src.offset()
	if n < 0 {
		return errJournal
	}
	if err := src.in.skip(ctx, n); err != nil {
		return err
	}
	src.place.moved(n, p.Line)
	src.tally = p.Tally
	return nil
}

// openSource opens an input. prev is the one before, or nil.
func openSource(ctx context.Context, op opener, name string, o Options, prev *source) (*source, error) {
	in, err := op.open(ctx, name, chunkSize)
	if err != nil {
		return nil, err
	}
	src := &source{in: in}
	if err := src.recognise(o, prev); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return src, nil
}

func (src *source) recognise(o Options, prev *source) error {
	in := src.in
	if head, _ := in.r.Peek(4); o.Format == IDX || o.Format == Auto && hasIDXMagic(head) {
		if prev != nil {
			return alone(in)
		}
		p, er, err := newIDX(in, o.Orient)
		if err != nil {
			return err
		}
		src.format, src.parser, src.fill, src.keys, src.place = IDX, p, er.fill, &p.pack, er
		return nil
	}
	if in.plain == nil {
		head, _ := in.r.Peek(magicHead) // an error will be met again
		if k := kindOf(head); k.name != "" {
			k.do = cmp.Or(k.do, "it is compressed twice: uncompress it once")
			return k.refuse(in.name)
		}
	}
	lr := newLineReader(in)
	src.fill, src.place = lr.fill, lr
	head, _, err := lr.peek()
	if len(head) == 0 && err != nil {
		return err
	}
	if len(head) == 0 {
		return &ParseError{File: in.name, Err: fmt.Errorf("the file is empty: %w", ErrEmpty)}
	}
	if o.Format == MatrixMarket || o.Format == Auto && hasBanner(head) {
		return src.matrixMarket(lr, o, prev)
	}
	if prev != nil && prev.keys != nil {
		return alone(prev.in)
	}
	var before *delimited
	if prev != nil {
		before = prev.parser.(*delimited)
	}
	p, err := newDelimited(lr, o, before)
	if err != nil {
		return err
	}
	src.format, src.parser = p.format, p
	if o.Format == Auto && p.sep.blanks {
		src.suspectSizeLine(head, lr)
	}
	return nil
}

// suspectSizeLine watches for a Matrix Market file that has lost its banner: a
// first line "rows columns entries" and just as many lines behind it. As
// ratings it would read well, and be another matrix.
func (src *source) suspectSizeLine(head []byte, lr *lineReader) {
	first, _ := cutLine(bytes.Clone(head[:min(len(head), 200)]))
	var size []int64
	for _, f := range bytes.Fields(first) {
		if n, ok := parseIndex(f); ok {
			size = append(size, n)
		}
	}
	if lr.nextLine != 1 || len(size) != 3 || len(bytes.Fields(first)) != 3 {
		return
	}
	src.check = func(_ *chunk, b *batch) error {
		src.tally.Entries += b.entries
		return nil
	}
	src.end = func() error {
		behind := src.tally.Entries - 1
		if behind < 1 || behind != size[2] {
			return nil
		}
		return &ParseError{File: src.in.name, Line: 1, Text: shorten(first), Err: fmt.Errorf("%w: this looks like the size line of a Matrix Market file without its banner", ErrHeader),
			Want: "the banner, or the format named"}
	}
}

func (src *source) matrixMarket(lr *lineReader, o Options, prev *source) error {
	if prev != nil {
		return alone(src.in)
	}
	p, err := newMatrixMarket(lr, o.Orient)
	if err != nil {
		return err
	}
	check := &mmCheck{p: p, tally: &src.tally}
	src.format, src.parser, src.keys, src.check = MatrixMarket, p, &p.pack, check.batch
	src.end = func() error { return check.end(lr.nextLine) }
	return nil
}

func alone(in *input) error {
	return &ParseError{File: in.name, Err: fmt.Errorf("an input with a declared shape beside others: %w", ErrUnsupported), Want: "one such input alone"}
}
