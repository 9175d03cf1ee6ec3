// Package solver computes the k leading singular triplets of a matrix that is known only through passes over its rows, and
// certifies them.
//
// Given A, N×n, it finds σ₁ ≥ … ≥ σ_k ≥ 0 and orthonormal u_i, v_i with
//
//	A v_i = σ_i u_i,  Aᵀ u_i = σ_i v_i.
//
// The v_i are eigenvectors of the Gram operator G = AᵀA with eigenvalues λ_i = σ_i². A product of G with a block of vectors
// costs one read of A, and reads are what counts when A does not fit in memory: everything here is measured in passes. The
// package knows no files; a Matrix, or for Eigen an Operator, is all it needs from the world.
//
// SVD runs a method: package method/all lists those there are and says how to choose, and without one in Settings the choice is
// that of package cost. It ends with a pass that measures the residuals of the very triplets that are returned, on A itself
// (Result), and goes on where they miss the tolerance (StopRule). What may have been missed is bounded (Outside). A run that is
// cancelled or reaches a limit is not an error: it returns a Status and a Result with what there is, and a Checkpointer keeps
// what is needed to go on with the same bits. Same seed and same products give the same bits.
//
// In the words of the paper "k-SVD with Gradient Descent", whose methods these are, M is a symmetric matrix with eigenpairs
// σ_i, u_i: read G for M and λ for its σ. The algorithms as printed contain two slips: the loops test ε^σ twice where the
// second test must be ε^u, and Algorithm 2 multiplies by M where it must multiply by the deflated M_ℓ. The text of the paper
// has both right, and so has this package.
//
// # Words
//
//	pass           one read of A, with a block of columns
//	operator       the symmetric M that a method sees of A (OperatorKind): AᵀA, the dilation, or A
//	method         an algorithm with its settings; what it is stands in its Traits
//	recurrence     a method at work: multiplied block in, Ritz pairs and next block out
//	Ritz pair      (θ, v) with θ = vᵀMv of a unit vector v in the span so far
//	residual       ‖Mv − θv‖; of a triplet max(‖A v − σu‖, ‖Aᵀu − σv‖)/σ₁
//	deflation      keeping what has been found out of what is searched
//	locking        accepting a vector: the operator is deflated by it from then on
//	copies         equal eigenvalues; a space grown from b columns contains b copies
//	certificate    residuals and values measured by the finishing pass
//	evidence       what random start vectors say about values that were not found
//	arena          allocates the tall blocks of one run
//	window         rows of a tall block in files that are in memory
//	segment, chunk rows that one worker adds up in order; rows of it that stay in the cache
//	state          the named parts of a recurrence that a checkpoint holds
package solver
