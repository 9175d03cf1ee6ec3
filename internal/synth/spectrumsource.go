package synth

import (
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// Source is the matrix without a store: each pass makes the rows anew, on all
// workers, or keeps them if the budget allows. It is to be given to
// stream.NewFrom; the stored matrix of that is the longer way round.
func (s Spectrum) Source() (stream.Source, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	r := newRotated(s)
	r.name = fmt.Sprint(s.source())
	return r, nil
}

var _ stream.Source = (*rotated)(nil)

// Rows implements stream.Source, as do the next ones.
func (r *rotated) Rows() int64 { return r.rows }

func (r *rotated) Cols() int64 { return r.cols }

func (r *rotated) Fingerprint() string { return r.name }

// Norm is the root of the sum of the squares of the singular values, at most 1 each.
func (r *rotated) Norm() (m float64, exponent int) {
	sum := 0.0
	for i := r.rank - 1; i >= 0; i-- { // the small ones first
		v := r.sigma(i)
		sum += v * v
	}
	return math.Sqrt(sum), 0
}

// blockRows is how many rows surely fit into a block.
func (r *rotated) blockRows() int64 {
	return min(csr.BlockRows, csr.BlockNNZ/r.width)
}

func (r *rotated) NumBlocks() int { return int((r.rows + r.blockRows() - 1) / r.blockRows()) }

func (r *rotated) MaxBlock() csr.MaxBlock {
	rows := min(r.rows, r.blockRows())
	return csr.MaxBlock{Rows: rows, NNZ: rows * r.width}
}

// Block describes block i with the most entries it can have.
func (r *rotated) Block(i int) csr.BlockInfo {
	first := int64(i) * r.blockRows()
	rows := min(r.blockRows(), r.rows-first)
	return csr.BlockInfo{FirstRow: first, Rows: int(rows), NNZ: int(rows * r.width)}
}

func (r *rotated) Scratch() *csr.Block { return new(csr.Block) }

func (r *rotated) DecodedSize(rows, nnz int64) int64 { return 4*(rows+1) + (4+8)*nnz }

// DecodeBlock makes the rows of block i.
func (r *rotated) DecodeBlock(i int, dst *csr.Block) error {
	info := r.Block(i)
	*dst = csr.Block{FirstRow: info.FirstRow, RowPtr: append(dst.RowPtr[:0], 0), Col: dst.Col[:0], Val: dst.Val[:0]}
	if cap(dst.Col) < info.NNZ { // nothing is to grow beyond what is planned for
		dst.Col, dst.Val = make([]uint32, 0, info.NNZ), make([]float64, 0, info.NNZ)
	}
	x := make([]entry, 0, r.width)
	for row := range int64(info.Rows) {
		x = r.row(x, info.FirstRow+row)
		for _, e := range x {
			dst.Col, dst.Val = append(dst.Col, uint32(e.at)), append(dst.Val, e.val)
		}
		dst.RowPtr = append(dst.RowPtr, uint32(len(dst.Col)))
	}
	return nil
}

func (r *rotated) Prefetch(int, int) {}

func (r *rotated) Release(int, int) {}
