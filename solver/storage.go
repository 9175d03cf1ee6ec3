package solver

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// LeftSweeper is a RowStore that makes the sweeps by which W becomes the left vectors itself, where its rows lie: the
// solver then neither reads nor writes them, and a Matrix knows the store by Rows.Store.
type LeftSweeper interface {
	RowStore
	// SweepLeft makes a sweep over all rows, in parts by LeftSweep.Over, whose sums it adds up in the order of the rows.
	SweepLeft(ctx context.Context, s LeftSweep) (*LeftSums, error)
}

// What a LeftSweeper deals with.
type (
	LeftSweep = left.Step
	LeftFill  = left.Fill
	LeftSums  = left.Sums
	LeftRows  = left.Rows
)

// NewLeftSums is what a sweep has summed up of no rows of k columns.
func NewLeftSums(s LeftSweep, k int) *LeftSums { return left.NewSums(s, k) }

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
	return Rows{Func: s.WriteRows, Store: s}
}

func rowsIn(s RowStore) Rows {
	if s, ok := s.(*DenseRows); ok {
		return Rows{Block: s.Dense}
	}
	return Rows{Func: s.ReadRows, Store: s}
}

// NewDenseRows returns an n×k block of zeros as a RowStore.
func NewDenseRows(n, k int) *DenseRows { return &DenseRows{Dense: mat.NewDense(n, k, nil)} }

func (d *DenseRows) WriteRows(first int64, rows *mat.Dense) error {
	d.slice(first, rows).Copy(rows)
	return nil
}

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

// Space is where the tall blocks of a run lie, all that grows with n, when memory is too
// small for even one of them: in files that are mapped into memory.
//
// The bits of the results are those of a run in memory. Work between two passes goes through the rows of some blocks in order, a window
// at a time: the next one is fetched, and the one that has been passed is evicted, so that about 16 MiB are in memory
// whatever n and the method are (SpaceFootprint); Stats counts what is gone over. Left vectors go to their RowStore row by row, and a
// checkpoint is written from where the vectors lie. When the context of a run ends it leaves off at the end of a
// window; its last checkpoint is what is known then. What the Space could not keep is an error of the run.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space interface {
	// Make returns room for that many float64s, zeros at first.
	Make(numbers int) ([]float64, error)
	// Fetch says that x is gone through next. It leaves alone what is no part of what Make has returned, as Evict does.
	Fetch(x []float64)
	// Evict says that x need not stay in memory. Its contents stay.
	Evict(x []float64)
	// Free gives back what Make has returned. It is not touched any more.
	Free(x []float64)
	// Err returns the error that may have cost contents, if there was one.
	Err() error
}

// SpaceFootprint splits RunFootprint for a run with a Space: what lies there, which
// is all that grows with n, the window of it that is in memory, and what else is.
func SpaceFootprint(m method.Method, n, k int) (outside, window, inside int64) {
	// A row of a matrix this long takes the same everywhere, but for sums of segments of rows.
	const many = 1 << 24
	each := (RunFootprint(m, 2*many, k) - RunFootprint(m, many, k)) / many
	outside = each * int64(n)
	window = max(tallskinny.WindowBytes, tallskinny.MaxSegments*each*tallskinny.LeastWindow) + each*tallskinny.TileRows // for any number of workers
	return outside, min(window, outside), max(0, RunFootprint(m, n, k)-outside)
}

// SweepFootprint returns the bytes that each worker of Orthogonality or of a LeftSweep takes for vectors of k columns.
func SweepFootprint(k int) int64 { return left.Footprint(k) }

// RunFootprint returns the bytes that SVD holds at most, for k triplets of a matrix with
// vectors v of length n: what the method says, and the driver's own, which are the vectors
// found, those of the certificate, and their products with G or the start vectors made of
// them. What the Matrix and the RowStore hold is not included.
func RunFootprint(m method.Method, n, k int) int64 {
	const single = 8 // vectors on their own
	own := tallskinny.Bytes(n, 3*k+single) + 8*(left.Workers*left.Entries+int64(tallskinny.MaxSegments*tallskinny.ChunkRows*k)+int64(16+tallskinny.Segments(n))*int64(k)*int64(k))
	return own + m.Traits(k).Footprint(n)
}

// PairsFootprint returns what a run with Settings.Which holds beyond RunFootprint: the
// certificate has A·V, and a basis of residuals with its product, when the method has none of
// its blocks any more.
func PairsFootprint(m method.Method, n, k int) int64 {
	return max(0, tallskinny.Bytes(n, 3*k)-m.Traits(k).Footprint(n))
}
