package csr

import (
	"fmt"
	"math"
	"slices"
)

// neumaier is a compensated sum of squares (A. Neumaier, ZAMM 54 (1974) 39–51,
// improved Kahan–Babuška): no summand is negative, nor is the sum.
type neumaier struct{ sum, c float64 }

// plusSquare adds v². It returns the sum, which stays in registers in a loop. The conversion
// forbids fusing the square into a later sum, so that every machine gets the same bits.
func (n neumaier) plusSquare(v float64) neumaier {
	x := float64(v * v)
	t := n.sum + x
	if n.sum >= x {
		n.c += (n.sum - t) + x
	} else {
		n.c += (x - t) + n.sum
	}
	n.sum = t
	return n
}

func (n neumaier) value() float64 { return n.sum + n.c }

// squares is Σv² of any finite values: the sum of (factor·v)² with a factor that
// keeps the squares in the range of float64 (FORMAT.md, "Sum of squares"). The zero value is ready.
type squares struct {
	neumaier
	level int // into levels: that of the largest value so far
}

type level struct {
	below    float64 // all of them
	factor   float64
	exponent int // Σv² is the sum times two to the power of it
}

// levels are the ranges of the largest magnitude of the values.
var levels = [...]level{
	{0x1p-400, 0x1p600, -1200},
	{0x1p400, 1, 0},
	{math.Inf(1), 0x1p-600, 1200},
}

func (q squares) plus(vals []float64) squares {
	n, l := q.neumaier, levels[q.level]
	for _, v := range vals {
		for math.Abs(v) >= l.below {
			q.level++
			next := levels[q.level]
			scale := l.exponent - next.exponent
			n = neumaier{math.Ldexp(n.sum, scale), math.Ldexp(n.c, scale)}
			l = next
		}
		n = n.plusSquare(v * l.factor)
	}
	q.neumaier = n
	return q
}

// fits tells whether the root of the sum is a float64.
func (q squares) fits() bool {
	e := levels[q.level].exponent
	return e <= 0 || scaledSum{q.value(), e}.fits()
}

// scaledSum is sum·2^exponent.
type scaledSum struct {
	sum      float64
	exponent int // of a level
}

// scaled is the sum for the manifest of a store with the values. It has no
// exponent where nothing but zeros can be.
func (q squares) scaled(v Values) scaledSum {
	s := scaledSum{q.value(), levels[q.level].exponent}
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

// levelOf is the level of an exponent, or −1.
func levelOf(exponent int) int {
	return slices.IndexFunc(levels[:], func(l level) bool { return l.exponent == exponent })
}
