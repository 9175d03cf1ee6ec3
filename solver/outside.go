package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/outside"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Outside bounds what a result may have missed: ‖A − AVVᵀ‖ ≤ Bound for the right
// vectors V that were found, so no singular value beyond those is larger. Leading says
// that Bound is no larger than the least value found: the values found are the leading
// ones. Otherwise one between the two could be hidden.
//
// The statement is wrong with at most the given Probability, which is one over the
// random vectors of the seed and not over matrices. It takes the vectors that were
// found for singular vectors, which they are to within their residuals.
//
// A residual says that a triplet is singular, never that it is among the k leading ones: in the span of given vectors
// everything may be singular, and nothing leading. The evidence comes from random vectors. A space that has grown from a
// random block, after enough products for its largest Ritz values to have settled, can have overlooked a larger
// eigenvalue only if the block was nearly orthogonal to its eigenvector, and how probable that is is known (method.Evidence). Or the
// bound is √(‖A‖²_F − Σσ²), which is never wrong, where that is small enough. A block has no part in more dimensions of an
// eigenspace than it has columns: where as many copies of the least value have been found, the bound is no less than that value.
//
// No run under StopResidual is Converged without evidence, but one with the Plain deflation that began at random vectors, in
// which nothing can be told apart from what has been found. Krylov's own space is the evidence, through a few restarts and at no
// cost at fine tolerances; it goes on for a few passes if its residuals are too large. Given vectors it mixes with random ones
// in its first block, and Block has at least max(2, k/10) random columns in its own. For other methods, and where Krylov's space was restarted more
// often, the deflated operator is multiplied with random vectors orthogonal to those found, as many as the method has columns and
// at least max(2, k/10), as long as it takes (PhaseOutside). Should something larger turn up, what has been found is
// forgotten and the search begins from random vectors. A limit that ends the run before that makes its status that of the limit.
//
// Values at roundoff are set to exactly 0, and their left vectors, which A does
// not determine, complete the others to an orthonormal set.
type Outside struct {
	// Steps is how many products of the operator with random vectors outside of
	// what was given and found the bound is made of; 0 if it is that of the
	// remaining energy, √(‖A‖²_F − Σσ²), which is never wrong.
	Steps       int
	Bound       float64
	Probability float64
	// Leading allows for 2·Tol·σ₁, as the least value may have moved by its residual
	// since the search compared it, and for what the operator cannot see.
	Leading bool
}

// WidestBlock is the number of columns of the widest block that a run for k triplets
// with a method multiplies.
func WidestBlock(m method.Method, k int) int {
	w := m.Traits(k).Width(k)
	return max(w, outside.Scouts(w, k))
}

// beyond returns the Outside of a result with the given values, descending, of a
// matrix with a known Frobenius norm.
func (r *run) beyond(sigma []float64, frobenius float64) Outside {
	o := r.remainder(sigma, frobenius)
	least := r.found.Eigenvalue(sigma[len(sigma)-1] + r.s.Tol*r.found.Share()*sigma[0])
	o.Leading = r.found.Eigenvalue(o.Bound) <= r.outside.Negligible(least)
	return o
}

// remainder is beyond without Leading. Rounding of the sums is allowed for.
func (r *run) remainder(sigma []float64, frobenius float64) Outside {
	if frobenius == 0 || len(sigma) == r.n {
		return Outside{}
	}
	rest := 1.0
	shift, _ := r.shift()
	for _, s := range sigma {
		rest -= ((s - shift) / frobenius) * ((s - shift) / frobenius)
	}
	const rounding = 1e-12
	rest = max(rest, 0) + rounding
	all := Outside{Bound: frobenius*math.Sqrt(rest) + shift}
	if o := r.outside.Bound; o.Known && r.found.Sigma(o.Value) < all.Bound {
		return Outside{Steps: o.Steps, Bound: r.found.Sigma(o.Value), Probability: o.Probability}
	}
	return all
}
