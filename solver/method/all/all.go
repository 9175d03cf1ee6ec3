// Package all lists the methods. A method finds the leading eigenvectors of a symmetric operator M from products with M,
// one pass each. How to choose a method:
//
// gd.Descent and power.Iteration need about log(1/tol)·λ_i/(λ_i−λ_{i+1}) passes for the i-th vector, the power method
// half as many as gradient descent with η = ½. Choose gradient descent to follow the paper, or with η near 1 for nearly
// the speed of the power method with an iteration that averages the old and the new vector.
//
// momentum.Polyak and momentum.Nesterov add β times the last step, and need the root of λ_i/(λ_i−λ_{i+1}) instead. The
// best β is different for every vector, and a wrong β loses all of the gain: leave β automatic. Choose Nesterov to find
// one vector at a time with few passes or little memory; Polyak needs memory for one vector less. NesterovGeneral is the
// scheme with a convergence proof; it is slower.
//
// All of these find one vector at a time: k vectors take k times the passes of one. A pass over many vectors costs
// little more than a pass over one, as long as it waits for reads of A. block.Descent is gradient descent with momentum
// for l > k vectors at once: vector i converges with the factor exp(−arcosh(λ_i/λ_{l+1})), which depends on the gap to
// the first value beyond the block. Its memory is three blocks. lanczos.Krylov keeps the multiplied blocks in a basis
// and takes the best vectors from the span of the basis. No method needs fewer products or, with the same width, fewer
// passes; a wide block takes few passes and many products, a narrow one the reverse (docs/methods.md). Between two
// passes Krylov takes 4njb operations, with j vectors in the basis, and Descent about 12nl²; a pass takes 4·nnz for
// every column. If a column of A has ten entries, as in the adjacency matrix of a sparse graph, the operations between
// passes take most of the time. Then choose a small b.
//
// If Settings have no method, package cost chooses one: Krylov nearly always, with a small b and a small basis if memory
// is tight, and a method of one vector if n×2k numbers do not fit into memory.
package all

import (
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// Methods returns all methods, in the order of the help of the command.
func Methods() []method.Method {
	return []method.Method{
		gd.Descent{},
		momentum.Polyak{},
		momentum.Nesterov{},
		momentum.NesterovGeneral{},
		block.Descent{},
		lanczos.Krylov{},
		power.Iteration{},
	}
}
