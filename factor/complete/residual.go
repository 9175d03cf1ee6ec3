package complete

import (
	"sync"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/stream"
)

// residual is the matrix P_Ω(A − μ − b − c − Z), in the blocks of A.
type residual struct {
	stream.Source
	m     *model
	norm  float64
	lanes sync.Pool // of *lane
}

func (r *residual) Fingerprint() string  { return "" }
func (r *residual) Norm() (float64, int) { return r.norm, 0 }

// DecodedSize implements stream.Source: values are float64s, whatever they are in A.
func (r *residual) DecodedSize(rows, nnz int64) int64 {
	const page = 8 << 10
	return r.Source.DecodedSize(rows, nnz) + (8*nnz+page-1)/page*page
}

// Scratch implements stream.Source.
func (r *residual) Scratch() *csr.Block {
	b := r.Source.Scratch()
	if cap(b.Val) == 0 {
		b.Val = make([]float64, 0, r.MaxBlock().NNZ)
	}
	return b
}

// DecodeBlock implements stream.Source.
func (r *residual) DecodeBlock(i int, dst *csr.Block) error {
	kept := cap(dst.Val) == 0 // for good: it is to hold nothing that is not used
	if err := r.Source.DecodeBlock(i, dst); err != nil {
		return err
	}
	l, _ := r.lanes.Get().(*lane)
	if l == nil {
		l = new(lane)
	}
	defer r.lanes.Put(l)
	l.block(r.m, dst)
	dst.Val = append(dst.Val[:0], l.val...)
	dst.Code, dst.Table = dst.Code[:0], nil
	if kept {
		dst.Code = nil
	}
	return nil
}
