package scout

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// UpperBound returns the least λ above which ‖H‖ < delta (method.Evidence), or slightly more.
func UpperBound(e method.Evidence, delta float64) float64 {
	least := max(e.Theta[0], 0)
	if e.Top == 0 {
		return 0
	}
	gap, floor := e.Top, tallskinny.FloorFactor*tallskinny.Epsilon*e.Top
	for Transfer(e, least+gap) >= delta {
		gap *= 2
	}
	for _, finer := range []float64{0.5, 0.9} {
		for gap > floor && Transfer(e, least+finer*gap) < delta {
			gap *= finer
		}
	}
	return least + max(gap, floor)
}

// Transfer returns ‖H(λ)‖_F, after restarts plus a bound on its rounding errors.
func Transfer(e method.Evidence, lambda float64) float64 {
	g, rounding := (*mat.Dense)(nil), 0.0
	for _, c := range e.Past {
		first := times(c.First, g)
		kept := mat.DenseCopyOf(first.Slice(c.From, c.To, 0, tallskinny.Width(first)))
		if c.Last == nil {
			g = kept
			continue
		}
		rest, err := through(e.Top, lambda, c.Theta, first, c.Last, c.To)
		rounding += err
		g = new(mat.Dense)
		g.Stack(kept, rest)
	}
	h, err := through(e.Top, lambda, e.Theta, times(e.First, g), e.Last, 0)
	if len(e.Past) > 0 {
		rounding += err
	}
	return (*tallskinny.Arena)(nil).Norm2(h.RawMatrix().Data) + rounding
}

// times returns x·g, or x if g is nil.
func times(x, g *mat.Dense) *mat.Dense {
	if g == nil {
		return x
	}
	y := new(mat.Dense)
	y.Mul(x, g)
	return y
}

// through returns Σ last·firstᵀ/(λ−θ) over the rows from row from on, and a bound on its rounding error. The bound is
// infinite if λ is not above all these θ.
func through(top, lambda float64, theta []float64, first, last *mat.Dense, from int) (h *mat.Dense, rounding float64) {
	l, p := tallskinny.Width(last), tallskinny.Width(first)
	h = mat.NewDense(l, p, nil)
	size := 0.0
	for i := from; i < len(theta); i++ {
		s := first.RawRowView(i)
		size = math.Hypot(size, (*tallskinny.Arena)(nil).Norm2(s))
		for a, v := range last.RawRowView(i) {
			blas64.Axpy(v/(lambda-theta[i]), tallskinny.Vector(s), tallskinny.Vector(h.RawRowView(a)))
		}
	}
	if from == len(theta) {
		return h, 0
	}
	if lambda <= theta[from] {
		return h, math.Inf(1)
	}
	return h, tallskinny.FloorFactor * tallskinny.Epsilon * top * size / (lambda - theta[from])
}

// LeastShare returns a δ such that the component of a given unit vector in the span of p random vectors in d dimensions is
// shorter than δ with at most the given probability. The distribution function of Beta(a, b) is bounded by
//
//	I_x(a, b) ≤ x^a/(a·B(a,b))
//
// for b ≥ 1; for b = ½ it is at most √2 times that as long as x ≤ ½.
func LeastShare(p, d int, probability float64) float64 {
	if p >= d {
		return 1
	}
	a, b := float64(p)/2, float64(d-p)/2
	if b < 1 {
		probability /= math.Sqrt2
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	x := math.Exp((math.Log(probability*a) + la + lb - lab) / a)
	return math.Sqrt(min(x, 0.5))
}

// LeastNormal returns a length such that a vector of p independent standard normal numbers is shorter with at most the given
// probability. The squares of the numbers add up to less than 2x with a probability of at most x^a/Γ(a+1), a = p/2.
func LeastNormal(p int, probability float64) float64 {
	a := float64(p) / 2
	gamma, _ := math.Lgamma(a + 1)
	return math.Sqrt(2 * math.Exp((math.Log(probability)+gamma)/a))
}
