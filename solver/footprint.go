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
	return vectors(n, 3*l) + vectors(l, 2*maxSegments*chunkRows) + vectors(l, (2*maxSegments+10)*l)
}

// Footprint implements Footprinter: m columns of the basis, the block, and the
// product, n×(m+2b) in all, with some matrices of the order of the basis.
func (k Krylov) Footprint(n, rank int) int64 {
	f := k.fit(rank).(Krylov)
	b, m := min(f.Columns, n), min(f.Basis, n)
	return vectors(n, m+2*b) + vectors(m, maxSegments*chunkRows) + vectors(m, 2*maxSegments*b+8*m)
}
