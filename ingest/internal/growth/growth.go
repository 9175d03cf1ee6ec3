// Package growth extrapolates the number of distinct things in a stream from its growth at the beginning.
package growth

import "math"

// A Curve records the number of distinct things in the first entries of a stream.
type Curve struct{ marks []mark }

type mark struct{ entries, distinct float64 }

// Mark records the number of distinct things in the first entries. Neither number may shrink.
func (c *Curve) Mark(entries, distinct int64) {
	c.marks = append(c.marks, mark{float64(entries), float64(distinct)})
}

// inOrder is the smallest β of the second half of a sample at which things come in order, each for some consecutive entries.
const inOrder = 0.9

// At extrapolates the number of distinct things to n entries. If things come in order, likely is proportional to n, and low
// and high have the smallest and largest rate of a quarter of the sample. Otherwise high follows Heaps' law, K·n^β (H. S.
// Heaps, "Information Retrieval", 1978), with the β of the second half of the sample; low is the number drawn from an urn of N
// equally likely things, the least of all urns, N·(1−e^(−n/N)), with the N that fits the sample; likely is their geometric
// mean.
func (c *Curve) At(n float64) (low, likely, high float64) {
	if len(c.marks) == 0 {
		return 0, 0, 0
	}
	all := c.marks[len(c.marks)-1]
	if n <= all.entries || all.distinct == 0 {
		return all.distinct, all.distinct, all.distinct
	}
	beta := slope(c.before(all.entries/2), all)
	if beta >= inOrder {
		return c.inOrder(n, all)
	}
	high = all.distinct * math.Pow(n/all.entries, max(0, beta))
	low = min(high, urn(all, n))
	return low, math.Sqrt(low * high), high
}

func (c *Curve) inOrder(n float64, all mark) (low, likely, high float64) {
	least, most := all.distinct/all.entries, all.distinct/all.entries
	from := mark{}
	for i := range 4 {
		to := c.before(all.entries * float64(i+1) / 4)
		if to.entries > from.entries {
			rate := (to.distinct - from.distinct) / (to.entries - from.entries)
			least, most = min(least, rate), max(most, rate)
			from = to
		}
	}
	left := n - all.entries
	return all.distinct + left*least, all.distinct * n / all.entries, min(n, all.distinct+left*most)
}

// urn returns the number of different things in n draws from the urn that fits the sample.
func urn(all mark, n float64) float64 {
	within := func(things, entries float64) float64 { return -things * math.Expm1(-entries/things) }
	low, high := all.distinct, all.distinct
	for within(high, all.entries) < all.distinct && high < n*n {
		high *= 2
	}
	for range 60 {
		if mid := (low + high) / 2; within(mid, all.entries) < all.distinct {
			low = mid
		} else {
			high = mid
		}
	}
	return max(all.distinct, within(high, n))
}

// before returns the last mark at or before a number of entries.
func (c *Curve) before(entries float64) (last mark) {
	for _, m := range c.marks {
		if m.entries <= entries {
			last = m
		}
	}
	return last
}

// slope returns β between two marks; 1 if the first has no things.
func slope(from, to mark) float64 {
	if from.distinct == 0 || from.entries == to.entries {
		return 1
	}
	return math.Log(to.distinct/from.distinct) / math.Log(to.entries/from.entries)
}
