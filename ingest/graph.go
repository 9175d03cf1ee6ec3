package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/ids"
	"github.com/gdsvd/gdsvd/ingest/internal/roles"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Graph says whether entries are edges between nodes, rows and columns being the same.
type Graph uint8

const (
	// NoGraph: rows and columns have ids of their own.
	NoGraph Graph = iota
	// Directed has an entry in the row of the first node of an edge and the column of the second.
	Directed
	// Undirected has two entries for an edge, (i, j) and (j, i), of one value. An edge that the
	// input gives in both directions is given twice, and Options.Duplicates says what
	// becomes of that; a symmetric Matrix Market file gives each once.
	Undirected
)

// String is the name of the option.
func (g Graph) String() string { return format.NameOf(g, "none", "directed", "undirected") }

// SelfLoops says what becomes of an edge from a node to itself.
type SelfLoops uint8

const (
	// LoopsKept has one entry on the diagonal for it.
	LoopsKept SelfLoops = iota
	// LoopsDropped leaves it out; the node remains if it has another edge.
	LoopsDropped
	// LoopsError refuses it.
	LoopsError
)

// String is the name of the option.
func (l SelfLoops) String() string { return format.NameOf(l, "keep", "drop", "error") }

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

// mirrored tells whether an input gives both entries of each edge.
func (src *source) mirrored() (mirrored, skew bool) {
	if s, ok := src.reader.(format.Symmetric); ok {
		return s.Symmetric()
	}
	return false, false
}

// edges makes entries of a graph of a batch: loops are kept, left out or refused, and undirected
// edges stand in both directions, one behind the other, so that the order of arrival is the same for both.
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

// arePairs tells whether lines are two ids without a value, whose columns have no names or those of nodes.
func arePairs(r format.Reader) bool {
	d, ok := r.(format.Describer)
	if !ok {
		return false
	}
	found := 0
	for _, c := range d.Describe().Columns {
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

// mayBeGraph says what makes a graph of lines that may be edges: half of the ids of either side, or more, are on the other, too.
// It is empty where that is not so, or there are too many ids to see.
func (s *sample) mayBeGraph() string {
	const few, many = 8, 1 << 17
	least, most := min(s.users.N, s.items.N), max(s.users.N, s.items.N)
	if !s.pairs || s.o.Graph != NoGraph || least < few || most > many {
		return ""
	}
	n := ids.Shared(s.users, s.items)
	if 2*n < most {
		return ""
	}
	return fmt.Sprintf("%d ids are both of rows and of columns: if the lines are edges of a graph, --graph directed or --graph undirected makes one set of nodes of them", n)
}

// nameOfKey is key n as the input has it; indices are counted from 1.
func nameOfKey(k *format.Keys, n int, src *source) string {
	switch {
	case k.IsText:
		return text.Shorten(k.Text(n))
	case src.shape != nil:
		return strconv.FormatInt(k.Ints[n]+1, 10)
	}
	return strconv.FormatInt(k.Ints[n], 10)
}
