// Package tabular writes tables as CSV, TSV, lines of JSON or Parquet, a line at a time.
package tabular

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor/internal/parquet"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// Kind is the kind of the values of a column.
type Kind uint8

const (
	Text  Kind = iota
	Int        // int64
	Rank       // a small integer, int32 in Parquet
	Float      // numbers in text are read as the same float64
)

type Column struct {
	Name string
	Kind Kind
	Rare bool // an empty Text is left out of the JSON object
}

// Value is a value of a line.
type Value struct {
	Int   int64 // value of an Int or a Rank
	Float float64
	Text  string
	made  []byte // text form, made by Writer.Make
}

// Bytes returns about the memory in bytes that a Value takes.
func (v *Value) Bytes() int { return 80 + len(v.Text) + len(v.made) }

type Writer struct {
	w         io.Writer
	columns   []Column
	separator byte // 0: lines of JSON
	guarded   bool
	buf       []byte

	file *parquet.Writer // nil: text
	n    int             // lines of the row group in memory
	size int             // bytes of texts in the row group
	of   []group
}

// group holds the values of a column in a row group.
type group struct {
	texts  []string
	ints   []int64
	ranks  []int32
	floats []float64
}

// A row group ends with that many lines, or bytes of texts.
const (
	groupRows = 1 << 16
	groupText = 16 << 20
)

// New begins a table in the format "csv", "tsv", "jsonl" or "parquet". If guarded is true, escape.Formula changes texts in csv and
// tsv so that no spreadsheet takes them for formulas.
func New(w io.Writer, format string, guarded bool, columns ...Column) (t *Writer, err error) {
	t = &Writer{w: w, columns: columns, guarded: guarded, of: make([]group, len(columns))}
	switch format {
	case "parquet":
		var typed []parquet.Column
		for _, c := range columns {
			typed = append(typed, parquet.Column{Name: c.Name, Type: [...]parquet.Type{parquet.String, parquet.Int64, parquet.Int32, parquet.Float64}[c.Kind]})
		}
		t.file, err = parquet.NewWriter(w, typed)
		return t, err
	case "csv":
		t.separator = ','
	case "tsv":
		t.separator = '\t'
	default:
		return t, nil
	}
	for _, c := range columns {
		t.buf = append(append(t.buf, c.Name...), t.separator)
	}
	t.buf[len(t.buf)-1] = '\n'
	return t, nil
}

// Make stores the text of a value of column c that is written more than once.
func (t *Writer) Make(c int, v *Value) {
	if t.file == nil {
		v.made = t.text(nil, c, v)
	}
}

func (t *Writer) text(b []byte, c int, v *Value) []byte {
	switch {
	case t.columns[c].Kind == Float:
		return strconv.AppendFloat(b, v.Float, 'g', -1, 64)
	case t.columns[c].Kind != Text:
		return strconv.AppendInt(b, v.Int, 10)
	case t.separator == 0:
		text, err := json.Marshal(v.Text)
		if err != nil {
			panic(err) // json.Marshal never fails for a string
		}
		return append(b, text...)
	case t.guarded:
		return Field(b, escape.Formula(v.Text), t.separator)
	}
	return Field(b, v.Text, t.separator)
}

// Field appends a text of csv or tsv, in quotes where it needs some: as in RFC 4180, and where it could be taken for the beginning of a file.
func Field(b []byte, s string, separator byte) []byte {
	if !strings.ContainsAny(s, "\"\r\n") && strings.IndexByte(s, separator) < 0 && strings.TrimSpace(s) == s && !strings.HasPrefix(s, "\uFEFF") {
		return append(b, s...)
	}
	return append(append(append(b, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}

// Add writes a line, with a value for each column.
func (t *Writer) Add(line ...*Value) error {
	if t.file != nil {
		return t.group(line)
	}
	begin := len(t.buf)
	for c, v := range line {
		switch {
		case t.separator != 0 && c > 0:
			t.buf = append(t.buf, t.separator)
		case t.separator == 0 && t.columns[c].Rare && v.Text == "":
			continue
		case t.separator == 0:
			t.buf = append(append(append(t.buf, `,"`...), t.columns[c].Name...), `":`...)
		}
		if v.made != nil {
			t.buf = append(t.buf, v.made...)
		} else {
			t.buf = t.text(t.buf, c, v)
		}
	}
	if t.separator == 0 {
		t.buf[begin] = '{'
		t.buf = append(t.buf, '}')
	}
	if t.buf = append(t.buf, '\n'); len(t.buf) < 1<<16 {
		return nil
	}
	return t.flush()
}

func (t *Writer) flush() error {
	_, err := t.w.Write(t.buf)
	t.buf = t.buf[:0]
	return err
}

// group adds a line to the row group in memory.
func (t *Writer) group(line []*Value) error {
	for c, v := range line {
		switch g := &t.of[c]; t.columns[c].Kind {
		case Text:
			g.texts = append(g.texts, v.Text)
			t.size += len(v.Text)
		case Int:
			g.ints = append(g.ints, v.Int)
		case Rank:
			g.ranks = append(g.ranks, int32(v.Int))
		case Float:
			g.floats = append(g.floats, v.Float)
		}
	}
	t.n++
	if t.n < groupRows && t.size < groupText {
		return nil
	}
	return t.end()
}

func (t *Writer) end() error {
	var values []parquet.Values
	for c, g := range t.of {
		values = append(values, [...]parquet.Values{parquet.Strings(g.texts), parquet.Int64s(g.ints), parquet.Int32s(g.ranks), parquet.Float64s(g.floats, 1)}[t.columns[c].Kind])
		t.of[c] = group{g.texts[:0], g.ints[:0], g.ranks[:0], g.floats[:0]}
	}
	n := t.n
	t.n, t.size = 0, 0
	return t.file.Group(n, values...)
}

// Close ends the table; it does not close the underlying writer.
func (t *Writer) Close() error {
	if t.file == nil {
		return t.flush()
	}
	if err := t.end(); err != nil {
		return err
	}
	return t.file.Close()
}
