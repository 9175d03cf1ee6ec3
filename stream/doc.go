// Package stream makes passes over a sparse matrix within a memory budget: each
// pass reads every block of rows once, in file order.
//
// [Matrix] is a [solver.Matrix] over the blocks of a [Source]: a store ([New]), a matrix in
// memory ([FromSparse]), or one that is made as it is read ([NewFrom]). A
// [solver.Pass] says what is wanted of a read; no product of A with itself is formed.
//
// A [Sided] source has diagonal and low-rank factors about its blocks, which passes apply to the vectors
// (package view).
//
// # Same bits
//
// Rows are added in tasks: blocks or, of a matrix of few blocks, equal parts of
// them. The sum over tasks is split into a fixed number of lanes: lane k of P adds
// the tasks k, k+P, … in ascending order into its own accumulator, and
// the lanes are added in order at the end. Tasks and P are functions of
// the matrix and of the number of columns (see parts and lanes). Workers only decide when a
// task is decoded and who adds it, the budget only what is decoded again in the next pass.
// So results are identical bit by bit for any number of workers, any budget and any
// size of shards.
//
// The instructions of the machine ([Plan.Kernel]) can change the last bits: amd64 processors
// with AVX2 and FMA and those with AVX-512 give the same; amd64 processors without and builds
// with the tag noasm give others; and so do other architectures, whose compilers fuse
// multiply-add as they see fit.
//
// # Scale
//
// Where ‖A‖_F is below 2⁻¹⁰⁰ or above 2¹⁰⁰, squares of values may leave the range of a
// float64. All products are then those of 2^−e·A (solver.Info.Exponent), whose norm is
// near 1: a table of values is multiplied by 2^−e once, other values when they are
// decoded. That is exact. Other matrices are left as they are.
//
// # Memory
//
// [New] plans before anything is read: accumulators, scratch for the blocks in
// flight, both allocated once and as large as they get, spans of the store that are read
// ahead, some garbage, and, with what is left of the budget, blocks kept decoded from the first
// pass on, at 2 to 12 bytes an entry (csr.Block). A budget that cannot work
// is refused with the numbers ([BudgetError]).
//
// Where even the vectors are too large, they lie in a solver.Space, in files for
// example, and are gone through window by window. With memory for the sums of fewer
// columns than a pass has, the matrix is read several times, for some columns each. The bits
// are those of all columns together.
package stream
