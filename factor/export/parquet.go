package export

import (
	"io"
	"strconv"

	"github.com/gdsvd/gdsvd/factor/internal/parquet"
)

// tableFile writes a table as Parquet, a window as a row group.
type tableFile struct {
	t      *table
	w      *parquet.Writer
	ids    parquet.Int64s
	values []parquet.Values
}

func newParquet(t *table, out io.Writer) (*tableFile, error) {
	var columns []parquet.Column
	if t.idName != "" {
		of := parquet.String
		if t.ints() {
			of = parquet.Int64
		}
		columns = append(columns, parquet.Column{Name: t.idName, Type: of})
	}
	if t.titled() {
		columns = append(columns, parquet.Column{Name: "title", Type: parquet.String})
	}
	for _, name := range t.columns {
		columns = append(columns, parquet.Column{Name: name, Type: parquet.Float64})
	}
	w, err := parquet.NewWriter(out, columns)
	return &tableFile{t: t, w: w}, err
}

// window is the rows of a row group: 32 MiB of numbers, and neither few rows nor many unless rows are long.
func (f *tableFile) window() int {
	return min(max(rowsOf(32<<20, f.t.k), 1<<13), 1<<17, rowsOf(128<<20, f.t.k))
}

func (f *tableFile) write(w *window) error {
	f.values = f.values[:0]
	if f.t.idName != "" && f.t.ints() {
		f.ids = f.ids[:0]
		for _, id := range w.ids {
			x, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				return err
			}
			f.ids = append(f.ids, x)
		}
		f.values = append(f.values, f.ids)
	} else if f.t.idName != "" {
		f.values = append(f.values, parquet.Strings(w.ids))
	}
	if f.t.titled() {
		f.values = append(f.values, parquet.Strings(w.titles))
	}
	m := w.x.RawMatrix()
	for j := range m.Cols {
		f.values = append(f.values, parquet.Float64s{X: m.Data[j:], Stride: m.Stride})
	}
	return f.w.Group(m.Rows, f.values...)
}

func (f *tableFile) close() error { return f.w.Close() }
