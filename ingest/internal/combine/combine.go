// Package combine combines several entries at one place into one entry.
package combine

import (
	"math"

	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// A Policy says how several entries at one place are combined: see ingest.Duplicates, which has the same numbers.
type Policy uint8

const (
	Refuse Policy = iota
	Sum
	Mean
	First
	Last
	Max
)

// A Combiner combines the entries at each place into one entry. It is given all entries in ascending order, part by part.
type Combiner struct {
	Policy     Policy
	Pairs      bool                   // keys come in pairs, the second with lowest bit 1 and a time as value: the newest time is kept
	Overflow   func(key uint64) error // returns the error for a sum that is not finite
	Lower      func(key uint64) bool  // reports whether a place only mirrors another one and is not counted; may be nil
	Duplicates int64                  // number of entries combined with another entry
	Repeated   uint64                 // place of the first of these
	Places     int64                  // number of places that have more than one entry
	Rounded    int64                  // number of places whose sum is no float64

	open  bool          // place may get further entries
	place extsort.Entry // the open place, with its first value
	// Of the values at the open place:
	partials   []float64 // their exact sum; see exactSum
	last, most float64
	count      int64

	scratch []extsort.Entry
}

// Next reads n entries, as many as fit into part, and returns in part the places that they complete; n is 0 at the end.
func (c *Combiner) Next(part []extsort.Entry, read func([]extsort.Entry) (int, error)) (places []extsort.Entry, n int, err error) {
	part = part[:0]
	if c.open && c.count == 1 {
		part = append(part, c.place)
	}
	had := len(part)
	if n, err = read(part[had : cap(part)-1]); n == 0 || err != nil { // leaves room for the open place
		return part[:0], n, err
	}
	part = part[:had+n]
	if c.open && had == 0 || single(part) < len(part) {
		c.scratch = append(c.scratch[:0], part[had:]...)
		places, err = c.add(part[:0], c.scratch)
		return places, n, err
	}
	// The usual case: no two entries are at one place, and all stay where they are.
	c.open, c.place, c.count = true, part[len(part)-1], 1
	return part[:len(part)-1], n, nil
}

func (c *Combiner) add(dst, part []extsort.Entry) ([]extsort.Entry, error) {
	var err error
	for len(part) > 0 {
		if e := part[0]; c.open && e.Key == c.place.Key {
			c.another(e.Val)
			part = part[1:]
			continue
		}
		if dst, err = c.End(dst); err != nil {
			return dst, err
		}
		n := single(part)
		dst = append(dst, part[:n-1]...)
		c.open, c.place, c.count = true, part[n-1], 1
		part = part[n:]
	}
	return dst, nil
}

// single returns the number of entries at the beginning of part, at least one, that are at different places. The entry behind
// the last of them may be at its place.
func single(part []extsort.Entry) int {
	n := 1
	for n < len(part) && part[n].Key != part[n-1].Key {
		n++
	}
	return n
}

func (c *Combiner) another(v float64) {
	once := int64(1)
	if c.Pairs && c.place.Key&1 == 1 || c.Lower != nil && c.Lower(c.place.Key) {
		once = 0
	}
	if c.count == 1 {
		c.partials, c.most = append(c.partials[:0], c.place.Val), c.place.Val
		c.Places += once
	}
	c.count++
	if c.Duplicates == 0 && once > 0 {
		c.Repeated = c.place.Key
	}
	c.Duplicates += once
	c.last, c.most = v, max(c.most, v)
	if c.Policy == Sum || c.Policy == Mean {
		c.partials = addExactly(c.partials, v)
	}
}

// End appends the open place, if any, to dst.
func (c *Combiner) End(dst []extsort.Entry) ([]extsort.Entry, error) {
	if !c.open {
		return dst, nil
	}
	c.open = false
	e := c.place
	if c.count > 1 {
		switch {
		case c.Pairs && e.Key&1 == 1, c.Policy == Max:
			e.Val = c.most
		case c.Policy == Last:
			e.Val = c.last
		case c.Policy == Sum, c.Policy == Mean:
			sum, exact := exactSum(c.partials)
			e.Val = sum
			if c.Policy == Mean {
				e.Val = sum / float64(c.count)
			}
			if !exact {
				c.Rounded++
			}
		}
		if e.Val-e.Val != 0 {
			return dst, c.Overflow(e.Key)
		}
	}
	return append(dst, e), nil
}

// addExactly adds v to an exact sum, held as nonoverlapping numbers of ascending magnitude (J. R. Shewchuk, "Adaptive
// precision floating-point arithmetic and fast robust geometric predicates", Discrete & Computational Geometry 18, 1997,
// grow-expansion).
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

// exactSum returns the float64 nearest to a sum, on a tie the even one; exact reports whether it equals the sum. So a sum
// depends neither on the order of the summands nor on how they are grouped into exact partial sums.
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
	// The remaining partials decide a tie.
	if n > 0 && (low < 0 && partials[n-1] < 0 || low > 0 && partials[n-1] > 0) {
		if twice := sum + 2*low; twice-sum == 2*low {
			sum = twice
		}
	}
	return sum, low == 0
}
