package stream

import "github.com/gdsvd/gdsvd/csr"

// Range returns blocks from … to−1 of src as a matrix of their own, with their rows numbered from 0: what one of several
// processes reads of a matrix. Norm, Terms and MaxBlock stay those of src, so that all ranges are scaled alike and their
// sums add up to those of src. The range is Sided if src is.
func Range(src Source, from, to int) Source {
	r := rangeOf{Source: src, from: from, to: to}
	if from < to {
		r.first = src.Block(from).FirstRow
		last := src.Block(to - 1)
		r.rows = last.FirstRow + int64(last.Rows) - r.first
	}
	if s, ok := src.(Sided); ok {
		return &sidedRange{rangeOf: r, all: s}
	}
	return &r
}

type rangeOf struct {
	Source
	from, to    int
	first, rows int64
}

func (r *rangeOf) Rows() int64           { return r.rows }
func (r *rangeOf) NumBlocks() int        { return r.to - r.from }
func (r *rangeOf) Prefetch(from, to int) { r.Source.Prefetch(r.from+from, r.from+to) }
func (r *rangeOf) Release(from, to int)  { r.Source.Release(r.from+from, r.from+to) }

func (r *rangeOf) Block(i int) csr.BlockInfo {
	b := r.Source.Block(r.from + i)
	b.FirstRow -= r.first
	return b
}

func (r *rangeOf) DecodeBlock(i int, dst *csr.Block) error {
	err := r.Source.DecodeBlock(r.from+i, dst)
	dst.FirstRow -= r.first
	return err
}

// sidedRange is a range of a Sided source, which knows its rows by their numbers there.
type sidedRange struct {
	rangeOf
	all Sided
}

var _ Sided = (*sidedRange)(nil)

func (r *sidedRange) Sides() (scaled bool, rank int, bytes int64) { return r.all.Sides() }
func (r *sidedRange) Columns() (e []float64, q [][]float64)       { return r.all.Columns() }
func (r *sidedRange) Terms() float64                              { return r.all.Terms() }

func (r *sidedRange) RowSides(b *csr.Block, d, p []float64) {
	there := *b
	there.FirstRow += r.first
	r.all.RowSides(&there, d, p)
}
