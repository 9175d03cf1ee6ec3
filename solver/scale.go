package solver

import (
	"context"
	"fmt"
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// scale is the exponent e of a Matrix (Info.Exponent). Everything but this file
// deals with 2^−e·A alone; what a run is told and tells about A passes here.
//
// Squares of values beyond 10¹⁵⁴ or below 10⁻¹⁶⁰ are no numbers any more, though σ is.
// A Matrix of such values multiplies with 2^−e·A instead, where e = Info.Exponent is
// a function of ‖A‖_F alone: that is exact. A run deals with 2^−e·A throughout, its
// certificate and checkpoints included, and σ is multiplied by 2^e where it leaves the
// run, in events and results. So any A of which ‖A‖_F is a float64 is solved like any
// other, subnormal values included. A σ that is smaller than the smallest number is 0.
type scale int

// scaleOf is that of the matrix of an operator, 0 if it has none.
func scaleOf(op Operator) scale { return scale(infoOf(op).Exponent) }

// sigma is a singular value of A, given that of 2^−e·A. It is at most ‖A‖_F, which
// is finite, but rounding may take it beyond.
func (e scale) sigma(x float64) float64 { return min(math.Ldexp(x, int(e)), math.MaxFloat64) }

// signed is sigma for a value that may be negative.
func (e scale) signed(x float64) float64 { return math.Copysign(e.sigma(math.Abs(x)), x) }

// bound is what sigma is for a bound: where float64 has few digits it is rounded up.
func (e scale) bound(x float64) float64 {
	s := e.sigma(x)
	if s < math.MaxFloat64 && math.Ldexp(s, -int(e)) < x {
		s = math.Nextafter(s, math.Inf(1))
	}
	return s
}

// observer sees events about A.
func (e scale) observer(o func(Event) error) func(Event) error {
	return func(ev Event) error {
		ev.Sigma = e.signed(ev.Sigma)
		return o(ev)
	}
}

// svd is SVD.
func (e scale) svd(ctx context.Context, arena *tallskinny.Arena, a Matrix, s Settings) (*Result, error) {
	s.Observer = e.observer(s.Observer)
	res, err := svd(ctx, arena, a, s)
	if err != nil {
		return nil, err
	}
	for i, x := range res.Sigma {
		res.Sigma[i] = e.sigma(x)
	}
	for i, x := range res.Lambda {
		res.Lambda[i] = e.signed(x)
	}
	res.Norm = e.sigma(res.Norm)
	if s.Which.shifted() {
		res.Outside.Bound = e.signed(res.Outside.Bound)
	} else {
		res.Outside.Bound = e.bound(res.Outside.Bound)
	}
	return res, nil
}

// eigen is Eigen. The largest eigenvalue must be a number.
func (e scale) eigen(ctx context.Context, arena *tallskinny.Arena, op Operator, s Settings) (*EigenResult, error) {
	s.Observer = e.observer(s.Observer)
	res, err := eigenvectors(ctx, arena, op, s)
	if err != nil {
		return nil, err
	}
	first := res.Values[0]
	for i, x := range res.Values {
		res.Values[i] = math.Ldexp(x, 2*int(e))
	}
	if v := res.Values[0]; math.IsInf(v, 0) || v == 0 && first != 0 {
		return nil, fmt.Errorf("eigenvalue %.3g·2^%d is beyond the range of numbers: %w", first, 2*int(e), ErrScale)
	}
	return res, nil
}

// residuals is Residuals.
func (e scale) residuals(ctx context.Context, a Matrix, t Triplets) (left, right []float64, err error) {
	sigma := make([]float64, len(t.Sigma))
	for i, s := range t.Sigma {
		sigma[i] = math.Ldexp(s, -int(e))
	}
	t.Sigma = sigma
	left, right, err = residuals(ctx, a, t)
	for _, of := range [][]float64{left, right} {
		for i, r := range of {
			if of[i] = e.sigma(r); of[i] == 0 && r > 0 {
				of[i] = math.SmallestNonzeroFloat64
			}
		}
	}
	return left, right, err
}

// String says it in the description of a problem, by which checkpoints know it.
func (e scale) String() string {
	if e == 0 {
		return ""
	}
	return fmt.Sprintf(", times 2^%d", -int(e))
}
