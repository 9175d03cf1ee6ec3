// Package all lists the methods. A method finds the leading eigenvectors of a symmetric operator M from products with it, one
// pass each; how to choose one:
//
// gd.Descent and power.Iteration need about log(1/tol)·λ_i/(λ_i−λ_{i+1}) passes for the i-th vector, the power method half as
// many as gradient descent with η = ½. Choose gradient descent to follow the paper, or with η near 1 for nearly the speed of
// the power method from an iteration that averages rather than replaces.
//
// momentum.Polyak and momentum.Nesterov add β times the last step, and need the root of λ_i/(λ_i−λ_{i+1}) instead. The right β
// is another one for every vector, and a wrong one loses all of the gain: leave it to be found. Choose Nesterov where one
// vector at a time is wanted, for fewest passes or least memory; Polyak needs one vector of memory less. NesterovGeneral is the
// scheme with a proof, and slower.
//
// All of these find one vector at a time: k vectors take k times the passes of one. A pass over many vectors costs little more
// than over one, as long as reading A is what it waits for. block.Descent is gradient descent with momentum for l > k vectors
// at once: vector i converges with the factor exp(−arcosh(λ_i/λ_{l+1})), so that what counts is the gap to the first value that
// the block has no room for. Its memory is three blocks. lanczos.Krylov keeps what it has multiplied in a basis and takes the
// best vectors from there. No method needs fewer products or, with the same width, fewer passes; a wide block takes few passes
// and many products, a narrow one the reverse (docs/methods.md). Between two passes Krylov takes 4njb operations, with j
// vectors in the basis, and block about 12nl², where a pass takes 4·nnz for every column: most of the time if a column of A has
// ten entries, as in the adjacency matrix of a sparse graph. Then take b small.
//
// Without a method in Settings the choice is that of package cost: Krylov nearly always, with a narrow b and a small basis when
// memory is tight, and a method of one vector when there is none for n×2k.
package all

import (
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// Methods lists the methods, one line each, in the order in which help does.
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
