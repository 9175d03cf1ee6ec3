// Package csrtest builds small stores for tests.
package csrtest

import (
	"errors"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/must"
)

// Entry is one stored entry of a row.
type Entry struct {
	Col uint32
	Val float64
}

// Build writes rows (entries in ascending column order) as a store with cols columns in a temporary directory and opens it;
// it is closed when the test ends. Build sets o.Cols from cols, and o.Values, unless given, from the entries.
func Build(t testing.TB, cols int64, rows [][]Entry, o csr.CreateOptions) *csr.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.csr")
	Write(t, path, cols, rows, o)
	return Open(t, path, csr.OpenOptions{FS: o.FS, Missing: o.Missing != 0})
}

// Write writes a store as Build does, but at the given path, and does not open it.
func Write(t testing.TB, path string, cols int64, rows [][]Entry, o csr.CreateOptions) {
	t.Helper()
	must.Do(t, write(path, cols, rows, o))
}

func write(path string, cols int64, rows [][]Entry, o csr.CreateOptions) (err error) {
	o.Cols = cols
	if o.Values.Coding == "" {
		var s csr.ValueStats
		for _, row := range rows {
			for _, e := range row {
				s.Add(e.Val)
			}
		}
		o.Values = s.Values()
	}
	w, err := csr.Create(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()
	var c []uint32
	var v []float64
	for _, row := range rows {
		c, v = c[:0], v[:0]
		for _, e := range row {
			c, v = append(c, e.Col), append(v, e.Val)
		}
		if err := w.AppendRow(c, v); err != nil {
			return err
		}
	}
	return w.Commit()
}

// Open opens a store that is closed when the test ends.
func Open(t testing.TB, path string, o csr.OpenOptions) *csr.Store {
	t.Helper()
	s := must.Get(csr.Open(path, o))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// FromDense builds a store of the nonzero entries of a, row by row, without a transpose; o.Transposed is only recorded.
func FromDense(t testing.TB, a mat.Matrix, o csr.CreateOptions) *csr.Store {
	t.Helper()
	r, c := a.Dims()
	rows := make([][]Entry, r)
	for i := range rows {
		for j := range c {
			if v := a.At(i, j); v != 0 {
				rows[i] = append(rows[i], Entry{uint32(j), v})
			}
		}
	}
	return Build(t, int64(c), rows, o)
}

// Rows decodes a whole store.
func Rows(t testing.TB, s *csr.Store) [][]Entry {
	t.Helper()
	rows := make([][]Entry, 0, s.Rows())
	var b csr.Block
	for i := range s.NumBlocks() {
		must.Do(t, s.DecodeBlock(i, &b))
		for r := range b.Rows() {
			var row []Entry
			for c, v := range b.Row(r) {
				row = append(row, Entry{c, v})
			}
			rows = append(rows, row)
		}
	}
	return rows
}
