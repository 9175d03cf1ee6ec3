package complete

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// steps of Lanczos, each a pass, bound σ₁² to about 5 % of a matrix with thousands of columns, 7 % of one with millions.
const steps = 40

// norm bounds σ₁ of a matrix from both sides: one of few columns by its Gram matrix, others by Lanczos.
func norm(ctx context.Context, a solver.Matrix, seed uint64, before func(step int)) (least, most float64, err error) {
	if a.Info().Cols <= steps {
		before(0)
		return small(ctx, a)
	}
	return lanczos(ctx, a, seed, before)
}

// small bounds σ₁ by the eigenvalues of AᵀA. Rounding moves an eigenvalue by at most (N+10n)·2⁻⁵³·‖A‖²_F: each entry of AᵀA is
// a sum of at most N products, and the eigenvalues are those of a matrix near it (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, sections 3.1 and 3.5).
func small(ctx context.Context, a solver.Matrix) (least, most float64, err error) {
	info := a.Info()
	n := info.Cols
	x, gram := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	for i := range n {
		x.Set(i, i, 1)
	}
	if _, err := a.Run(ctx, solver.Pass{X: x, Sum: gram}); err != nil {
		return 0, 0, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(n, gram.RawMatrix().Data), false) {
		return 0, 0, ErrDiverged
	}
	top := max(0, eigen.Values(nil)[n-1])
	rounding := 0x1p-53 * (float64(info.Rows) + 10*float64(n)) * gram.Trace()
	return math.Ldexp(math.Sqrt(top), info.Exponent), math.Ldexp(math.Sqrt(top+rounding), info.Exponent), nil
}

// lanczos estimates σ₁ of a matrix by Lanczos' recurrence for AᵀA from a random vector. Its largest Ritz value θ
// has θ ≤ σ₁², and θ < (1−ε)·σ₁² with a probability of at most 1.648·√n·exp(−√ε·(2j−1)) after j steps
// (Kuczyński, Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, Theorem 4.2). With n > steps, ε·σ₁² is 4 % or more:
// rounding, which costs the vectors their orthogonality, is small beside it. A recurrence that ends early has found an
// invariant subspace: further steps would not change θ.
func lanczos(ctx context.Context, a solver.Matrix, seed uint64, before func(step int)) (least, most float64, err error) {
	n := a.Info().Cols
	x, last, y := mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		x.Set(i, 0, random.NormFloat64())
	}
	x.Scale(1/mat.Norm(x, 2), x)
	t := mat.NewSymDense(steps, nil)
	var done int
	for j, beta := 0, 0.0; j < steps; j++ {
		before(j)
		if _, err := a.Run(ctx, solver.Pass{X: x, Sum: y}); err != nil {
			return 0, 0, err
		}
		alpha := mat.Dot(x.ColView(0), y.ColView(0))
		t.SetSym(j, j, alpha)
		done = j + 1
		for i := range n {
			y.Set(i, 0, y.At(i, 0)-alpha*x.At(i, 0)-beta*last.At(i, 0))
		}
		beta = mat.Norm(y, 2)
		if beta <= 1e-14*alpha || done == steps {
			break
		}
		t.SetSym(j, done, beta)
		y.Scale(1/beta, y)
		last, x, y = x, y, last
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t.SliceSym(0, done), false) {
		return 0, 0, ErrDiverged
	}
	values := eigen.Values(nil)
	theta := math.Ldexp(math.Sqrt(max(0, values[done-1])), a.Info().Exponent)
	const probability = 1e-6
	root := math.Log(1.648*math.Sqrt(float64(n))/probability) / (2*steps - 1)
	return theta, theta / math.Sqrt(1-root*root), nil
}
