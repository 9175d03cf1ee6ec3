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
)

// Format is that of a file of recommendations.
type Format uint8

const (
	CSV       Format = iota // a line for each, under a header
	JSONLines               // a JSON object for each
)

// FormatOf is the format that the end of a file's name says.
func FormatOf(name string) (Format, error) {
	lower := strings.ToLower(name)
	for end, f := range map[string]Format{".csv": CSV, ".jsonl": JSONLines} {
		if strings.HasSuffix(lower, end) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("%s: its name ends in none of .csv and .jsonl, which say the format", name)
}

// Writer writes recommendations: id of the row, id of the column, rank from 1, score, and the titles of row and column
// where there are some. Scores are written so that they are read as the same float64.
type Writer struct {
	w          io.Writer
	format     Format
	rows, cols fields
	buf        []byte
}

// WriterBytes is what a Writer takes in memory at most.
const WriterBytes = cacheBytes + 1<<20

// NewWriter begins a file. rows and cols are the names of the rows and columns.
func NewWriter(w io.Writer, f Format, rows, cols *factor.Names) *Writer {
	x := &Writer{w: w, format: f, rows: fields{names: rows, format: f}, cols: fields{names: cols, format: f, keep: true}}
	if f == JSONLines {
		return x
	}
	head := "row,column,rank,score"
	if rows.Titled() {
		head += ",row_title"
	}
	if cols.Titled() {
		head += ",column_title"
	}
	x.buf = append(x.buf, head+"\n"...)
	return x
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
		if w.format == CSV {
			w.buf = append(append(append(append(w.buf, of.id...), ','), to.id...), ',')
			w.buf = append(strconv.AppendInt(w.buf, int64(i+1), 10), ',')
			w.buf = strconv.AppendFloat(w.buf, item.Score, 'g', -1, 64)
			if w.rows.names.Titled() {
				w.buf = append(append(w.buf, ','), of.title...)
			}
			if w.cols.names.Titled() {
				w.buf = append(append(w.buf, ','), to.title...)
			}
		} else {
			w.buf = append(append(w.buf, `{"row":`...), of.id...)
			w.buf = append(append(w.buf, `,"column":`...), to.id...)
			w.buf = strconv.AppendInt(append(w.buf, `,"rank":`...), int64(i+1), 10)
			w.buf = strconv.AppendFloat(append(w.buf, `,"score":`...), item.Score, 'g', -1, 64)
			if len(of.title) > 0 {
				w.buf = append(append(w.buf, `,"row_title":`...), of.title...)
			}
			if len(to.title) > 0 {
				w.buf = append(append(w.buf, `,"column_title":`...), to.title...)
			}
			w.buf = append(w.buf, '}')
		}
		w.buf = append(w.buf, '\n')
	}
	if len(w.buf) >= 1<<16 {
		return w.Flush()
	}
	return nil
}

// Flush writes what has not been written yet.
func (w *Writer) Flush() error {
	_, err := w.w.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// field is a name as it is written; the title is empty if there is none.
type field struct{ id, title []byte }

// fields are the names of a side. Those that come again and again are kept, up to cacheBytes.
type fields struct {
	names  *factor.Names
	format Format
	keep   bool
	kept   map[int64]field
	bytes  int
}

const cacheBytes = 8 << 20

func (f *fields) at(i int64) (field, error) {
	if x, ok := f.kept[i]; ok {
		return x, nil
	}
	name, err := f.names.At(i)
	if err != nil {
		return field{}, err
	}
	x := field{}
	if x.id, err = f.encode(name.ID); err != nil {
		return field{}, err
	}
	if name.Title != "" {
		if x.title, err = f.encode(name.Title); err != nil {
			return field{}, err
		}
	}
	const overhead = 96
	if size := len(x.id) + len(x.title) + overhead; f.keep && f.bytes+size <= cacheBytes {
		if f.kept == nil {
			f.kept = map[int64]field{}
		}
		f.kept[i] = x
		f.bytes += size
	}
	return x, nil
}

func (f *fields) encode(x any) ([]byte, error) {
	if f.format == JSONLines {
		return json.Marshal(x)
	}
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
