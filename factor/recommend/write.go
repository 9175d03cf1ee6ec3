package recommend

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/internal/parquet"
	"github.com/gdsvd/gdsvd/internal/escape"
)

// Format is that of a file of recommendations.
type Format uint8

const (
	CSV       Format = iota // a line for each, under a header
	JSONLines               // a JSON object for each
	Parquet                 // a row for each
)

// FormatOf is the format that the end of a file's name says.
func FormatOf(name string) (Format, error) {
	lower := strings.ToLower(name)
	for f, end := range []string{".csv", ".jsonl", ".parquet"} {
		if strings.HasSuffix(lower, end) {
			return Format(f), nil
		}
	}
	return 0, fmt.Errorf("%s: its name ends in none of .csv, .jsonl and .parquet, which say the format", name)
}

// Writer writes recommendations: the columns row and column, which are ids, rank from 1, score and, where there are
// titles, row_title and column_title. Scores in text are read as the same float64. Ids in Parquet are int64 or string.
type Writer struct {
	rows, cols fields
	out        encoder
}

// WriterBytes is what a Writer takes in memory at most.
const WriterBytes = cacheBytes + 24<<20

// encoder writes what is recommended.
type encoder interface {
	add(row, col field, rank int, score float64) error
	close() error
}

// NewWriter begins a file. rows and cols are the names of the rows and columns; in CSV they are guarded by escape.Formula
// if that is asked for.
func NewWriter(w io.Writer, f Format, rows, cols *factor.Names, guarded bool) (*Writer, error) {
	x := &Writer{rows: fields{names: rows}, cols: fields{names: cols, kept: map[int64]field{}}}
	switch f {
	case Parquet:
		out, err := newTable(w, rows, cols)
		x.out = out
		return x, err
	case JSONLines:
		x.rows.encode = func(v any) ([]byte, error) { return json.Marshal(v) }
		x.out = &objects{text{w: w}}
	default:
		x.rows.encode = quoted
		if guarded {
			x.rows.encode = func(v any) ([]byte, error) {
				if text, ok := v.(string); ok {
					v = escape.Formula(text)
				}
				return quoted(v)
			}
		}
		x.out = newLines(w, rows, cols)
	}
	x.cols.encode = x.rows.encode
	return x, nil
}

// Row writes the recommendations for a row.
func (w *Writer) Row(row int64, items []Item) error {
	of, err := w.rows.at(row)
	if err != nil {
		return err
	}
	for i, item := range items {
		to, err := w.cols.at(int64(item.Index))
		if err != nil {
			return err
		}
		if err := w.out.add(of, to, i+1, item.Score); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the file; it does not close what is under it.
func (w *Writer) Close() error { return w.out.close() }

// field is a name, and how it is written; the title is empty if there is none.
type field struct {
	factor.Name
	id, title []byte
}

// fields are the names of a side. Those that come again and again are kept, up to cacheBytes.
type fields struct {
	names  *factor.Names
	encode func(any) ([]byte, error) // nil: no text is written
	kept   map[int64]field           // nil: none are
	bytes  int
}

const cacheBytes = 8 << 20

func (f *fields) at(i int64) (x field, err error) {
	x, ok := f.kept[i]
	if ok {
		return x, nil
	}
	if x.Name, err = f.names.At(i); err != nil {
		return x, err
	}
	if f.encode != nil {
		if x.id, err = f.encode(x.ID); err != nil {
			return x, err
		}
		if x.Title != "" {
			if x.title, err = f.encode(x.Title); err != nil {
				return x, err
			}
		}
	}
	const overhead = 160
	if size := 2*(len(x.id)+len(x.title)) + overhead; f.kept != nil && f.bytes+size <= cacheBytes {
		f.kept[i] = x
		f.bytes += size
	}
	return x, nil
}

// quoted is a field of CSV.
func quoted(x any) ([]byte, error) {
	if n, ok := x.(int64); ok {
		return strconv.AppendInt(nil, n, 10), nil
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write([]string{x.(string), ""}); err != nil { // one empty field alone would be written as ""
		return nil, err
	}
	w.Flush()
	return bytes.TrimSuffix(b.Bytes(), []byte(",\n")), w.Error()
}

// text is lines on their way.
type text struct {
	w io.Writer
	b []byte
}

// end ends a line.
func (x *text) end() error {
	x.b = append(x.b, '\n')
	if len(x.b) < 1<<16 {
		return nil
	}
	return x.close()
}

func (x *text) close() error {
	_, err := x.w.Write(x.b)
	x.b = x.b[:0]
	return err
}

// lines are CSV.
type lines struct {
	text
	rowTitles, colTitles bool
}

func newLines(w io.Writer, rows, cols *factor.Names) *lines {
	x := &lines{text{w: w}, rows.Titled(), cols.Titled()}
	x.b = append(x.b, "row,column,rank,score"...)
	if x.rowTitles {
		x.b = append(x.b, ",row_title"...)
	}
	if x.colTitles {
		x.b = append(x.b, ",column_title"...)
	}
	x.b = append(x.b, '\n')
	return x
}

func (x *lines) add(row, col field, rank int, score float64) error {
	x.b = append(append(append(append(x.b, row.id...), ','), col.id...), ',')
	x.b = append(strconv.AppendInt(x.b, int64(rank), 10), ',')
	x.b = strconv.AppendFloat(x.b, score, 'g', -1, 64)
	if x.rowTitles {
		x.b = append(append(x.b, ','), row.title...)
	}
	if x.colTitles {
		x.b = append(append(x.b, ','), col.title...)
	}
	return x.end()
}

// objects are lines of JSON.
type objects struct{ text }

func (x *objects) add(row, col field, rank int, score float64) error {
	x.b = append(append(x.b, `{"row":`...), row.id...)
	x.b = append(append(x.b, `,"column":`...), col.id...)
	x.b = strconv.AppendInt(append(x.b, `,"rank":`...), int64(rank), 10)
	x.b = strconv.AppendFloat(append(x.b, `,"score":`...), score, 'g', -1, 64)
	if len(row.title) > 0 {
		x.b = append(append(x.b, `,"row_title":`...), row.title...)
	}
	if len(col.title) > 0 {
		x.b = append(append(x.b, `,"column_title":`...), col.title...)
	}
	x.b = append(x.b, '}')
	return x.end()
}

// table is Parquet, a row group at a time in memory.
type table struct {
	w                    *parquet.Writer
	rows, cols           ids
	ranks                parquet.Int32s
	scores               []float64
	rowTitles, colTitles *parquet.Strings // nil: there are none
}

// groupRows are those of a row group.
const groupRows = 1 << 16

// ids are those of a side: integers or strings.
type ids struct {
	ints    bool
	numbers parquet.Int64s
	texts   parquet.Strings
}

func (x *ids) add(id any) {
	if x.ints {
		x.numbers = append(x.numbers, id.(int64))
	} else {
		x.texts = append(x.texts, id.(string))
	}
}

// take returns what there is, and begins anew in its memory.
func (x *ids) take() (v parquet.Values) {
	v = x.texts
	if x.ints {
		v = x.numbers
	}
	x.numbers, x.texts = x.numbers[:0], x.texts[:0]
	return v
}

func (x *ids) column(name string) parquet.Column {
	if x.ints {
		return parquet.Column{Name: name, Type: parquet.Int64}
	}
	return parquet.Column{Name: name, Type: parquet.String}
}

func newTable(w io.Writer, rows, cols *factor.Names) (*table, error) {
	t := &table{rows: ids{ints: rows.Ints()}, cols: ids{ints: cols.Ints()}}
	columns := []parquet.Column{t.rows.column("row"), t.cols.column("column"), {Name: "rank", Type: parquet.Int32}, {Name: "score", Type: parquet.Float64}}
	if rows.Titled() {
		t.rowTitles = new(parquet.Strings)
		columns = append(columns, parquet.Column{Name: "row_title", Type: parquet.String})
	}
	if cols.Titled() {
		t.colTitles = new(parquet.Strings)
		columns = append(columns, parquet.Column{Name: "column_title", Type: parquet.String})
	}
	var err error
	t.w, err = parquet.NewWriter(w, columns)
	return t, err
}

func (t *table) add(row, col field, rank int, score float64) error {
	t.rows.add(row.ID)
	t.cols.add(col.ID)
	t.ranks, t.scores = append(t.ranks, int32(rank)), append(t.scores, score)
	if t.rowTitles != nil {
		*t.rowTitles = append(*t.rowTitles, row.Title)
	}
	if t.colTitles != nil {
		*t.colTitles = append(*t.colTitles, col.Title)
	}
	if len(t.ranks) < groupRows {
		return nil
	}
	return t.group()
}

func (t *table) group() error {
	values := []parquet.Values{t.rows.take(), t.cols.take(), t.ranks, parquet.Float64s{X: t.scores, Stride: 1}}
	for _, titles := range []*parquet.Strings{t.rowTitles, t.colTitles} {
		if titles != nil {
			values = append(values, *titles)
			*titles = (*titles)[:0]
		}
	}
	n := len(t.ranks)
	t.ranks, t.scores = t.ranks[:0], t.scores[:0]
	return t.w.Group(n, values...)
}

func (t *table) close() error {
	if err := t.group(); err != nil {
		return err
	}
	return t.w.Close()
}
