package stream

import (
	"math"
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"gonum.org/v1/gonum/mat"
)

// equalRows is a matrix of many equal rows, one per block, with a one in every other column.
// Decoding a block costs nothing.
type equalRows struct {
	rows, cols int
	ptr        []uint32
	col        []uint32
	val        []float64
}

const apart = 2 // columns

func newEqualRows(rows, entries int) *equalRows {
	m := &equalRows{rows: rows, cols: apart * entries, ptr: []uint32{0, uint32(entries)}}
	for i := range entries {
		m.col, m.val = append(m.col, uint32(apart*i)), append(m.val, 1)
	}
	return m
}

func (m *equalRows) Rows() int64         { return int64(m.rows) }
func (m *equalRows) Cols() int64         { return int64(m.cols) }
func (m *equalRows) NumBlocks() int      { return m.rows }
func (m *equalRows) Fingerprint() string { return "" }
func (m *equalRows) Prefetch(int, int)   {}
func (m *equalRows) Release(int, int)    {}

func (m *equalRows) Norm() (float64, int) {
	return math.Sqrt(float64(m.rows) * float64(len(m.col))), 0
}

func (m *equalRows) MaxBlock() csr.MaxBlock {
	return csr.MaxBlock{Rows: 1, NNZ: int64(len(m.col)), Size: 1 << 10}
}

func (m *equalRows) Block(i int) csr.BlockInfo {
	return csr.BlockInfo{FirstRow: int64(i), Rows: 1, NNZ: len(m.col), Size: 1 << 10}
}

func (m *equalRows) Scratch() *csr.Block { return new(csr.Block) }

func (m *equalRows) DecodedSize(rows, nnz int64) int64 { return 4*(rows+1) + 12*nnz }

func (m *equalRows) DecodeBlock(i int, dst *csr.Block) error {
	dst.FirstRow, dst.RowPtr, dst.Col, dst.Val = int64(i), m.ptr, m.col, m.val
	return nil
}

// TestBeyond32Bits multiplies with more entries than an int32 counts and more elements than a
// uint32 counts: all numbers are integers, so the result is exact.
func TestBeyond32Bits(t *testing.T) {
	if !longtest.On() {
		t.Skip("2³¹ entries take seconds")
	}
	const rows, entries = 1<<14 + 1, csr.BlockNNZ
	src := newEqualRows(rows, entries)
	m := must.Get(NewFrom(src, Options{Memory: 128 << 20}))(t)
	if n, places := m.plan.nnz, m.src.Rows()*int64(m.info.Cols); n <= 1<<31 || places <= 1<<32 {
		t.Fatalf("%d entries in %d places", n, places)
	}
	x, y := mat.NewDense(m.info.Cols, 1, nil), mat.NewDense(m.info.Cols, 1, nil)
	for i := range m.info.Cols {
		x.Set(i, 0, float64(i%3))
	}
	dot := 0.0 // the product of a row with x
	for _, c := range src.col {
		dot += float64(c % 3)
	}
	must.Do(t, m.apply(t.Context(), y, x))
	for i := range m.info.Cols {
		want := 0.0
		if i%apart == 0 {
			want = rows * dot
		}
		if got := y.At(i, 0); got != want {
			t.Fatalf("entry %d of the product is %v, want %v", i, got, want)
		}
	}
}
