package solver

import (
	"context"
	"time"

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

// Matrix is an N×n matrix A known only through passes over its rows. Its
// Operator part is the Gram operator G = AᵀA. N is usually the longer side;
// nothing here depends on it but the cost.
type Matrix interface {
	Operator
	// Rows returns N.
	Rows() int64
	// Exponent returns e, for which all products are those of 2^−e·A instead of A,
	// so that no square of a value leaves the range of a float64. It is always
	// the same, 0 if ‖A‖_F is from 2⁻¹⁰⁰ to 2¹⁰⁰ or so, and else such that Norm is near 1.
	Exponent() int
	// Norm returns ‖2^−e·A‖_F.
	Norm() float64
	// Project computes W = A·v for an n×k block v in one read. sink, unless
	// nil, receives all rows of W in order, in chunks of any size; rows is
	// valid during the call only. Project returns AᵀW (n×k), formed from the
	// very rows given to sink, and the k×k upper triangular factor R of a QR
	// factorisation of W (TSQR: backward stable column by column, not the
	// Cholesky factor of WᵀW; rows below min(N,k) are zero). The caller may
	// overwrite both.
	Project(ctx context.Context, v *mat.Dense, sink func(first int64, rows *mat.Dense) error) (atw, r *mat.Dense, err error)
	// MulTrans returns Aᵀ·Y (n×k) for an N×k block Y in one read. source fills
	// rows with the rows of Y from first on; every row is asked for once, in
	// order.
	MulTrans(ctx context.Context, k int, source func(first int64, rows *mat.Dense) error) (*mat.Dense, error)
}

// Meter is implemented by an Operator or Matrix that knows what its passes
// have cost since it was made: bytes read, time spent multiplying, and time
// spent waiting for data.
type Meter interface {
	Usage() (bytesRead int64, multiply, wait time.Duration)
}

// Counter is implemented by an Operator or Matrix that knows how many entries
// it has. One that does not is taken to have all of them.
type Counter interface {
	NNZ() int64
}

// Narrow is implemented by an Operator or Matrix that bounds the columns of the
// blocks it multiplies; 0 means that it does not.
type Narrow interface {
	MaxWidth() int
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
