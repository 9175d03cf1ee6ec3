package combine

import "math"

// addExactly adds v to a sum that is held exactly, as numbers of ascending size of which no two
// overlap (J. R. Shewchuk, "Adaptive precision floating-point arithmetic and fast robust
// geometric predicates", Discrete & Computational Geometry 18, 1997, grow-expansion).
func addExactly(partials []float64, v float64) []float64 {
	n := 0
	for _, p := range partials {
		if math.Abs(v) < math.Abs(p) {
			v, p = p, v
		}
		sum := v + p
		if low := p - (sum - v); low != 0 {
			partials[n] = low
			n++
		}
		v = sum
	}
	return append(partials[:n], v)
}

// exactSum is the float64 nearest to a sum, a tie going to the even one; exact tells whether it is
// the sum. So a sum depends neither on the order of what is added, nor on exact sums of parts in between.
func exactSum(partials []float64) (sum float64, exact bool) {
	n := len(partials) - 1
	sum = partials[n]
	low := 0.0
	for n > 0 && low == 0 {
		n--
		high := sum
		sum = high + partials[n]
		low = partials[n] - (sum - high)
	}
	// What is left decides a tie.
	if n > 0 && (low < 0 && partials[n-1] < 0 || low > 0 && partials[n-1] > 0) {
		if twice := sum + 2*low; twice-sum == 2*low {
			sum = twice
		}
	}
	return sum, low == 0
}
