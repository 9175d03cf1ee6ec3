// Package svmlight reads rows of index:value pairs, the format of SVMlight and LIBSVM.
//
// A line "label [qid:n] index:value …" is a row of the matrix; blank lines and comments are skipped. Labels and query ids are
// left out, and counted. The number of columns follows from the largest index, or is Options.Features. Columns count from 1, as
// in the definition of the format, unless index 0 occurs, or the comment of scikit-learn says that they count from 0.
package svmlight

import (
	"bytes"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
)

// Format returns the format of T. Joachims, SVMlight (http://svmlight.joachims.org), and of C.-C. Chang and C.-J. Lin, LIBSVM.
// Several labels, separated by commas, or none are accepted.
func Format(o Options) format.Format {
	return format.Format{Name: "svmlight", Sniff: sniff, Open: o.open}
}

// Options are the options that the user has chosen for rows of index:value pairs; see ingest.Options.
type Options struct {
	IndexBase format.IndexBase
	Features  int64
}

var (
	row   = text.Pattern(`^[-+0-9.,eE]+([ \t]+(\d+|qid)(:[-+0-9.eEnainfNIF]+){1,2})+[ \t]*(#.*)?$`)
	label = text.Pattern(`^[-+0-9.,eE]+[ \t]*(#.*)?$`)
	none  = text.Pattern(`^[ \t]*(\d+(:[-+0-9.eEnainfNIF]+){1,2}[ \t]*)+(#.*)?$`)
)

// sniff reports whether all lines have the form of rows, and at least one of them has a label and a feature.
func sniff(h format.Head) bool {
	found := false
	sample := text.Take(bytes.TrimPrefix(h.Bytes, []byte(text.BOM)), h.Whole)
	if i := bytes.LastIndexByte(sample.Long, ' '); i > 0 { // a first line longer than the sample: its complete fields
		sample.Lines = [][]byte{sample.Long[:i]}
	}
	for _, l := range sample.Lines {
		switch {
		case row().Match(l):
			found = true
		case text.Counts(l, '#') && !label().Match(l) && !none().Match(l):
			return false
		}
	}
	return found
}

type reader struct {
	text.Counted
	base     format.IndexBase // stated by the user or a comment, else BaseAuto
	features int64
}

// The kinds of format.Tally.First: index 0, and index features, which is a column only if columns count from 1.
const zero, last = 0, 1

// The kinds of format.Tally.LeftOut.
const labels, queries = 0, 1

func (o Options) open(in *format.Input) (format.Reader, error) {
	lines, err := text.NewLines(in)
	if err != nil {
		return nil, err
	}
	p := &reader{Counted: text.Counted{Lines: lines, Comment: '#'}, base: o.IndexBase, features: o.Features}
	if head, whole, _ := p.Peek(); p.base == format.BaseAuto {
		p.base = toldBase(head, whole)
	}
	lines.Longest, lines.Want = longest, "label index:value …"
	if in.Window > 0 {
		lines.Longest = int(min(in.Window/longLines, longest))
	}
	return p, in.Declare(format.Shape{Late: true})
}

func (p *reader) Omits() [2]string { return [...]string{labels: "labels", queries: "query ids"} }

const (
	longest = 64 << 20
	// longLines: a row may have Input.Window / longLines bytes. Eight chunks are processed at a time, each with a batch that is
	// six times as large for pairs of four bytes.
	longLines = 8 * 7
)

func (p *reader) Describe() format.Description {
	d := format.Description{Notes: []string{"labels and query ids are left out"}}
	if p.base != format.BaseAuto {
		d.Flags = append(d.Flags, format.Flag{Name: "index-base", Value: p.base.String()})
	} else {
		d.Notes = append(d.Notes, "columns count from 1, from 0 if an index is 0")
	}
	return d
}

// toldBase returns the base that comments above the rows state, as sklearn.datasets.dump_svmlight_file writes them.
func toldBase(head []byte, whole bool) format.IndexBase {
	for len(head) > 0 {
		l, rest := text.CutLine(head)
		if rest == nil && !whole || !text.Blank(l) && l[0] != '#' {
			break
		}
		head = rest
		switch {
		case bytes.Contains(l, []byte("Column indices are zero-based")):
			return format.BaseZero
		case bytes.Contains(l, []byte("Column indices are one-based")):
			return format.BaseOne
		}
	}
	return format.BaseAuto
}

// Parse reads the rows of whole lines. A refused line becomes an empty row.
func (p *reader) Parse(c *format.Chunk, b *format.Batch) error {
	row := c.Begin.Row
	text.Each(c, b, '#', func(l []byte, line int64) error {
		n, tally := len(b.Val), b.Tally
		err := p.line(l, line, row, b)
		if err != nil {
			b.Row.Ints, b.Col.Ints, b.Val, b.Tally = b.Row.Ints[:n], b.Col.Ints[:n], b.Val[:n], tally
		}
		row++
		return err
	})
	return nil
}

func (p *reader) line(l []byte, line, row int64, b *format.Batch) error {
	if i := bytes.IndexByte(l, '#'); i >= 0 {
		l = l[:i]
	}
	rows, cols, vals := b.Row.Ints, b.Col.Ints, b.Val
	most := b.Tally.Cols
	for i, first := 0, true; ; first = false {
		for i < len(l) && (l[i] == ' ' || l[i] == '\t') {
			i++
		}
		if i == len(l) {
			break
		}
		a, col, colon := i, int64(0), -1
		for ; i < len(l) && l[i] != ' ' && l[i] != '\t'; i++ {
			if d := l[i] - '0'; colon < 0 && d <= 9 && col < math.MaxUint32 {
				col = col*10 + int64(d)
			} else if l[i] == ':' && colon < 0 {
				colon = i
			} else if colon < 0 {
				col = math.MaxInt64 // too large, or not a number
			}
		}
		if colon <= a || col > math.MaxUint32 {
			if err := p.other(l, a, i, colon, line, first, b); err != nil {
				return err
			}
			continue
		}
		v, err := text.ParseFloat(l[colon+1 : i])
		if err == nil {
			err = p.column(col, line, b)
		}
		if err != nil {
			return p.wrong(l, a, i, colon, line, err)
		}
		most = max(most, col+1)
		rows, cols, vals = append(rows, row), append(cols, col), append(vals, v+0)
	}
	b.Row.Ints, b.Col.Ints, b.Val, b.Tally.Cols = rows, cols, vals, most
	return nil
}

// column checks an index against the base and the number of features, and records the lines with the indices of Tally.First.
func (p *reader) column(col, line int64, b *format.Batch) error {
	most := int64(math.MaxUint32 - 1)
	if p.features > 0 {
		most = p.features
	}
	if p.base == format.BaseZero && p.features > 0 {
		most--
	}
	switch {
	case col == 0 && p.base == format.BaseOne:
		return fmt.Errorf("%w: columns count from 1 here", text.ErrIndex)
	case col > most:
		return fmt.Errorf("%w: %d at most", text.ErrIndex, most)
	case col == 0 && b.Tally.First[zero] == 0:
		b.Tally.First[zero] = line
	case col == p.features && col > 0 && b.Tally.First[last] == 0:
		b.Tally.First[last] = line
	}
	return nil
}

// other reads the field l[a:i], which is not an index:value pair but the label or the query id.
func (p *reader) other(l []byte, a, i, colon int, line int64, first bool, b *format.Batch) error {
	field := l[a:i]
	switch {
	case first && colon < 0:
		for part := range bytes.SplitSeq(field, []byte{','}) {
			if _, err := text.ParseFloat(part); err != nil {
				return p.Fail(line, a, "label", field, err)
			}
		}
		b.Tally.LeftOut[labels]++
	case bytes.HasPrefix(field, []byte("qid:")):
		if _, err := text.ParseInteger(field[len("qid:"):]); err != nil {
			return p.Fail(line, a, "query id", field, err)
		}
		b.Tally.LeftOut[queries]++
	case colon < 0:
		return p.Fail(line, a, "", field, fmt.Errorf("%w: neither a label nor index:value", text.ErrFields))
	case len(bytes.Trim(l[a:colon], "0123456789")) == 0 && colon > a:
		return p.Fail(line, a, "index", field, fmt.Errorf("%w: %d at most", text.ErrIndex, int64(math.MaxUint32-1)))
	default:
		return p.Fail(line, a, "index", field, text.ErrInteger)
	}
	return nil
}

func (p *reader) wrong(l []byte, a, i, colon int, line int64, err error) error {
	switch {
	case bytes.IndexByte(l[colon+1:i], ':') >= 0:
		return p.Fail(line, a, "", l[a:i], fmt.Errorf("%w: field:index:value is the format of LIBFFM, which is not read", text.ErrFields))
	case colon+1 == i:
		return p.Fail(line, a, "value", l[a:i], text.ErrEmptyField)
	}
	return p.Fail(line, a, "", l[a:i], err)
}

func (p *reader) Check(t format.Tally, c *format.Chunk, _ *format.Batch) error {
	if c != nil {
		return nil
	}
	fail := func(line int64, err error) error {
		return &format.ParseError{File: p.In.Name, Line: line, Err: err}
	}
	if p.Row == 0 {
		return fail(0, fmt.Errorf("%w: no line is a row", format.ErrEmpty))
	}
	shape := format.Shape{Rows: p.Row, Cols: t.Cols, Late: true}
	if fromZero := p.base == format.BaseZero || t.First[zero] > 0; !fromZero {
		shape.First, shape.Cols = 1, max(0, t.Cols-1)
	} else if t.First[last] > 0 {
		return fail(t.First[last], fmt.Errorf("%w: index %d is the column behind the %d asked for: columns count from 0, as line %d tells",
			text.ErrIndex, p.features, p.features, t.First[zero]))
	}
	if p.features > 0 {
		shape.Cols = p.features
	}
	if err := p.In.Declare(shape); err != nil {
		return fail(0, err)
	}
	return nil
}

func (p *reader) Locate(c *format.Chunk, n int) format.Position { return text.Locate(c, n, p.Parse) }
