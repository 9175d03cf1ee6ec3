package solver

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"
)

// Matrix is an N×n matrix A known only through passes over its rows. N is usually the longer side; only the cost
// depends on that.
type Matrix interface {
	// Info describes the matrix. All calls return the same.
	Info() Info
	// Run makes a pass. A cancelled ctx must come back as an error that wraps
	// ctx.Err() or context.Cause(ctx). A pass that fails returns its Cost, too.
	// The same pass gives the same bits every time.
	Run(ctx context.Context, p Pass) (Cost, error)
}

// Info describes a Matrix.
type Info struct {
	Rows int64 // N
	Cols int   // n
	NNZ  int64 // stored entries
	// Exponent is e: all products are those of 2^−e·A instead of A, so that no square of a value leaves the range
	// of a float64. e is 0 if ‖A‖_F is from about 2⁻¹⁰⁰ to about 2¹⁰⁰, and otherwise such that Norm is near 1.
	Exponent int
	Norm     float64 // ‖2^−e·A‖_F
	// Terms is the norm that rounding errors of products are relative to. If a product with 2^−e·A is a sum of
	// products with several matrices, such as the sparse part of a centred matrix, Terms is the largest of their
	// Frobenius norms. 0 means Norm.
	Terms    float64
	MaxWidth int // largest number of columns of a pass; 0: no limit
	// ID names the matrix. A checkpoint is refused for a matrix with another ID, and random vectors are drawn
	// from the seed and the ID (Settings.Seed). Empty: the matrix has no ID.
	ID string
}

// terms is the norm that rounding errors of products are relative to.
func (i Info) terms() float64 { return max(i.Norm, i.Terms) }

// A Pass is one read of a Matrix, with blocks of l columns. Each row a_i of A gives
// y_i = a_iᵀX. The fields that are set determine what a pass computes:
//
//	X, Sum               AᵀA·X                        the Gram operator
//	X, Sum, R, RowsOut   W = A·X, AᵀW, R of W = QR    the finishing pass
//	X, RowsOut           A·X
//	RowsIn, Sum          Aᵀ·Y
//	X, RowsIn, RowsOut, Sum   A·X and Aᵀ·Y            the dilation, residuals
//
// No two of the blocks overlap, except X and RowsIn, which may.
type Pass struct {
	X *mat.Dense // n×l
	// RowsIn gives the rows z_i of an N×l block Y. Without RowsIn z_i is y_i.
	RowsIn Rows
	// RowsOut receives the y_i.
	RowsOut Rows
	// Sum (n×l) is set to Σ a_i z_iᵀ. Without RowsIn the z_i equal the rows of RowsOut to the last bit.
	Sum *mat.Dense
	// R (l×l) is set to the upper triangular factor R of a QR factorisation of the N×l matrix W of the y_i, with
	// singular values accurate to a modest multiple of ε‖W‖, as those of a backward stable factorisation are. The
	// Cholesky factor of WᵀW may be used where it has been shown to be as good: if the columns are nearly
	// orthogonal. Rows from N on are zero.
	R *mat.Dense
}

// Rows is an N×l block that a Pass reads or writes by rows: a block in memory or a function. The zero Rows is no
// block.
type Rows struct {
	// Block is read or filled in place, in any order of rows.
	Block *mat.Dense
	// Func is called with consecutive rows, from row first on, in ascending order, one call at a time. It takes
	// the rows of RowsOut or fills the rows of RowsIn. rows is valid during the call. In a pass with both,
	// RowsOut receives the same portions of rows that RowsIn was asked for, and the rows that RowsIn has filled
	// are valid until then. Before that a pass may go through RowsIn several times, each time from the first row
	// on.
	Func func(first int64, rows *mat.Dense) error
	// Store, beside Func, is the RowStore that the rows belong to, for a Matrix that knows the store: see
	// LeftSweeper.
	Store RowStore
}

// None reports whether r is the zero Rows.
func (r Rows) None() bool { return r.Block == nil && r.Func == nil }

// Columns returns the number l of columns of the pass. It panics if the blocks do not
// have the shapes that a pass over a matrix needs, or are not enough for a product.
func (p Pass) Columns(of Info) int {
	l := -1
	check := func(b *mat.Dense, rows int64) {
		if b == nil {
			return
		}
		r, c := b.Dims()
		if l < 0 {
			l = c
		}
		if rows < 0 {
			rows = int64(l)
		}
		if int64(r) != rows || c != l {
			panic("solver: a block of a Pass has the wrong shape")
		}
	}
	check(p.X, int64(of.Cols))
	check(p.Sum, int64(of.Cols))
	check(p.RowsIn.Block, of.Rows)
	check(p.RowsOut.Block, of.Rows)
	check(p.R, -1)
	needsX := p.R != nil || !p.RowsOut.None() || p.Sum != nil && p.RowsIn.None()
	if needsX && p.X == nil || !p.RowsIn.None() && p.Sum == nil || l < 0 {
		panic("solver: a block of a Pass is missing")
	}
	return l
}

// Cost is the cost of a pass. Fields that the Matrix does not measure are 0.
type Cost struct {
	BytesRead int64
	Multiply  time.Duration
	Wait      time.Duration // for data
}

// metered is a Matrix that adds up the costs of its passes. If the Matrix reports no times, the time of the whole
// pass counts as Multiply.
type metered struct {
	Matrix
	cost Cost
}

func (m *metered) Run(ctx context.Context, p Pass) (Cost, error) {
	start := time.Now()
	c, err := m.Matrix.Run(ctx, p)
	if c.Multiply+c.Wait == 0 {
		c.Multiply = time.Since(start)
	}
	m.cost.BytesRead += c.BytesRead
	m.cost.Multiply += c.Multiply
	m.cost.Wait += c.Wait
	return c, err
}

// Operator is a symmetric positive semidefinite n×n operator G known only
// through products with blocks of vectors.
type Operator interface {
	// Dim returns n.
	Dim() int
	// Apply sets dst = G·x for n×l blocks; dst and x never alias. One call is
	// one pass. A cancelled ctx must come back as an error that wraps ctx.Err().
	Apply(ctx context.Context, dst, x *mat.Dense) error
}

// gram is the operator AᵀA.
type gram struct{ a Matrix }

// GramOf returns the Gram operator AᵀA of a matrix, for Eigen.
func GramOf(a Matrix) Operator { return gram{a} }

func (g gram) Dim() int       { return g.a.Info().Cols }
func (g gram) matrix() Matrix { return g.a }

func (g gram) Apply(ctx context.Context, dst, x *mat.Dense) error {
	_, err := g.a.Run(ctx, Pass{X: x, Sum: dst})
	return err
}

// matrixOf returns the matrix that an operator of this package multiplies with, nil for other operators.
func matrixOf(op Operator) Matrix {
	if w, ok := op.(interface{ matrix() Matrix }); ok {
		return w.matrix()
	}
	return nil
}

// infoOf returns the Info of the matrix of an operator, zero if there is no matrix.
func infoOf(op Operator) Info {
	if a := matrixOf(op); a != nil {
		return a.Info()
	}
	return Info{}
}

// scaleOf returns the scale of the matrix of an operator, 0 if there is no matrix.
func scaleOf(op Operator) scale { return scale(infoOf(op).Exponent) }

// scale is the exponent e of a Matrix (Info.Exponent). A run works with 2^−e·A alone; methods of scale convert
// its results, which are about A.
//
// The square of a σ beyond 10¹⁵⁴ or below 10⁻¹⁶⁰ is out of range, though σ is not: in events and results σ is
// multiplied by 2^e. A σ that is smaller than the smallest float64 above 0 is 0.
type scale int

// sigma returns the singular value of A for a singular value x of 2^−e·A. It is at most ‖A‖_F, which is finite; a
// result that rounding takes out of range is the largest float64.
func (e scale) sigma(x float64) float64 { return min(math.Ldexp(x, int(e)), math.MaxFloat64) }

// signed is sigma for a value that may be negative.
func (e scale) signed(x float64) float64 { return math.Copysign(e.sigma(math.Abs(x)), x) }

// bound is sigma for an upper bound: it rounds up where float64 has few digits.
func (e scale) bound(x float64) float64 {
	s := e.sigma(x)
	if s < math.MaxFloat64 && math.Ldexp(s, -int(e)) < x {
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// String returns the part of the description of a problem, stored in checkpoints, that names the scale.
func (e scale) String() string {
	if e == 0 {
		return ""
	}
	return fmt.Sprintf(", times 2^%d", -int(e))
}

// RowStore holds a tall N×k block outside the solver: in a file, or in memory (DenseRows). The solver writes W =
// A·V to it row by row, and turns W, chunk by chunk and in place, into the left singular vectors. Chunks are read
// and written in ascending order within a sweep; rows always has k columns.
type RowStore interface {
	WriteRows(first int64, rows *mat.Dense) error
	ReadRows(first int64, rows *mat.Dense) error
}
