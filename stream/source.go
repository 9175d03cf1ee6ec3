// Package stream makes passes over a sparse matrix within a memory budget: each pass reads every block of rows once, in file
// order.
//
// [Matrix] is a [solver.Matrix] over the blocks of a [Source]: a store ([New]), a matrix in memory ([FromSparse]), or one that
// is generated as it is read ([NewFrom]). A [solver.Pass] says which products a read computes; no product of A with itself is
// formed.
//
// A [Sided] source has diagonal and low-rank factors about its blocks, which passes apply to the vectors (package view).
//
// # Same bits
//
// Rows are added in tasks: blocks or, in a matrix of few blocks, equal parts of blocks. The sum over tasks is split
// into a fixed number of lanes: lane k of P adds the tasks k, k+P, … in ascending order into its own accumulator, and
// the lanes are added in order at the end. Tasks and P are functions of the matrix and of the number of columns (see
// parts and lanes). Workers only decide when a task is decoded and which worker adds it, the budget only which blocks
// are decoded again in the next pass. So results are identical bit by bit for any number of workers, any budget and any
// size of shards.
//
// The instructions of the machine ([Plan.Kernel]) can change the last bits: amd64 processors with AVX2 and FMA and those with
// AVX-512 give the same bits; amd64 processors without them and builds with the tag noasm give others, and so do other
// architectures, whose compilers fuse multiply-add as they see fit.
//
// # Scale
//
// Where ‖A‖_F is below 2⁻¹⁰⁰ or above 2¹⁰⁰, squares of values may leave the range of a float64. All products are then those of
// 2^−e·A (solver.Info.Exponent), whose norm is near 1: a table of values is multiplied by 2^−e once, other values when they are
// decoded. That is exact. Other matrices are left as they are.
//
// # Memory
//
// [New] plans before anything is read: accumulators, scratch for the blocks in flight, both allocated once at their largest
// size, spans of the store that are read ahead, some garbage, and, with the rest of the budget, blocks kept decoded from the
// first pass on, at 2 to 13 bytes an entry (csr.Block). A budget that cannot work is refused with the numbers ([BudgetError]).
//
// Where even the vectors are too large, they lie in a solver.Space, in files for example, and are processed window by
// window. With memory for the sums of fewer columns than a pass has, the matrix is read several times, for some columns
// each. The bits are those of all columns together.
package stream

import (
	"context"

	"github.com/gdsvd/gdsvd/csr"
)

// Source is a matrix cut into blocks of rows, which a pass reads: a [csr.Store],
// or anything that can make them. The blocks are in ascending order of rows and
// hold all of them. DecodeBlock, Prefetch and Release are called
// concurrently; a decoded block must satisfy all that the doc of csr.Block
// says, on which unchecked kernels rely, and be the same every time.
type Source interface {
	Rows() int64
	Cols() int64
	// Fingerprint names the matrix, if it has a name (solver.Info.ID).
	Fingerprint() string
	// Norm is ‖A‖_F = m·2^exponent.
	Norm() (m float64, exponent int)
	// MaxBlock bounds rows, entries and encoded size of the blocks; Size is 0 if blocks are not read from storage.
	MaxBlock() csr.MaxBlock
	NumBlocks() int
	// Block describes block i; NNZ may be more than the block really has.
	Block(i int) csr.BlockInfo
	// DecodedSize returns the memory of a decoded block of the given rows and entries.
	DecodedSize(rows, nnz int64) int64
	// Scratch returns a block into which any of the blocks can be decoded, one after the other.
	Scratch() *csr.Block
	// DecodeBlock fills dst with block i. Its Val is dst's own: it may be changed
	// before the next block is decoded into dst.
	DecodeBlock(i int, dst *csr.Block) error
	// Prefetch says that blocks from … to−1, one or no more than 2 MiB less two pages
	// of a shard, will be decoded soon; Release says that they have been, or will not be.
	Prefetch(from, to int)
	Release(from, to int)
}

var _ Source = (*csr.Store)(nil)

// Range returns blocks from … to−1 of src as a matrix of their own, with their rows numbered from 0: the part of a
// matrix that one of several processes reads. Norm, Terms and MaxBlock stay those of src, so that all ranges are scaled
// alike and their sums add up to those of src. The range is Sided if src is.
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

// sidedRange is a range of a Sided source. RowSides gets the row numbers of that source.
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

// Scan reads every block of a source once, for sums over its entries. compute is called with rows of the source, whose
// values are not scaled, by any of o.Workers goroutines. The same goroutine then calls add with the same rows, after
// add has been called with all rows before them. o.Reserve is the memory that the two need. The error is a *BudgetError
// when the budget cannot work.
func Scan(ctx context.Context, src Source, o Options, compute, add func(worker int, b *csr.Block) error) error {
	o.Once, o.Space = true, nil
	m, err := NewFrom(src, o)
	if err != nil {
		return err
	}
	defer m.Close()
	m.scaling = &scaling{half: 1} // the sums are of the values themselves
	m.plan.parts = 1              // blocks are handed out whole: a worker at a part would wait for all parts before it
	turn := newSequencer(1)
	return m.eachTask(ctx, inOrder, 0, m.plan.Blocks, []*sequencer{turn}, func(worker int, u *task) error {
		if err := compute(worker, &u.block); err != nil {
			return err
		}
		return turn.inTurn(u.i, func() error { return add(worker, &u.block) })
	})
}
