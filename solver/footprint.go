package solver

import (
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// SpaceFootprint splits RunFootprint for a run with a Space: what lies there, which
// is all that grows with n, the window of it that is in memory, and what else is.
func SpaceFootprint(m method.Method, n, k int) (outside, window, inside int64) {
	// A row of a matrix this long takes the same everywhere, but for sums of segments of rows.
	const many = 1 << 24
	each := (RunFootprint(m, 2*many, k) - RunFootprint(m, many, k)) / many
	outside = each * int64(n)
	return outside, min(windows(each), outside), max(0, RunFootprint(m, n, k)-outside)
}

// windows is what the sweeps of a run have in memory of vectors that take so
// many bytes a row, for any number of workers.
func windows(each int64) int64 {
	return max(tallskinny.WindowBytes, tallskinny.MaxSegments*each*tallskinny.LeastWindow) + each*tallskinny.TileRows
}

// RunFootprint returns the bytes that SVD holds at most, for k triplets of a matrix with
// vectors v of length n: what the method says, and the driver's own, which are the vectors
// found, those of the certificate, and their products with G or the start vectors made of
// them. What the Matrix and the RowStore hold is not included.
func RunFootprint(m method.Method, n, k int) int64 {
	const single = 8 // vectors on their own
	own := tallskinny.Bytes(n, 3*k+single) + 8*(2*leftEntries+int64(tallskinny.MaxSegments*tallskinny.ChunkRows*k)+int64(16+tallskinny.Segments(n))*int64(k)*int64(k))
	return own + m.Traits(k).Footprint(n)
}
