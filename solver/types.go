package solver

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Operator is a symmetric positive semidefinite n×n operator G known only
// through products with blocks of vectors.
type Operator interface {
	// Dim returns n.
	Dim() int
	// Apply sets dst = G·x for n×l blocks; dst and x never alias. One call is
	// one pass. A cancelled ctx must come back as an error that wraps ctx.Err().
	Apply(ctx context.Context, dst, x *mat.Dense) error
}

// RowStore holds a tall N×k block outside the solver: a file, or memory
// (DenseRows). The solver writes W = A·V to it row by row and turns it, chunk
// by chunk and in place, into the left singular vectors. Chunks are read and
// written in ascending order within a sweep; rows always has k columns.
type RowStore interface {
	WriteRows(first int64, rows *mat.Dense) error
	ReadRows(first int64, rows *mat.Dense) error
}

// DenseRows is a RowStore in memory.
type DenseRows struct {
	Dense *mat.Dense // N×k
}

var _ RowStore = (*DenseRows)(nil)

// rowsOut is the store, unless nil, as what a Pass fills, and rowsIn as what it reads.
func rowsOut(s RowStore) Rows {
	switch s := s.(type) {
	case nil:
		return Rows{}
	case *DenseRows:
		return Rows{Block: s.Dense}
	}
	return Rows{Func: s.WriteRows}
}

func rowsIn(s RowStore) Rows {
	if s, ok := s.(*DenseRows); ok {
		return Rows{Block: s.Dense}
	}
	return Rows{Func: s.ReadRows}
}

// NewDenseRows returns an n×k block of zeros as a RowStore.
func NewDenseRows(n, k int) *DenseRows { return &DenseRows{Dense: mat.NewDense(n, k, nil)} }

// WriteRows implements RowStore.
func (d *DenseRows) WriteRows(first int64, rows *mat.Dense) error {
	d.slice(first, rows).Copy(rows)
	return nil
}

// ReadRows implements RowStore.
func (d *DenseRows) ReadRows(first int64, rows *mat.Dense) error {
	rows.Copy(d.slice(first, rows))
	return nil
}

func (d *DenseRows) slice(first int64, rows *mat.Dense) *mat.Dense {
	r, c := rows.Dims()
	if _, k := d.Dense.Dims(); c != k {
		panic("solver: rows of a RowStore must have its width")
	}
	return d.Dense.Slice(int(first), int(first)+r, 0, c).(*mat.Dense)
}
