package csr

import (
	"fmt"
	"math"
	"slices"
)

// squares is Σv² of any finite values: the compensated sum sum+c of (factor·v)² with a factor that keeps the squares in the
// range of float64 (FORMAT.md, "Sum of squares"; A. Neumaier, ZAMM 54 (1974) 39–51, improved Kahan–Babuška).
// The zero value is ready.
type squares struct {
	sum, c  float64
	level   int  // index into levels, of the largest value so far
	inexact bool // some value is not a multiple of 1/16: see exactSquares
}

type level struct {
	below    float64 // bound on the magnitude of the values
	factor   float64
	exponent int // Σv² is the sum of (factor·v)² times 2^exponent
}

// levels are the ranges of the largest magnitude of the values.
var levels = [...]level{
	{0x1p-400, 0x1p600, -1200},
	{0x1p400, 1, 0},
	{math.Inf(1), 0x1p-600, 1200},
}

func (q squares) plus(vals []float64) squares {
	if q.level == 1 && !q.inexact {
		sum, rest := exactSquares(vals)
		if sum += q.sum; rest == 0 && sum < 1<<43 && q.sum+0x3p43-0x3p43 == q.sum {
			q.sum = sum
			return q
		}
		q.inexact = rest != 0
	}
	sum, c, l := q.sum, q.c, levels[q.level]
	for _, v := range vals {
		for math.Abs(v) >= l.below {
			q.level++
			next := levels[q.level]
			scale := l.exponent - next.exponent
			sum, c, l = math.Ldexp(sum, scale), math.Ldexp(c, scale), next
		}
		v *= l.factor
		x := float64(v * v) // not fused with a later sum: every machine gets the same bits
		t := sum + x
		if sum >= x {
			c += (sum - t) + x
		} else {
			c += (x - t) + sum
		}
		sum = t
	}
	q.sum, q.c = sum, c
	return q
}

// exactSquares returns Σv², and rest = 0 if all values are multiples of 1/16, as ratings and counts are: below 2⁴⁵ no
// sum of such squares is rounded, in any order, and none needs compensation.
func exactSquares(vals []float64) (sum, rest float64) {
	off := func(v float64) float64 { return math.Abs(v + 0x3p47 - 0x3p47 - v) } // a float64 near 2⁴⁸ is a multiple of 1/16
	for ; len(vals) >= 4; vals = vals[4:] {                                     // one addition of a step waits for the step before
		v := (*[4]float64)(vals)
		sum += (v[0]*v[0] + v[1]*v[1]) + (v[2]*v[2] + v[3]*v[3])
		rest += (off(v[0]) + off(v[1])) + (off(v[2]) + off(v[3]))
	}
	for _, v := range vals {
		sum += v * v
		rest += off(v)
	}
	return sum, rest
}

// fits reports whether √Σv² is in the range of a float64.
func (q squares) fits() bool {
	return q.level < 2 || scaledSum{q.sum + q.c, levels[2].exponent}.fits()
}

// scaledSum is sum·2^exponent.
type scaledSum struct {
	sum      float64
	exponent int // exponent of a level
}

// scaled returns the sum for the manifest of a store with the values v. The exponent is 0 if all values are 0.
func (q squares) scaled(v Values) scaledSum {
	s := scaledSum{q.sum + q.c, levels[q.level].exponent}
	if v.Coding == Constant && v.Table[0] == 0 {
		s.exponent = 0
	}
	return s
}

func (s scaledSum) fits() bool { return finite(math.Ldexp(math.Sqrt(s.sum), s.exponent/2)) }

func (s scaledSum) String() string {
	if s.exponent == 0 {
		return fmt.Sprint(s.sum)
	}
	return fmt.Sprintf("%v·2^%d", s.sum, s.exponent)
}

// levelOf returns the level that has an exponent, or −1.
func levelOf(exponent int) int {
	return slices.IndexFunc(levels[:], func(l level) bool { return l.exponent == exponent })
}
