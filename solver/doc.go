// Package solver computes the k leading singular triplets of a matrix that is known only through passes over its rows, and
// certifies them.
//
// Given A, N×n, it finds σ₁ ≥ … ≥ σ_k ≥ 0 and orthonormal u_i, v_i with
//
//	A v_i = σ_i u_i,  Aᵀ u_i = σ_i v_i.
//
// The v_i are eigenvectors of the Gram operator G = AᵀA with eigenvalues λ_i = σ_i². A product of G with a block of vectors
// costs one read of A, and reads dominate when A does not fit in memory: all costs are measured in passes. The package
// reads no files: its input is a Matrix or, for Eigen, an Operator.
//
// SVD runs a method. Package method/all lists the methods and explains how to choose one; package cost chooses one if
// Settings has none. SVD ends with a pass that measures the residuals of the returned triplets on A itself (Result), and
// goes on with triplets that miss the tolerance (StopRule). Outside bounds the values that may have been missed. A run
// that is cancelled or reaches a limit is not an error: it returns a Status and a Result with the triplets found so far,
// and a Checkpointer saves the state, so that the run can be continued with the same bits. The same seed and the same
// products give the same bits.
//
// The methods are those of the paper "k-SVD with Gradient Descent". Its M is a symmetric matrix with eigenpairs σ_i,
// u_i: read G for M and λ for its σ. The printed algorithms contain two misprints: the loops test ε^σ twice where the
// second test must be ε^u, and Algorithm 2 multiplies by M where it must multiply by the deflated M_ℓ. The text of the
// paper has both right, and this package follows the text.
//
// # Words
//
//	pass           one read of A, with a block of columns
//	operator       the symmetric M that a method multiplies with (OperatorKind): AᵀA, the dilation of A, or A
//	method         an algorithm with its settings, described by its Traits
//	recurrence     a running method: it takes a product, and returns Ritz pairs and the next block
//	Ritz pair      (θ, v) with θ = vᵀMv of a unit vector v in the span so far
//	residual       ‖Mv − θv‖; of a triplet max(‖A v − σu‖, ‖Aᵀu − σv‖)/σ₁
//	deflation      keeping vectors found out of the search for further ones
//	locking        accepting a vector: the operator is deflated by it from then on
//	copies         equal eigenvalues; a space grown from b columns contains b copies
//	certificate    residuals and values measured by the finishing pass
//	evidence       a bound, from random start vectors, on values that were not found
//	arena          allocates the tall blocks of one run
//	window         rows of a tall block in files that are in memory
//	segment, chunk rows that one worker adds up in order; rows of a segment that fit in the cache
//	state          the named parts of a recurrence that a checkpoint holds
package solver
