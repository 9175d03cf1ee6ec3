package solver

// Methods lists the methods, one line each, in the order in which help does.
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
func Methods() []Method {
	return []Method{
		GradientDescent{},
		Polyak{},
		Nesterov{},
		NesterovGeneral{},
		Block{},
		Krylov{},
		Power{},
	}
}
