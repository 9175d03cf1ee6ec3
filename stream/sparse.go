package stream

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/james-bowman/sparse"
)

// InMemory returns the source from which FromSparse makes a Matrix, for views of it (package view).
func InMemory(m *sparse.CSR) Source { return newInMemory(m, csr.BlockRows, csr.BlockNNZ) }

// FromSparse makes a Matrix of a sparse matrix in memory, cut into the blocks
// it would have in a store. The entries are copied; m must have fewer than 2³² columns. Duplicate entries of m add up,
// as they do in its own products. FromSparse and InMemory panic if m has a column index out of range.
func FromSparse(m *sparse.CSR, o Options) (*Matrix, error) {
	src := newInMemory(m, csr.BlockRows, csr.BlockNNZ)
	sm, err := NewFrom(src, o)
	if err != nil {
		return nil, err
	}
	for i := range sm.resident {
		sm.scaling.scale(&src.blocks[i])
		sm.resident[i] = &src.blocks[i]
	}
	return sm, nil
}

// inMemory is a source whose blocks are decoded already.
type inMemory struct {
	rows, cols int64
	norm       float64 // times 2^exponent
	exponent   int
	blocks     []csr.Block
	largest    csr.MaxBlock
}

// newInMemory cuts m into blocks of at most maxRows rows and maxNNZ entries (one row at least).
func newInMemory(m *sparse.CSR, maxRows, maxNNZ int) *inMemory {
	raw := m.RawMatrix()
	s := &inMemory{rows: int64(raw.I), cols: int64(raw.J)}
	type entry struct {
		col int
		val float64
	}
	var row []entry
	var b *csr.Block
	for r := range raw.I {
		row = row[:0]
		for p := raw.Indptr[r]; p < raw.Indptr[r+1]; p++ {
			row = append(row, entry{raw.Ind[p], raw.Data[p]})
		}
		slices.SortStableFunc(row, func(a, b entry) int { return cmp.Compare(a.col, b.col) })
		if n := len(row); n > 0 && (row[0].col < 0 || row[n-1].col >= raw.J) { // the kernels do not check columns
			panic(fmt.Sprintf("stream: columns %d to %d in row %d of a sparse matrix of %d columns", row[0].col, row[n-1].col, r, raw.J))
		}
		if b == nil || len(b.RowPtr) > maxRows || len(b.RowPtr) > 1 && len(b.Col)+len(row) > maxNNZ {
			s.blocks = append(s.blocks, csr.Block{FirstRow: int64(r), RowPtr: []uint32{0}})
			b = &s.blocks[len(s.blocks)-1]
		}
		for i, e := range row {
			if i > 0 && row[i-1].col == e.col {
				b.Val[len(b.Val)-1] += e.val
				continue
			}
			b.Col = append(b.Col, uint32(e.col))
			b.Val = append(b.Val, e.val)
		}
		b.RowPtr = append(b.RowPtr, uint32(len(b.Col)))
		s.largest.Rows = max(s.largest.Rows, int64(len(b.RowPtr)-1))
		s.largest.NNZ = max(s.largest.NNZ, int64(len(b.Col)))
	}
	s.sumUp()
	return s
}

// sumUp sets norm and exponent. Values are divided by a power of two near the largest if that is out of the safe range.
func (s *inMemory) sumUp() {
	largest, sum := 0.0, 0.0
	for i := range s.blocks {
		for _, v := range s.blocks[i].Val {
			largest = max(largest, math.Abs(v))
		}
	}
	if _, e := math.Frexp(largest); e < -safe || e > safe {
		s.exponent = e
	}
	for i := range s.blocks {
		for _, v := range s.blocks[i].Val {
			if s.exponent != 0 {
				v = math.Ldexp(v, -s.exponent)
			}
			sum += v * v
		}
	}
	s.norm = math.Sqrt(sum)
}

func (s *inMemory) Rows() int64                       { return s.rows }
func (s *inMemory) Cols() int64                       { return s.cols }
func (s *inMemory) Norm() (float64, int)              { return s.norm, s.exponent }
func (s *inMemory) MaxBlock() csr.MaxBlock            { return s.largest }
func (s *inMemory) NumBlocks() int                    { return len(s.blocks) }
func (s *inMemory) Fingerprint() string               { return "" }
func (s *inMemory) Prefetch(int, int)                 {}
func (s *inMemory) Release(int, int)                  {}
func (s *inMemory) Scratch() *csr.Block               { return new(csr.Block) }
func (s *inMemory) DecodedSize(rows, nnz int64) int64 { return 4*(rows+1) + (4+8)*nnz }

func (s *inMemory) Block(i int) csr.BlockInfo {
	b := &s.blocks[i]
	return csr.BlockInfo{FirstRow: b.FirstRow, Rows: len(b.RowPtr) - 1, NNZ: len(b.Col)}
}

// DecodeBlock shares the block's slices, but for the values.
func (s *inMemory) DecodeBlock(i int, dst *csr.Block) error {
	val := append(dst.Val[:0], s.blocks[i].Val...)
	*dst = s.blocks[i]
	dst.Val = val
	return nil
}
