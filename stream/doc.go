// Package stream computes products with a stored sparse matrix in passes: each
// pass reads every block of rows once, in file order, within a memory budget.
//
// With A the stored N×n matrix (rows a_i), a [Matrix] offers
//
//	Apply     G·X = Σ_i a_i (a_iᵀ X)      n×l → n×l   the Gram operator AᵀA, in one read
//	Project   W = A·V, AᵀW, R of W = QR   n×k → N×k   the finishing pass, in one read
//	Mul       A·X                         n×l → N×l
//	MulTrans  Aᵀ·Y                        N×k → n×k
//	ApplyDilation  A·Y, Aᵀ·X                            both in one read
//
// No product of A with itself is ever formed. A Matrix satisfies
// solver.Matrix, solver.Operator and solver.Meter without either package
// knowing the other.
//
// # Same bits
//
// Rows are added in units: blocks or, of a matrix of few blocks, equal parts of
// them. The sum over units is split into a fixed number of lanes: unit i belongs
// to lane i mod P, a lane adds its units in ascending order into its own
// accumulator, and the lanes are added in order at the end. P is a function of
// the matrix and of the width of X only (see lanes), and so are the units (see
// parts). It is two at least where there are entries enough, so that two workers never
// hand sums from one's cache to the other's. Workers only decide when a unit is decoded and who adds it, or which
// stripe of its columns, never where or in which order it is added to its lane,
// and the budget only decides what is decoded again in the next pass. So results are
// identical bit by bit for any number of workers and any memory budget; block
// boundaries do not depend on the shard size, so neither do results.
//
// Workers are the caller and helpers of package team, which stay awake between
// passes and sweeps that follow one another closely, and are not waited for if they
// come late. Each has lanes that it prefers, whose sums may still be in its cache.
//
// What a machine can change are the last bits, by the instructions it has
// ([Plan.Kernel]): amd64 processors with AVX2 and FMA and those with AVX-512
// give the same bits as one another; amd64 processors without, and builds with
// the tag noasm, others; and other architectures, on which the compiler fuses
// multiply-add as it sees fit, others again.
//
// # Scale
//
// Where ‖A‖_F is below 2⁻¹⁰⁰ or above 2¹⁰⁰, squares of values may leave the range of a
// float64. All products are then those of 2^−e·A ([Matrix.Exponent]) and ‖2^−e·A‖_F is
// near 1: a table of values is multiplied by 2^−e once, other values when they are
// decoded. Multiplying by a power of two is exact, so all but the exponents of the
// results is as if A had been scaled before. Other matrices are left as they are.
//
// # Memory
//
// [New] plans before anything is read: accumulators, scratch for the blocks in
// flight, all of it allocated once and as large as it gets, a little for garbage, spans of the store that are read ahead (mapped, or in buffers), and,
// with what is left of the budget, blocks kept decoded from the first pass on. A decoded entry takes 2 to 12 bytes (csr.Block): 2 where the
// store has at most 65,536 columns and one value, as graphs have, 3 where it has
// a table of values, which the kernels look up themselves. A budget that cannot work is refused with the numbers
// ([BudgetError]).
//
// Where even the vectors are too large, they lie in a [Space], in files for
// example. A pass then holds two columns at least, or three where there are two lanes: one of x, which rows of A are
// multiplied with in any order, and those of sums; x is read and the result written
// once, window by window. With memory for fewer columns than a product has, it is
// made in several reads of the matrix, and its bits are those of all columns
// together: a column's sums are formed in the order in which its panel's are, and
// in the lanes of the whole product. W of a [Matrix.Project] that takes several
// reads waits in the Space, column by column, for the last one, which hands out
// its rows.
//
// # Cost
//
// For each entry and each 16 columns of X, a resident pass reads from memory its
// 2 to 12 decoded bytes, and from the caches a row of x and a row of y, which it
// also writes: 8·l bytes each, whole lines of 64. It does 4·l operations. What
// bounds it, on one core of the machine of the figures (Zen 4 at 3.65 GHz, of
// whose memory a core reads 22 GB/s in order), in nanoseconds an entry:
//
//	memory   0.09 for 2 bytes, 0.14 for 3, 0.55 for 12
//	loads    0.7 for up to 4 columns: 2½ each for the dot and the axpy, two or
//	         so a cycle (columns and codes are loaded four at a time), and a store
//	lines    up to 1.6 for 8 columns and 3.3 for 16, if none is in the first-level
//	         cache: one of x comes from the second, one of y comes and goes
//	         back, at 32 bytes a cycle
//
// Measured (GDSVD_STORES=… go test ./stream -bench Store), the best run, with
// MNIST, MovieLens 1M and the shape of MovieLens 10M: 0.93 to 1.3 for a column,
// 1.2 to 1.5 for 4, 1.5 to 1.9 for 8, 2.7 to 3.5 for 16. Rows of a few entries
// take twice as long: the end of each is a wrong guess of the processor's, once
// in the dot and once in the axpy.
//
// A streaming pass decodes besides (csr, BenchmarkDecode): 0.5 to 0.65 with values
// from a table, 0.8 with float64, of which 0.45 are the columns and the rest is 8 bytes
// that come from memory, are summed on the way, and are written. That is with
// AVX-512; with AVX2 alone 0.5 to 0.7, and 1.1.
//
// From a disk, blocks are read in spans of up to 2 MiB, one ahead of those that are
// being decoded, by the workers themselves: each begins the next read when it has given a
// span back, and no goroutine waits for a processor to do so. What the page cache
// cannot hold is read past it (package csr, "Reading ahead"), which takes 0.03
// core-seconds a GiB, where reading through the cache and the map takes 0.15 to
// 0.4. Measured (bench/disk/results), a cold pass over 3 GiB within 256 MiB takes
// 1.04 to 1.12 times as long as a warm one where values are from a table, and
// about as long as the disk where they are float64.
package stream
