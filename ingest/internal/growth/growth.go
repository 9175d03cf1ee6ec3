// Package growth extrapolates how many distinct things a stream has from how their number grows in its beginning.
package growth

import "math"

// A Curve is how many distinct things there are in the first entries of a stream.
type Curve struct{ marks []mark }

type mark struct{ entries, distinct float64 }

// Mark says how many distinct things the first entries have. Neither number may shrink.
func (c *Curve) Mark(entries, distinct int64) {
	c.marks = append(c.marks, mark{float64(entries), float64(distinct)})
}

// inOrder is the least β of the second half of a sample of things that come in order, each for some entries in a row.
const inOrder = 0.9

// At extrapolates to n entries. If things come in order there are as many in proportion, and low and high have
// the least and the largest rate of a quarter of the sample. Else high is Heaps' law: n entries have K·n^β things (H. S. Heaps,
// "Information Retrieval", 1978), with the β of the second half of the sample; low is that of an urn of N things that are
// drawn alike, which has the fewest of all urns: N·(1−e^(−n/N)), N being such that the sample has as many as it has;
// and likely is their geometric mean.
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

// urn is how many of N things n entries have.
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

// before is the last mark at or before a number of entries.
func (c *Curve) before(entries float64) (last mark) {
	for _, m := range c.marks {
		if m.entries <= entries {
			last = m
		}
	}
	return last
}

// slope is β between two marks; 1 if there is nothing at the first.
func slope(from, to mark) float64 {
	if from.distinct == 0 || from.entries == to.entries {
		return 1
	}
	return math.Log(to.distinct/from.distinct) / math.Log(to.entries/from.entries)
}
