package momentum

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// spectrum follows the two leading eigenvalues of M from the products a
// recurrence asks for anyway, so that momentum can be set without being told
// how far apart they are.
//
// Two successive vectors and their products give the two Ritz values θ₁ ≥ θ₂ of
// the plane they span, and θ₁ ≤ λ₁, θ₂ ≤ λ₂ whatever the vectors are (Cauchy's
// interlacing; Parlett, The Symmetric Eigenvalue Problem, §10.1). The largest
// seen therefore never go beyond the truth. Nor do they stop short of it: as
// long as θ₂ < λ₂, momentum is less than what would be best for λ₂, the error
// turns towards the second eigenvector, and θ₂ goes up with the square of that.
type spectrum struct {
	first, second float64 // largest θ₁ and θ₂ so far
}

func (s *spectrum) state(st *method.State) {
	st.Float("first value", &s.first)
	st.Float("second value", &s.second)
}

// gap returns an estimate of 1 − λ₂/λ₁ in [0,1], 1 as long as nothing is known.
func (s *spectrum) gap() float64 {
	if s.first <= 0 {
		return 1
	}
	return max(0, 1-s.second/s.first)
}

// observe takes two successive vectors with their products mx = Mx, my = My,
// and the Rayleigh quotient of x.
//
// The part of y orthogonal to x is a small difference. Where rounding may spoil
// its Ritz value by as much as matters to the gap, it is left out: a plane that
// has shrunk to roundoff might otherwise see a second copy of λ₁.
func (s *spectrum) observe(a *tallskinny.Arena, x, mx []float64, theta float64, y, my []float64) {
	const (
		share = 0.01 // of the gap that an error of θ₂ may amount to
		most  = 1e-8 // relative error of either value
		units = 4    // of roundoff, the error of a product
	)
	xx, norm := a.Dot(x, x), a.Norm2(y)
	if xx == 0 || norm == 0 {
		return
	}
	s.first = max(s.first, theta)
	f, g := 1/norm, a.Dot(x, y)/(xx*norm)
	var ww, wmw, xmw float64 // of w = y/‖y‖ − (its part along x)
	a.EachTile(len(x), tallskinny.Reading(x, mx, y, my), func(from, to int) {
		for i := from; i < to; i++ {
			w, mw := f*y[i]-g*x[i], f*my[i]-g*mx[i]
			ww += w * w
			wmw += w * mw
			xmw += x[i] * mw
		}
	})
	noise := units * tallskinny.Epsilon / math.Sqrt(ww)
	if !(noise <= most) {
		return
	}
	other, coupling := wmw/ww, xmw/math.Sqrt(ww*xx)
	mean, radius := (theta+other)/2, math.Hypot((theta-other)/2, coupling)
	s.first = max(s.first, mean+radius)
	if second := mean - radius; noise*s.first <= share*(s.first-second) {
		s.second = max(s.second, second)
	}
}
