package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

var (
	errLoop      = errors.New("an edge from a node to itself")
	errNotSquare = errors.New("the matrix of a graph is square")
	errSkew      = errors.New("a skew-symmetric matrix is no undirected graph")
)

func (o Options) square(src *source) error {
	if o.Graph == NoGraph || src.shape == nil || src.shape.Rows == src.shape.Cols {
		return nil
	}
	return &format.ParseError{File: src.Name, Err: fmt.Errorf("%w: %d × %d", errNotSquare, src.shape.Rows, src.shape.Cols)}
}

// mirrored reports whether an input gives both entries of each edge, and whether these have opposite signs.
func (src *source) mirrored() (mirrored, skew bool) {
	if s, ok := src.reader.(format.Symmetric); ok {
		return s.Symmetric()
	}
	return false, false
}

// edges turns the entries of a batch into those of a graph. It keeps, removes or refuses loops, and puts the mirrored entry
// behind each undirected edge, so that both directions have the same order of arrival.
func (o Options) edges(c *format.Chunk, b *format.Batch, src *source) (loops int64, err error) {
	if o.Graph == NoGraph {
		return 0, nil
	}
	if b.Row.IsText != b.Col.IsText {
		b.Row.ToText()
		b.Col.ToText()
	}
	loop := func(n int) bool {
		if b.Row.IsText {
			return bytes.Equal(b.Row.Text(n), b.Col.Text(n))
		}
		return b.Row.Ints[n] == b.Col.Ints[n]
	}
	first := -1
	for n := range b.Val {
		if loop(n) {
			loops++
			if first < 0 {
				first = n
			}
		}
	}
	switch {
	case loops > 0 && o.SelfLoops == LoopsError:
		at := src.reader.Locate(c, o.Filter.nth(c, src, first))
		return loops, &format.ParseError{File: src.Name, Line: at.Line, Byte: at.Byte, Field: "node", Text: nameOfKey(&b.Row, first, src), Err: errLoop, Want: "none, as --self-loops error has it (keep or drop them)"}
	case loops > 0 && o.SelfLoops == LoopsDropped:
		b.Keep(func(n int) bool { return !loop(n) })
	}
	if both, skew := src.mirrored(); o.Graph == Directed || both {
		if skew && o.Graph == Undirected {
			return loops, &format.ParseError{File: src.Name, Line: 1, Err: errSkew}
		}
		return loops, nil
	}
	b.Mirror(loop)
	return loops, nil
}

// arePairs reports whether lines are two ids without a value, whose columns have no names or those of nodes.
func arePairs(r format.Reader) bool {
	found := 0
	for _, c := range described(r).Columns {
		switch {
		case c.Role == roles.Value.String():
			return false
		case c.Role == roles.Row.String(), c.Role == roles.Col.String():
			found++
			if c.Word != "" && roles.Read(c.Name).Role != roles.None {
				return false
			}
		}
	}
	return found == 2
}

// nameOfKey returns key n as the input has it; indices are counted from 1.
func nameOfKey(k *format.Keys, n int, src *source) string {
	switch {
	case k.IsText:
		return text.Shorten(k.Text(n))
	case src.shape != nil:
		return strconv.FormatInt(k.Ints[n]+1, 10)
	}
	return strconv.FormatInt(k.Ints[n], 10)
}
