package view

import "math"

// sum is a sum of about twice the precision of a float64 (T. Ogita, S. Rump, S. Oishi,
// Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005), 1955–1988: Sum2, Dot2).
type sum struct{ hi, lo float64 }

func (s *sum) add(x float64) {
	t := s.hi + x
	z := t - s.hi
	s.lo += (s.hi - (t - z)) + (x - z)
	s.hi = t
}

func (s *sum) plus(t sum) {
	s.add(t.hi)
	s.lo += t.lo
}

// addProduct adds x·y. The conversions keep compilers from fusing operations whose rounding is intended.
func (s *sum) addProduct(x, y float64) {
	p := float64(x * y)
	s.add(p)
	s.lo += math.FMA(x, y, -p)
}

// plusTimes adds x times another sum.
func (s *sum) plusTimes(x float64, t sum) {
	s.addProduct(x, t.hi)
	s.addProduct(x, t.lo)
}

// plusProduct adds x·y times another sum; x·y is not rounded.
func (s *sum) plusProduct(x, y float64, t sum) {
	var u sum
	u.plusTimes(y, t)
	s.plusTimes(x, u)
}

func (s sum) value() float64 { return s.hi + s.lo }

func added(x []float64) (s sum) {
	for _, v := range x {
		s.add(v)
	}
	return s
}

// mean returns the sum over n, or 0 if n is 0 or the sum may be no more than the rounding of n terms whose squares add up to size.
func (s sum) mean(n, size, rounding float64) float64 {
	m := s.over(n)
	if n == 0 || m*m <= rounding*rounding*(size/n) {
		return 0
	}
	return m
}

func (s sum) over(n float64) float64 {
	q := s.value() / n
	r := s // remainder of the quotient
	r.addProduct(-q, n)
	return q + r.value()/n
}

// logSum returns the logarithm of the sum of a row or column, and 0 for an empty one.
func logSum(x float64) float64 {
	if x == 0 {
		return 0
	}
	return math.Log(x)
}
