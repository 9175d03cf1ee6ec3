package solver

import (
	"cmp"
	"math"
	"slices"
)

// Which says what eigenpairs SVD finds of a matrix that is Symmetric. With any but
// Semidefinite, Result.Lambda has the eigenvalues with their signs, Result.Sigma their magnitudes,
// residuals are ‖Av − λv‖ (Result.Residuals), and there are no left vectors.
//
// LargestMagnitude searches in AᵀA = A², whose product is as many reads as that of A and
// worth two of them. An eigenvalue λ and another one near −λ are a cluster there, and of
// the last of k both may be in one vector. The finishing pass separates them: it takes
// the best pairs of A in the span of the vectors v found and, where these miss the
// tolerance, of Av.
//
// LargestAlgebraic searches in A + C·I, and SmallestAlgebraic in C·I − A. Krylov is as
// fast with any C; the other methods converge more slowly the larger C is compared with the
// gaps between eigenvalues. C = ‖A‖_F makes any matrix semidefinite; see Settings.Shift.
type Which uint8

const (
	// Semidefinite takes A to have no negative eigenvalues.
	Semidefinite Which = iota
	// LargestMagnitude finds the λ with the largest |λ|, in that order, and of λ and −λ
	// the positive one first.
	LargestMagnitude
	// LargestAlgebraic finds the largest λ, in descending order.
	LargestAlgebraic
	// SmallestAlgebraic finds the smallest λ, in ascending order.
	SmallestAlgebraic
)

// String returns "semidefinite", "LM", "LA", or "SA".
func (w Which) String() string { return [...]string{"semidefinite", "LM", "LA", "SA"}[w] }

// signed reports whether eigenvalues have signs.
func (w Which) signed() bool { return w != Semidefinite }

// shifted reports whether the operator is not that of A alone.
func (w Which) shifted() bool { return w == LargestAlgebraic || w == SmallestAlgebraic }

// sign is that of A in the operator.
func (w Which) sign() float64 {
	if w == SmallestAlgebraic {
		return -1
	}
	return 1
}

// order returns the indices of eigenvalues in the order in which they are wanted. Magnitudes
// no more than tie apart are equal.
func (w Which) order(lambda []float64, tie float64) []int {
	all := make([]int, len(lambda))
	for i := range all {
		all[i] = i
	}
	rank := func(i int) float64 { return w.sign() * lambda[i] }
	if w == LargestMagnitude {
		rank = func(i int) float64 { return math.Abs(lambda[i]) }
	}
	descending := func(part []int, of func(i int) float64) {
		slices.SortStableFunc(part, func(i, j int) int { return cmp.Compare(of(j), of(i)) })
	}
	descending(all, rank)
	for from, to := 0, 1; w == LargestMagnitude && from < len(all); from, to = to, to+1 {
		for to < len(all) && rank(all[to-1])-rank(all[to]) <= tie {
			to++
		}
		descending(all[from:to], func(i int) float64 { return lambda[i] })
	}
	return all
}
