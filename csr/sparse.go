package csr

import (
	"errors"
	"fmt"
	"slices"

	"github.com/james-bowman/sparse"
)

// FromSparse writes m as a store at path. o.Cols, o.Values and o.Transposed
// are set from m: its longer side is stored as rows (its own rows if it is
// square), and [Store.ToSparse] gives m back in its own orientation. The order
// of entries within a row of m is free, but a column must not occur twice.
func FromSparse(path string, m *sparse.CSR, o CreateOptions) (err error) {
	a := m
	r, c := m.Dims()
	for _, j := range m.RawMatrix().Ind[:m.RawMatrix().Indptr[r]] {
		if j < 0 || j >= c { // before ToCSR, which panics
			return fmt.Errorf("write store: column %d in a sparse matrix of %d columns", j, c)
		}
	}
	o.Transposed = c > r
	if o.Transposed {
		a = m.T().(*sparse.CSC).ToCSR()
		r, c = c, r
	}
	o.Cols = int64(c)
	raw := a.RawMatrix()
	var stats ValueStats
	stats.Add(raw.Data[:raw.Indptr[r]]...)
	o.Values = stats.Values()
	w, err := Create(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }()

	var cols []uint32
	var vals []float64
	for i := range r {
		lo, hi := raw.Indptr[i], raw.Indptr[i+1]
		order := make([]int, hi-lo) // entries of the row by ascending column
		for k := range order {
			order[k] = lo + k
		}
		slices.SortFunc(order, func(x, y int) int { return raw.Ind[x] - raw.Ind[y] })
		cols, vals = cols[:0], vals[:0]
		for _, k := range order {
			cols = append(cols, uint32(raw.Ind[k]))
			vals = append(vals, raw.Data[k])
		}
		if err := w.AppendRow(cols, vals); err != nil {
			if o.Transposed {
				return fmt.Errorf("the transpose of a wide sparse matrix: %w", err)
			}
			return err
		}
	}
	return w.Commit()
}

// ToSparse loads the whole store into memory (16 bytes an entry), in the
// user's orientation.
func (s *Store) ToSparse() (*sparse.CSR, error) {
	ptr := make([]int, 1, s.Rows()+1)
	ind := make([]int, 0, s.NNZ())
	data := make([]float64, 0, s.NNZ())
	var b Block
	for i := range s.NumBlocks() {
		if err := s.DecodeBlock(i, &b); err != nil {
			return nil, err
		}
		base := len(ind)
		for _, p := range b.RowPtr[1:] {
			ptr = append(ptr, base+int(p))
		}
		for c, v := range b.Entries() {
			ind, data = append(ind, int(c)), append(data, v)
		}
	}
	a := sparse.NewCSR(int(s.Rows()), int(s.Cols()), ptr, ind, data)
	if s.Transposed() {
		return a.T().(*sparse.CSC).ToCSR(), nil
	}
	return a, nil
}
