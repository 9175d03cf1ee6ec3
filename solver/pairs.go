package solver

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Which selects the eigenpairs that SVD finds of a matrix that is Symmetric. With any value but Semidefinite,
// Result.Lambda holds the eigenvalues with their signs and Result.Sigma their magnitudes, residuals are ‖Av − λv‖
// (Result.Residuals), and there are no left vectors.
//
// LargestMagnitude searches with AᵀA = A²: a product with A² takes one read, as a product with A does, and is worth
// two of them. An eigenvalue λ and another one near −λ are a cluster of A², and the last of the k vectors may be a
// mixture of both eigenvectors. The finishing pass separates them: it takes the best pairs of A in the span of the
// vectors v found and of the products Av of those that miss the tolerance.
//
// LargestAlgebraic searches with A + C·I, and SmallestAlgebraic with C·I − A. Krylov is equally fast with any C;
// the other methods converge more slowly the larger C is compared with the gaps between eigenvalues. C = ‖A‖_F
// makes any matrix semidefinite; see Settings.Shift.
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

// shifted reports whether the operator is ±A + C·I.
func (w Which) shifted() bool { return w == LargestAlgebraic || w == SmallestAlgebraic }

// sign returns the sign of A in the operator.
func (w Which) sign() float64 {
	if w == SmallestAlgebraic {
		return -1
	}
	return 1
}

// order returns the indices of eigenvalues in the order in which they are wanted. Magnitudes
// no more than tie apart count as equal.
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

// certifyPairs is certify for signed eigenpairs.
func (f *factorisation) certifyPairs(v *mat.Dense) (*certificate.Certificate, error) {
	n, k := v.Dims()
	norm := f.a.Info().Norm
	s := certificate.Search{
		Square: f.s.Which == LargestMagnitude, Order: f.s.Which.order, Tol: f.s.Tol, Skew: f.a.Info().asymmetry(), Frobenius: norm, Terms: f.a.Info().terms(),
	}
	s.Shift, s.Sign = f.shift()
	if op, ok := f.op.(*symmetric); ok {
		s.Seen = op.seen
	}
	p := Pass{X: v, RowsOut: Rows{Block: f.arena.Dense(n, k)}}
	if s.Square {
		p.Sum = f.arena.Dense(n, k)
		defer f.arena.Free(p.Sum)
	}
	if _, err := f.a.Run(f.passes.ctx, p); err != nil {
		return nil, err
	}
	return certificate.NewPairs(f.arena, v, p.RowsOut.Block, p.Sum, s)
}

// reported converts a value of the operator (for the Gram operator its root) to the value of A. With the Gram
// operator the sign is not known before the certificate.
func (r *run) reported(sigma float64) float64 {
	shift, sign := r.shift()
	return sign * (sigma - shift)
}

// signed sets the fields of a result that differ for signed eigenpairs.
func (f *factorisation) signed(res *Result) {
	c := f.cert
	res.Sigma, res.Lambda, res.Norm = make([]float64, len(c.Lambda)), c.Lambda, c.Norm
	res.Rank = 0
	for i, l := range c.Lambda {
		res.Sigma[i] = math.Abs(l)
		if l != 0 {
			res.Rank++
		}
	}
	bound := max(res.Outside.Bound, c.Next)
	if len(c.Lambda) == f.n {
		bound = c.Sigma[f.n-1] // V spans everything: no other eigenvalues exist
	}
	res.Outside.Bound = f.reported(bound)
}

// pairsState saves or restores the additional state of a run for signed eigenpairs.
func (r *run) pairsState(s *method.State) {
	if op, ok := r.op.(*symmetric); ok && op.which.signed() {
		s.Float("norm of A", &op.seen)
	}
	if !r.s.Which.signed() || r.cert == nil {
		return
	}
	s.Float("next value", &r.cert.Next)
	if s.Floats("signed values", &r.cert.Lambda); len(r.cert.Lambda) != r.s.Rank {
		s.Refuse("has a certificate of %d signed values, want %d", len(r.cert.Lambda), r.s.Rank)
	}
}
