package export

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/internal/parquet"
)

// ids are those of one axis of a store: of the row that is at hand, or of all columns.
type ids struct {
	texts  bool          // they are no integers
	reader *csr.IDReader // of rows
	number int64         // of the row at hand; indices without a reader
	name   string        // likewise

	columns bool
	numbers []int64 // nil: indices
	names   []string
}

// ids opens those of the rows of the store, and reads those of its columns.
func (w *entries) ids() (along, across *ids, err error) {
	along, across = &ids{number: -1}, &ids{columns: true}
	if w.o.Bare {
		return along, across, nil
	}
	file := w.store.Manifest().IDs.Cols
	if file != nil {
		const each = 32 // bytes of an id beside its text
		if need := file.Size + each*file.Count; need > w.m.Memory()/2 {
			return nil, nil, fmt.Errorf("the ids of %d columns of the store %s take about %d MiB, more than half of the memory budget: give more memory, leave the ids out, or export mtx or npz", file.Count, w.store.Path(), need>>20)
		}
		if err := across.read(w.store); err != nil {
			return nil, nil, err
		}
	}
	if along.reader, err = w.store.IDs(csr.RowAxis); err == nil {
		along.texts = along.reader.Kind() == csr.StringIDs
	}
	return along, across, err
}

// read reads the ids of all columns.
func (d *ids) read(store *csr.Store) error {
	r, err := store.IDs(csr.ColAxis)
	if err != nil {
		return err
	}
	d.texts = r.Kind() == csr.StringIDs
	for r.Next() {
		if d.texts {
			d.names = append(d.names, r.String())
		} else {
			d.numbers = append(d.numbers, r.Int())
		}
	}
	return errors.Join(r.Err(), r.Close())
}

// next goes on to the next row.
func (d *ids) next() error {
	switch {
	case d.reader == nil:
		d.number++
		return nil
	case !d.reader.Next():
		return errors.Join(d.reader.Err(), fmt.Errorf("ids: %w", io.ErrUnexpectedEOF))
	case d.texts:
		d.name = d.reader.String()
	default:
		d.number = d.reader.Int()
	}
	return nil
}

func (d *ids) close() error {
	if d.reader == nil {
		return nil
	}
	return d.reader.Close()
}

// integer is the id of the row at hand, or of a column.
func (d *ids) integer(column uint32) int64 {
	switch {
	case !d.columns:
		return d.number
	case d.numbers == nil:
		return int64(column)
	}
	return d.numbers[column]
}

func (d *ids) text(column uint32) string {
	switch {
	case !d.texts:
		return strconv.FormatInt(d.integer(column), 10)
	case !d.columns:
		return d.name
	}
	return d.names[column]
}

func (d *ids) kind() parquet.Type {
	if d.texts {
		return parquet.String
	}
	return parquet.Int64
}

// groupEntries is how many entries a row group of Parquet has.
const groupEntries = 1 << 17

// group is a row group being filled.
type group struct {
	out      *parquet.Writer
	row, col *ids
	values   [2]struct {
		numbers parquet.Int64s
		texts   parquet.Strings
	}
	entries []float64
}

func (g *group) add(c uint32, v float64) error {
	for i, d := range []*ids{g.row, g.col} {
		if at := &g.values[i]; d.texts {
			at.texts = append(at.texts, d.text(c))
		} else {
			at.numbers = append(at.numbers, d.integer(c))
		}
	}
	if g.entries = append(g.entries, v); len(g.entries) < groupEntries {
		return nil
	}
	return g.flush()
}

func (g *group) flush() error {
	if len(g.entries) == 0 {
		return nil
	}
	var columns []parquet.Values
	for i, d := range []*ids{g.row, g.col} {
		if d.texts {
			columns = append(columns, g.values[i].texts)
		} else {
			columns = append(columns, g.values[i].numbers)
		}
	}
	err := g.out.Group(len(g.entries), append(columns, parquet.Float64s{X: g.entries, Stride: 1})...)
	for i := range g.values {
		g.values[i].numbers, g.values[i].texts = g.values[i].numbers[:0], g.values[i].texts[:0]
	}
	g.entries = g.entries[:0]
	return err
}

func (g *group) close() error {
	err := g.flush()
	if err != nil {
		return err
	}
	return g.out.Close()
}
