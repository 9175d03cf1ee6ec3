package block

import "slices"

// extrapolation predicts residuals from their decay: those of the block that is
// to be multiplied next, when only those of the last one are known. It takes
// the slower of the last two steps, and promises nothing before there are two:
// the factors of a three-term recurrence fall to their limit from above.
type extrapolation struct {
	last  []float64 // residuals of the last block
	ratio []float64 // the factors by which they have changed, at most 1
}

// observe takes the residuals of a block and returns those of the next.
func (c *extrapolation) observe(residuals []float64) []float64 {
	if len(c.last) != len(residuals) {
		c.last = slices.Clone(residuals)
		c.ratio = slices.Repeat([]float64{1}, len(residuals))
		return residuals
	}
	next := make([]float64, len(residuals))
	for j, res := range residuals {
		ratio := 1.0
		if res < c.last[j] {
			ratio = res / c.last[j]
		}
		next[j] = res * max(ratio, c.ratio[j])
		c.last[j], c.ratio[j] = res, ratio
	}
	return next
}
