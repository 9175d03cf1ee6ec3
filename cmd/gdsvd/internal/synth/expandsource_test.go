package synth

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// Source returns the expansion as a stream.Source without a store. Its blocks are
// those of a store of it, made in each pass, or kept if the budget allows. It
// holds the base in memory, 12 bytes per entry, and a list of the blocks; the base
// may be closed. stream.NewFrom makes of it the matrix of the expansion as it
// would be stored.
func (e *Expansion) Source(ctx context.Context) (stream.Source, error) {
	rows, cols, _, err := e.Dims()
	if err != nil {
		return nil, err
	}
	s := &expanded{rows: rows, cols: cols, baseRows: e.Base.Rows(), baseCols: e.Base.Cols(), name: fmt.Sprint(e.source())}
	factor := e.Factor.Matrix()
	if e.Base.Transposed() {
		factor = mat.DenseCopyOf(factor.T())
	}
	m, exponent := math.Frexp(mat.Norm(factor, 2))
	base, more := e.Base.Norm()
	s.norm, s.exponent = m*base, exponent+more
	s.factor = sparseRows(factor)
	if err := s.load(ctx, e.Base); err != nil {
		return nil, fmt.Errorf("expand %s: %w", e.Base.Path(), err)
	}
	s.cut()
	return s, nil
}

// expanded is a stream.Source of the rows of an expansion.
type expanded struct {
	name               string
	rows, cols         int64
	norm               float64 // the norm is norm·2^exponent
	exponent           int
	factor             []entries
	baseRows, baseCols int64
	ptr                []int64 // row r of the base has the entries ptr[r] … ptr[r+1]−1
	col                []uint32
	val                []float64
	blocks             []csr.BlockInfo
	largest            csr.MaxBlock
}

// load decodes the base into ptr, col and val.
func (s *expanded) load(ctx context.Context, base *csr.Store) error {
	s.ptr = append(make([]int64, 0, s.baseRows+1), 0)
	s.col, s.val = make([]uint32, 0, base.NNZ()), make([]float64, 0, base.NNZ())
	var b csr.Block
	for i := range base.NumBlocks() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := base.DecodeBlock(i, &b); err != nil {
			return err
		}
		for r := range b.Rows() {
			for c, v := range b.Row(r) {
				s.col, s.val = append(s.col, c), append(s.val, v)
			}
			s.ptr = append(s.ptr, int64(len(s.col)))
		}
		base.Release(i, i+1)
	}
	return nil
}

// cut computes the blocks that csr.Writer would make.
func (s *expanded) cut() {
	var b csr.BlockInfo
	end := func(next int64) {
		if b.Rows > 0 {
			s.blocks = append(s.blocks, b)
			s.largest.Rows, s.largest.NNZ = max(s.largest.Rows, int64(b.Rows)), max(s.largest.NNZ, int64(b.NNZ))
		}
		b = csr.BlockInfo{FirstRow: next}
	}
	for i := range s.rows {
		nnz := len(s.factor[i/s.baseRows].col) * int(s.length(i%s.baseRows))
		if b.Rows == csr.BlockRows || b.NNZ+nnz > csr.BlockNNZ {
			end(i)
		}
		b.Rows++
		b.NNZ += nnz
	}
	end(s.rows)
}

// length returns the number of entries of row r of the base.
func (s *expanded) length(r int64) int64 { return s.ptr[r+1] - s.ptr[r] }

// Rows implements stream.Source, as do the methods below.
func (s *expanded) Rows() int64 { return s.rows }

func (s *expanded) Cols() int64 { return s.cols }

func (s *expanded) Fingerprint() string { return s.name }

func (s *expanded) Norm() (m float64, exponent int) { return s.norm, s.exponent }

func (s *expanded) MaxBlock() csr.MaxBlock { return s.largest }

func (s *expanded) NumBlocks() int { return len(s.blocks) }

func (s *expanded) Block(i int) csr.BlockInfo { return s.blocks[i] }

func (s *expanded) Scratch() *csr.Block { return new(csr.Block) }

func (s *expanded) DecodedSize(rows, nnz int64) int64 { return 4*(rows+1) + (4+8)*nnz }

// DecodeBlock computes the rows of block i.
func (s *expanded) DecodeBlock(i int, dst *csr.Block) error {
	info := s.blocks[i]
	*dst = csr.Block{FirstRow: info.FirstRow, RowPtr: append(dst.RowPtr[:0], 0), Col: dst.Col[:0], Val: dst.Val[:0]}
	if cap(dst.Col) < info.NNZ { // dst must not grow beyond the planned size
		dst.Col, dst.Val = make([]uint32, 0, info.NNZ), make([]float64, 0, info.NNZ)
	}
	for row := info.FirstRow; row < info.FirstRow+int64(info.Rows); row++ {
		f, from, to := s.factor[row/s.baseRows], s.ptr[row%s.baseRows], s.ptr[row%s.baseRows+1]
		for k, j := range f.col {
			shift, scale := uint32(int64(j)*s.baseCols), f.val[k] // the shift is below csr.MaxCols, as Dims has checked
			for _, c := range s.col[from:to] {
				dst.Col = append(dst.Col, shift+c)
			}
			for _, v := range s.val[from:to] {
				dst.Val = append(dst.Val, scale*v)
			}
		}
		dst.RowPtr = append(dst.RowPtr, uint32(len(dst.Col)))
	}
	return nil
}

func (s *expanded) Prefetch(int, int) {}

func (s *expanded) Release(int, int) {}
