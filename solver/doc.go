// Package solver computes the k leading singular triplets of a matrix that is
// known only through passes over its rows, and certifies them.
//
// # Problem
//
// Given A, N×n, find σ₁ ≥ … ≥ σ_k ≥ 0 and orthonormal u_i, v_i with
//
//	A v_i = σ_i u_i,  Aᵀ u_i = σ_i v_i.
//
// The v_i are eigenvectors of the Gram operator G = AᵀA with eigenvalues
// λ_i = σ_i². A product of G with a block of vectors costs one read of A, and
// reads are what counts when A does not fit in memory: everything here is
// measured in passes. The package knows no files; a Matrix, or for Eigen an
// Operator, is all it needs from the world.
//
// In the words of the paper "k-SVD with Gradient Descent", whose methods these
// are, M is a symmetric matrix with eigenpairs σ_i, u_i. Read G for M and λ for
// its σ.
//
// # Methods
//
// A Method is one recurrence for the leading eigenvector of a symmetric
// operator M. All start from x₀ = Mz with a random unit vector z.
//
// GradientDescent minimises ¼‖M − xxᵀ‖²_F with steps η/‖x‖² (Algorithm 1).
// Written out, x⁺ = (1−η)x + (η/‖x‖²)Mx. On a matrix of rank one this is
// Heron's iteration for √λ, and quadratically convergent; in general it
// converges linearly with the factor (1−η) + ηλ₂/λ₁. The angle to the leading
// eigenvector never grows.
//
// Power multiplies and normalises (Algorithm 2); its factor is λ₂/λ₁, so it
// needs about half the passes of gradient descent with η = ½.
//
// Both need about log(1/tol)·λ_i/(λ_i−λ_{i+1}) passes for the i-th vector. Choose
// Power for fewest passes of the two, GradientDescent to follow the paper or,
// with η near 1, for nearly the speed of Power from an iteration that averages
// rather than replaces.
//
// Nesterov and Polyak add β times the last step to gradient descent. With the
// right β the factor is 1 − √(η(1−λ₂/λ₁)) and the passes grow with the root of
// λ_i/(λ_i−λ_{i+1}). The right β is another one for every vector, and a wrong one
// loses all of the gain; both find it themselves unless they are told. Choose
// Nesterov where one vector at a time is wanted, for fewest passes or least
// memory; Polyak needs one vector of memory less. NesterovGeneral is the scheme
// with a proof, and slower.
//
// All of these find one vector at a time: k vectors take k times the passes of
// one. A pass over many vectors costs little more than over one, as long as
// reading A is what it waits for, and two methods make use of that.
//
// Block is gradient descent with momentum for l > k vectors at once. They are
// kept apart by orthonormalisation instead of deflation, Rayleigh–Ritz sorts
// them out in every pass, and the Ritz values say what β should be. Vector i
// converges with the factor exp(−arcosh(λ_i/λ_{l+1})): what counts is no longer
// the gap to the next value but to the first that the block has no room for.
// Memory is three blocks.
//
// Krylov keeps everything it has multiplied in a basis, block Lanczos, and takes
// from it the best vectors there are. No method needs fewer products or, with
// the same width, fewer passes. It restarts with the best part of the basis when
// there is no room for more. A wide block takes few passes and many products, a
// narrow one the reverse:
//
//	passes (products)   MovieLens 1M, k=10   k=50          MNIST, k=10
//	Krylov, b = 2       23 (54)
//	Krylov, b = 4       16 (70)
//	Krylov, b = 16      11 (170)             25 (434)      10 (154)
//	Block               15 (290)             33 (2034)     16 (310)
//	Nesterov            626 (635)
//
// (tolerance 10⁻⁸, certificate included, Block with l = 20 and 62).
//
// Choose chooses, from what these cost on a reference machine, and a Method of
// nil in Settings is its choice: Krylov nearly always, with b from 1 to 8 when A
// stays in memory and wider when every pass reads a slow disk, since no method
// needs fewer products; a narrow b with a small basis when memory is tight, and
// one of the methods of one vector when there is none for n×2k. Name one to
// follow the paper, or to see what happens.
//
// What is between two passes, orthonormalisation above all, takes 4njb operations
// for Krylov with j vectors in the basis and about 12nl² for Block, where a pass
// takes 4·nnz for every column. It is negligible if a column of A has many more
// entries than the basis or the block vectors, and most of the time if it has
// ten, as in the adjacency matrix of a sparse graph: then take b small.
//
// The algorithms as printed in the paper contain two slips: the loops test
// ε^σ twice where the second test must be ε^u, and Algorithm 2 multiplies by M
// where it must multiply by the deflated M_ℓ. The text of the paper has both
// right, and so has this package. What is misprinted about acceleration is said
// at Nesterov and NesterovGeneral.
//
// # Operators
//
// What a method sees of A is chosen by Settings.Operator: the Gram operator;
// the Dilation [0 A; Aᵀ 0], whose eigenvalues are ±σ; or A itself, if it is
// Symmetric and semidefinite. The last two do not square the values: small ones
// stay visible, and gaps stay as small as they are. The certificate is the same
// for all.
//
// # Scale
//
// Squares of values beyond 10¹⁵⁴ or below 10⁻¹⁶⁰ are no numbers any more, though σ is.
// A Matrix of such values multiplies with 2^−e·A instead, where e = Info.Exponent is
// a function of ‖A‖_F alone: that is exact. A run deals with 2^−e·A throughout, its
// certificate and checkpoints included, and σ is multiplied by 2^e where it leaves the
// run, in events and results. So any A of which ‖A‖_F is a float64 is solved like any
// other, subnormal values included. A σ that is smaller than the smallest number is 0.
//
// # Deflation
//
// Found vectors must be kept from being found again. Algorithm 1 subtracts:
// M_{ℓ+1} = M_ℓ − λ̂ v̂v̂ᵀ. This is Plain, applied as a correction of each
// product. Its weakness is that v̂ is not quite an eigenvector: with an error ρ
// = Mv̂ − λ̂v̂ the subtraction leaves behind a coupling of v̂ and the rest, which
// tilts later vectors and which the residual computed with the deflated
// operator does not contain. On a matrix with σ₁ = 31.6 and a cluster at 1,
// vectors that look accurate to 10⁻⁶ are wrong by 2·10⁻³.
//
// Projected works with (I−VVᵀ)G(I−VVᵀ) and keeps V orthonormal. It costs the
// same and no pass, the coupling is of the size of the residual and no more,
// and it is the default.
//
// Block and Krylov find their vectors together and need deflation only where
// they go on after a first group. A space grown from b vectors contains b copies
// of a repeated eigenvalue and no more; where Krylov has found as many, it looks
// for others from random vectors before the search is over.
//
// # When to stop
//
// A vector v of unit norm with λ = vᵀGv and σ = √λ is the right half of a
// triplet with u = Av/σ, whose left equation holds exactly and whose right one
// is off by ‖Gv − λv‖/σ. StopResidual accepts v when this is at most half of
// Tol·σ₁, and costs nothing, since Gv is what the recurrence has just asked
// for. Vectors that are found together are accepted together, and if no other
// was deflated before, at 0.9 of Tol·σ₁: nothing is hidden from them. The
// start is scaled so that ‖x₀‖² = ‖Mz‖: multiplying A by a power of two then
// changes the exponents of the results and nothing else. (In the Dilation and with a
// Symmetric A some iterates are as long as √σ; there that holds for powers of four.)
//
// StopPaper is the rule of Algorithms 1 and 2: the changes of v and of λ in the
// last step are at most Tol. It is absolute, hence not invariant under scaling,
// and says nothing about the error; it is there to reproduce the paper.
//
// Products carry rounding errors of a few ε·λ₁ (ε = 2⁻⁵²). A vector whose
// residual gets there, or stops improving near it, is accepted as it is; an
// operator whose products are no larger is zero, and any orthonormal vectors
// complete the result. The Gram operator squares the condition: a σ below about
// 10⁻⁸σ₁ is invisible to it.
//
// # Certificate
//
// The methods see G only, and deflated at that. SVD therefore ends with one
// more pass that computes W = AV, AᵀW, and the QR factorisation of W. The SVD
// of the small factor R rotates V and W into the best triplets their span
// contains, with values that are accurate to ε·σ₁ again; from AᵀW follow the
// residuals of the very triplets that are returned, on A itself:
//
//	r_i = max(‖A v_i − σ_i u_i‖, ‖Aᵀ u_i − σ_i v_i‖) / σ₁.
//
// If one of them exceeds Tol the solver goes on with that vector, and certifies
// again. What is reported is what was measured; what rounding may hide of it is
// reported beside it, as the floor. The true residual is at most twice the measured
// one plus the floor, and a triplet counts as converged if both are within Tol.
// |σ_i − σ| ≤ r_i·σ₁ for some singular value σ of A (Weyl). That it is the i-th is
// another question.
//
// # Leading, not only singular
//
// A residual says that a triplet is singular, never that it is among the k leading
// ones: in the span of given vectors everything may be singular, and nothing
// leading. Result.Outside says how large a value can be that was missed: none beyond
// those found is above its Bound, but for its Probability.
//
// The evidence comes from random vectors. A space that has grown from a random
// block, after so many products that its largest Ritz values have settled, can have
// overlooked a larger eigenvalue only if the block was nearly orthogonal to its
// eigenvector, and how probable that is is known: see evidence for the formula. It
// is Krylov's own space where that has not been restarted, at no cost. Otherwise
// the bound is √(‖A‖²_F − Σσ²), which is weak and never wrong; it may well be above
// the least value found, and then the result says that something may be hidden
// there, without being any worse than a result without a bound.
//
// A run from given vectors, or one that a checkpoint says began so, does not end
// without evidence (Outside.Leading): a bound within 2·Tol·σ₁ of the least value found, or below what
// the operator can see. Krylov multiplies the given vectors together with
// max(2, k/10, b) random ones in one wide block, whose space is the evidence, and
// Block has at least as many in its own. For other methods than Krylov, and where that space had to be restarted before it was enough, the
// deflated operator is multiplied with random vectors orthogonal to those found, at
// least max(2, k/10), as long as it takes (PhaseOutside). Should something larger turn up, what was
// given is forgotten and the search begins from random vectors. A limit that ends the
// run before that makes its status that of the limit, whatever the residuals are.
//
// Values at roundoff are set to exactly 0, and their left vectors, which A does
// not determine, complete the others to an orthonormal set.
//
// # Where vectors lie
//
// All that grows with n lies in memory, or in a Space if Settings has one: in
// files that are mapped into memory, when there is too little of it even for one
// block. The arithmetic does not see the difference, so that the bits are the
// same. Everything that is done between two passes goes through the rows of some
// blocks from the first to the last, a window at a time: the next one is fetched, and
// the one that has been passed leaves memory (Arena). What is there is about 16 MiB,
// whatever n, the method, and the number of its vectors are: see SpaceFootprint. What
// loops have gone over is counted (Stats). A loop reads no more columns than it needs,
// since a Lanczos basis is kept in panels of few columns, and the start vectors,
// the vectors found, those of the certificate, and their products with G each lie
// in a block of their own. Left vectors go to their RowStore row by row as before,
// and a checkpoint is written from where the vectors lie: neither takes memory.
//
// What the Space could not keep is an error of the run: there was no room for a
// block, a page could not be read, a write has failed meanwhile.
//
// # Ends
//
// A run that is cancelled or reaches its limit of passes, or its deadline, is
// not an error: it returns a Status and a Result with what there is. Same seed
// and same products give the same bits.
//
// # Stopping and going on
//
// Between two passes a run is a handful of blocks and numbers: the found
// vectors, the State of the recurrence, start vectors not used yet, and counts.
// A Checkpointer says when and where these are written; a run given what
// ReadCheckpoint returns goes on from there, with the bits of the run that
// never stopped and in as many passes. A checkpoint knows the settings that
// determine the result, the shape of the matrix and its ID, and is
// refused by the name of what differs (MismatchError); limits, the Observer,
// and the left vectors may differ. Every bit of it is covered by a CRC-32C.
//
// # Starting from a result
//
// Settings.Init takes the right vectors of any result: for more triplets, a
// smaller tolerance, or a matrix that has changed a little. Krylov and Block
// make them a part of their first block. For other methods one pass certifies all of them; those within
// the tolerance are done, and the others are searched for from their best
// approximations in the span. Then it is made sure that they are the leading ones.
// On MovieLens 1M, k = 10, starting from the result for 99 % of the ratings takes
// Krylov 7 instead of 12 passes to 10⁻⁴ and 12 instead of 16 to 10⁻⁸, of which the
// evidence takes 3, with wider blocks: 112 products instead of 54, and 182 instead
// of 70.
package solver
