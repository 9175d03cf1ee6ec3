package stream

import "github.com/gdsvd/gdsvd/csr"

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
	// MaxBlock bounds what blocks take; Size is 0 where nothing is read.
	MaxBlock() csr.MaxBlock
	NumBlocks() int
	// Block describes block i; NNZ may be more than the block really has.
	Block(i int) csr.BlockInfo
	// DecodedSize is the memory of a decoded block of the given rows and entries.
	DecodedSize(rows, nnz int64) int64
	// Scratch is a block to decode any of the blocks into, one after the other.
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
