package solver

// Footprinter is implemented by methods that say what their recurrences hold in
// memory. All methods of this package do.
type Footprinter interface {
	// Footprint returns the bytes of the blocks that a run for k vectors of
	// length n works with: the state, the product it is given, and scratch.
	// What the driver holds is not included: the vectors found, and those of
	// the certificate.
	Footprint(n, k int) int64
}

var _ = []Footprinter{
	GradientDescent{}, Power{}, Polyak{}, Nesterov{}, NesterovGeneral{}, Block{}, Krylov{},
}

// vectors returns the bytes of so many vectors of length n.
func vectors(n, count int) int64 { return 8 * int64(n) * int64(count) }

// Footprint implements Footprinter: x, the next one, and the product.
func (GradientDescent) Footprint(n, _ int) int64 { return vectors(n, 3) }

// Footprint implements Footprinter: x, the next one, and the product.
func (Power) Footprint(n, _ int) int64 { return vectors(n, 3) }

// Footprint implements Footprinter: two iterates, a product kept for choosing β,
// and the product.
func (Polyak) Footprint(n, _ int) int64 { return vectors(n, 4) }

// Footprint implements Footprinter: as Polyak, and the point gone ahead to.
func (Nesterov) Footprint(n, _ int) int64 { return vectors(n, 5) }

// Footprint implements Footprinter: the five vectors of the scheme and the
// product.
func (NesterovGeneral) Footprint(n, _ int) int64 { return vectors(n, 6) }

// Footprint implements Footprinter: three blocks of the width of the method, and
// small matrices of each segment of rows.
func (b Block) Footprint(n, k int) int64 {
	l := min(b.Width(k), n)
	return vectors(n, 3*l) + vectors(l, 2*maxSegments*chunkRows) + vectors(l, (2*segments(n)+10)*l)
}

// Footprint implements Footprinter: m columns of the basis, the block, and the
// product, n×(m+2b) in all, what panels are not filled with or blocks are put
// together in, and some matrices of the order of the basis. Blocks are wider than b
// when they look for more copies of values.
func (k Krylov) Footprint(n, rank int) int64 {
	f := k.fit(rank).(Krylov)
	b, m := min(f.probe(rank), n), min(f.Basis, n)
	spare := wideFor(b)
	if spare > b {
		spare *= 2
	}
	return vectors(n, m+2*b+spare) + vectors(m, 2*maxSegments*chunkRows) + vectors(m, 4*segments(n)*b+16*m)
}

// SpaceFootprint splits RunFootprint for a run with a Space: what lies there, which
// is all that grows with n, the window of it that is in memory, and what else is.
func SpaceFootprint(m Method, n, k int) (outside, window, inside int64) {
	// A row of so many takes the same everywhere, but for sums of segments of rows.
	const many = 1 << 24
	each := (RunFootprint(m, 2*many, k) - RunFootprint(m, many, k)) / many
	outside = each * int64(n)
	return outside, min(windows(each), outside), max(0, RunFootprint(m, n, k)-outside)
}

// windows is what the sweeps of a run have in memory of vectors that take so
// many bytes a row, for any number of workers.
func windows(each int64) int64 {
	return max(windowBytes, maxSegments*each*leastWindow) + each*tileRows
}

// RunFootprint returns the bytes that SVD holds at most, for k triplets of a
// matrix with vectors v of length n: what the method says, if it is a
// Footprinter, and the driver's own, which are the vectors found, those of the
// certificate, and their products with G or the start vectors made of them. What
// the Matrix and the RowStore hold is not included.
func RunFootprint(m Method, n, k int) int64 {
	const single = 8 // vectors on their own
	own := vectors(n, 3*k+single) + 8*(2*leftEntries+int64(maxSegments*chunkRows*k)+int64(16+segments(n))*int64(k)*int64(k))
	if f, ok := m.(Footprinter); ok {
		own += f.Footprint(n, k)
	}
	return own
}
