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

// norm estimates σ₁ of a matrix by Lanczos' recurrence for AᵀA from a random vector. Its largest Ritz value θ
// has θ ≤ σ₁², and θ < (1−ε)·σ₁² with a probability of at most 1.648·√n·exp(−√ε·(2j−1)) after j steps
// (Kuczyński, Woźniakowski, SIAM J. Matrix Anal. Appl. 13, 1992, Theorem 4.2).
func norm(ctx context.Context, a solver.Matrix, seed uint64, before func(step int)) (least, most float64, err error) {
	n := a.Info().Cols
	x, last, y := mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil), mat.NewDense(n, 1, nil)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range n {
		x.Set(i, 0, random.NormFloat64())
	}
	x.Scale(1/mat.Norm(x, 2), x)
	t := mat.NewSymDense(min(steps, n), nil)
	var done int
	for j, beta := 0, 0.0; j < t.SymmetricDim(); j++ {
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
		if beta = mat.Norm(y, 2); beta <= 1e-14*alpha || done == t.SymmetricDim() {
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
	theta, e := math.Ldexp(math.Sqrt(max(0, values[done-1])), a.Info().Exponent), 1.0
	if done < n {
		const probability = 1e-6
		root := math.Log(1.648*math.Sqrt(float64(n))/probability) / float64(2*done-1)
		e = 1 - min(root*root, 1)
	}
	return theta, theta / math.Sqrt(e), nil
}
