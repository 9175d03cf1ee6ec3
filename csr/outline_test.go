package csr_test

import (
	"testing"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
)

// TestOutline checks that the plan of a store of equal rows has the shape and the blocks of the store, but no contents.
func TestOutline(t *testing.T) {
	rows := make([][]csrtest.Entry, 9000)
	for i := range rows {
		for j := range 40 {
			rows[i] = append(rows[i], csrtest.Entry{Col: uint32(7 * j), Val: 1})
		}
	}
	store := csrtest.Build(t, 300, rows, csr.CreateOptions{})
	plan := csr.Outline{Rows: store.Rows(), Cols: store.Cols(), NNZ: store.NNZ(), Values: store.Values(), Size: store.Size()}.Plan()
	if plan.Rows() != store.Rows() || plan.Cols() != store.Cols() || plan.NNZ() != store.NNZ() || plan.NumBlocks() != store.NumBlocks() {
		t.Errorf("%d × %d, %d entries, %d blocks; want %d × %d, %d, %d", plan.Rows(), plan.Cols(), plan.NNZ(), plan.NumBlocks(),
			store.Rows(), store.Cols(), store.NNZ(), store.NumBlocks())
	}
	nnz, size := int64(0), int64(0)
	for i := range plan.NumBlocks() {
		p, s := plan.Block(i), store.Block(i)
		if p.FirstRow != s.FirstRow || p.Rows != s.Rows || p.NNZ != s.NNZ {
			t.Errorf("block %d is %+v, want %+v", i, p, s)
		}
		nnz, size = nnz+int64(p.NNZ), size+p.Size
	}
	if nnz != store.NNZ() || size != store.Size() {
		t.Errorf("%d entries in %d bytes, want %d in %d", nnz, size, store.NNZ(), store.Size())
	}
	if got, want := plan.MaxBlock(), store.MaxBlock(); got.NNZ != want.NNZ || got.Rows != want.Rows {
		t.Errorf("the largest block is %+v, want %+v", got, want)
	}
	if !plan.Planned() || store.Planned() {
		t.Error("which of them is planned?")
	}
	if err := plan.DecodeBlock(0, plan.Scratch()); err == nil {
		t.Error("a block that does not exist has been decoded")
	}
	if err := plan.Close(); err != nil {
		t.Error(err)
	}
	for _, o := range []csr.Outline{{}, {Rows: 1, Cols: 1}, {Rows: 3, Cols: 1 << 30, NNZ: 1 << 29, Size: 1 << 31}, {Rows: 1 << 22, Cols: 1}} {
		p := o.Plan()
		if p.Rows() != o.Rows || p.NNZ() != o.NNZ || o.Rows > 0 && p.NumBlocks() == 0 {
			t.Errorf("%+v: %d rows in %d blocks", o, p.Rows(), p.NumBlocks())
		}
	}
}
