package solver

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// LeftSweeper is a RowStore that itself makes the sweeps that turn W into the left vectors, where its rows lie. The
// solver then neither reads nor writes the rows, and a Matrix recognises the store by Rows.Store.
type LeftSweeper interface {
	RowStore
	// SweepLeft makes a sweep over all rows, in parts by LeftSweep.Over, whose sums it adds up in the order of the rows.
	SweepLeft(ctx context.Context, s LeftSweep) (*LeftSums, error)
}

// Arguments and results of the sweeps of a LeftSweeper.
type (
	LeftSweep = left.Step
	LeftFill  = left.Fill
	LeftSums  = left.Sums
	LeftRows  = left.Rows
)

// NewLeftSums returns the sums of the sweep s over no rows, of k columns.
func NewLeftSums(s LeftSweep, k int) *LeftSums { return left.NewSums(s, k) }

// DenseRows is a RowStore in memory.
type DenseRows struct {
	Dense *mat.Dense // N×k
}

var _ RowStore = (*DenseRows)(nil)

// rowsOut returns the store as Pass.RowsOut, the zero Rows for nil. rowsIn returns it as Pass.RowsIn.
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

// Space allocates the tall blocks of a run, all that grows with n, in files that are mapped into memory. It is
// for runs whose memory is too small for even one of the blocks.
//
// The results have the same bits as those of a run in memory. Work between two passes goes through the rows of
// some blocks in order, a window at a time: the next window is fetched and the previous one evicted, so that
// about 16 MiB are in memory whatever n and the method are (SpaceFootprint). Stats counts the bytes read and
// written. Left vectors go to their RowStore row by row, and a checkpoint is written from the Space directly.
// When the context of a run ends, the run stops at the end of a window, and its state is lost except for its last
// checkpoint. If the Space cannot keep the contents of a block, the run fails.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space interface {
	// Make returns a slice of the given number of float64s, all 0.
	Make(numbers int) ([]float64, error)
	// Fetch announces that x is read or written next. Fetch and Evict ignore memory that Make has not returned.
	Fetch(x []float64)
	// Evict announces that x need not stay in memory. The contents of x are kept.
	Evict(x []float64)
	// Free releases a slice that Make has returned. The slice is not used afterwards.
	Free(x []float64)
	// Err returns an error after which contents may be lost, nil if there was none.
	Err() error
}

// SpaceFootprint splits the bytes of RunFootprint for a run with a Space. outside is the number of bytes in the
// Space, which is all that grows with n; window is the part of outside that is in memory; inside is the number of
// other bytes.
func SpaceFootprint(m method.Method, n, k int) (outside, window, inside int64) {
	// From this many rows on all rows take the same number of bytes, apart from sums over segments of rows.
	const many = 1 << 24
	each := (RunFootprint(m, 2*many, k) - RunFootprint(m, many, k)) / many
	outside = each * int64(n)
	window = max(tallskinny.WindowBytes, tallskinny.MaxSegments*each*tallskinny.LeastWindow) + each*tallskinny.TileRows // for any number of workers
	return outside, min(window, outside), max(0, RunFootprint(m, n, k)-outside)
}

// SweepFootprint returns the bytes that each worker of Orthogonality or of a LeftSweep takes for vectors of k columns.
func SweepFootprint(k int) int64 { return left.Footprint(k) }

// RunFootprint returns the largest number of bytes that SVD holds, for k triplets of a matrix with vectors v of
// length n: the Footprint of the method and the blocks of the driver. These are the vectors found, those of the
// certificate, and their products with G or the start vectors made of the products. The memory of the Matrix and
// of the RowStore is not included.
func RunFootprint(m method.Method, n, k int) int64 {
	const single = 8 // single vectors
	own := tallskinny.Bytes(n, 3*k+single) + 8*(left.Workers*left.Entries+int64(tallskinny.MaxSegments*tallskinny.ChunkRows*k)+int64(16+tallskinny.Segments(n))*int64(k)*int64(k))
	return own + m.Traits(k).Footprint(n)
}

// PairsFootprint returns the bytes that a run with Settings.Which holds in addition to RunFootprint: the
// certificate has A·V, and a basis of residuals with its product, after the blocks of the method have been freed.
func PairsFootprint(m method.Method, n, k int) int64 {
	return max(0, tallskinny.Bytes(n, 3*k)-m.Traits(k).Footprint(n))
}
