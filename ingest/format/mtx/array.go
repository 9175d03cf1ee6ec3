package mtx

import (
	"fmt"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// An arrayReader reads the array format: one value a line, column after column. Of a
// symmetric matrix there is the lower triangle, of a skew-symmetric one without the diagonal.
type arrayReader struct {
	*reader
	values text.Counted // cuts the chunks
}

// places is how many values an array has.
func (p *reader) places() int64 {
	switch {
	case p.skew:
		return p.rows * max(0, p.rows-1) / 2
	case p.symmetric:
		return p.rows * (p.rows + 1) / 2
	}
	return p.rows * p.cols
}

// top is the first row of a column that has a value.
func (p *reader) top(j int64) int64 {
	switch {
	case p.skew:
		return j + 1
	case p.symmetric:
		return j
	}
	return 0
}

// place is where value k is.
func (p *reader) place(k int64) (i, j int64) {
	if !p.symmetric {
		return k % p.rows, k / p.rows
	}
	lo, hi := int64(0), p.cols // the last column that does not begin behind it
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; p.before(mid) <= k {
			lo = mid
		} else {
			hi = mid
		}
	}
	return p.top(lo) + k - p.before(lo), lo
}

// before is how many values of a triangle stand before column j.
func (p *reader) before(j int64) int64 {
	n := p.rows
	if p.skew {
		n--
	}
	return j*n - j*(j-1)/2
}

// Describe tells that the zeros are left out: the number of entries is not known.
func (p *arrayReader) Describe() format.Description {
	d := p.reader.Describe()
	d.Entries, d.Notes = 0, append(d.Notes, "a dense array: zeros are left out")
	return d
}

// Next implements format.Reader.
func (p *arrayReader) Next(c *format.Chunk) error { return p.values.Next(c) }

// Seek implements format.Reader.
func (p *arrayReader) Seek(at format.Position) error { return p.values.Seek(at) }

// Parse reads the values of whole lines. What is behind the last place is for Check.
func (p *arrayReader) Parse(c *format.Chunk, b *format.Batch) error {
	var spans []text.Span
	k, i, j := c.Begin.Row, int64(0), int64(0)
	if k < p.entries {
		i, j = p.place(k)
	}
	for rest, line := c.Data, c.Begin.Line; len(rest) > 0; line++ {
		counts := text.Counts(rest, '%')
		var l []byte
		l, rest = text.CutLine(rest)
		b.Lines++
		if !counts {
			continue
		}
		b.Tally.Entries++
		spans = text.SplitBlanks(l, spans[:0])
		v, err := 0.0, error(nil)
		if len(spans) != 1 {
			err = p.fail(line, -1, "", l, fmt.Errorf("%w: %d instead of 1", text.ErrFields, len(spans)))
		} else {
			v, err = p.value(l, line, spans[0])
		}
		if err != nil && !b.Refuse(err) {
			break
		}
		if err == nil && v != 0 && k < p.entries {
			p.add(i, j, v, b)
		}
		k, i = k+1, i+1
		if i == p.rows {
			j++
			i = p.top(j)
		}
	}
	return nil
}

// Locate is the line of an entry.
func (p *arrayReader) Locate(c *format.Chunk, n int) format.Position {
	k := c.Begin.Row
	return text.Locate(c, n, func(one *format.Chunk, b *format.Batch) error {
		one.Begin.Row = k
		k += text.CountLines(one.Data, '%')
		return p.Parse(one, b)
	})
}
