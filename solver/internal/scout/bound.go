package scout

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// UpperBound returns the least λ above which ‖H‖ < delta (method.Evidence), a little more in
// fact.
func UpperBound(e method.Evidence, delta float64) float64 {
	const coarse = 0.9
	least := max(e.Theta[0], 0)
	if e.Top == 0 {
		return 0
	}
	gap, floor := e.Top, tallskinny.FloorFactor*tallskinny.Epsilon*e.Top
	for Transfer(e, least+gap) >= delta {
		gap *= 2
	}
	for gap > floor && Transfer(e, least+coarse*gap) < delta {
		gap *= coarse
	}
	return least + max(gap, floor)
}

// Transfer returns ‖H(λ)‖_F.
func Transfer(e method.Evidence, lambda float64) float64 {
	_, l := e.Last.Dims()
	_, p := e.First.Dims()
	h := make([]float64, l*p)
	for i, theta := range e.Theta {
		s := e.First.RawRowView(i)
		for a, v := range e.Last.RawRowView(i) {
			v /= lambda - theta
			if v != 0 {
				for b, x := range s {
					h[a*p+b] += v * x
				}
			}
		}
	}
	return (*tallskinny.Arena)(nil).Norm2(h)
}

// LeastShare returns a δ such that the component of a given unit vector in the span
// of p random ones in d dimensions is shorter than δ with at most the given
// probability. Of the distribution function of Beta(a, b),
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
