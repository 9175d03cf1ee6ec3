// Package combine makes one entry of several at one place.
package combine

import (
	"math"

	"github.com/gdsvd/gdsvd/ingest/internal/extsort"
)

// A Policy says what becomes of several entries at one place: see ingest.Duplicates, of the same numbers.
type Policy uint8

const (
	Refuse Policy = iota
	Sum
	Mean
	First
	Last
	Max
)

// A Combiner makes one entry of those at one place. It is given all entries
// in ascending order, part after part.
type Combiner struct {
	Policy     Policy
	Pairs      bool                   // every other place is the time of the one before, with a 1 as the lowest bit: the newest is its own
	Overflow   func(key uint64) error // the error for a sum that is not finite
	Lower      func(key uint64) bool  // places that only mirror others, and are not counted; may be nil
	Duplicates int64                  // entries merged away
	Repeated   uint64                 // the place of the first of them
	Places     int64                  // that have more than one entry
	Rounded    int64                  // places the sum of which is no float64

	open  bool          // there is a place that may get further entries
	place extsort.Entry // it, with its first value
	// Of the values there:
	partials   []float64 // their exact sum, see exactSum
	last, most float64
	count      int64

	scratch []extsort.Entry
}

// Next fills part's capacity with places completed by further entries; n is the number of these.
func (c *Combiner) Next(part []extsort.Entry, read func([]extsort.Entry) (int, error)) (places []extsort.Entry, n int, err error) {
	part = part[:0]
	if c.open && c.count == 1 {
		part = append(part, c.place)
	}
	had := len(part)
	if n, err = read(part[had : cap(part)-1]); n == 0 || err != nil { // room for the place still open
		return part[:0], n, err
	}
	part = part[:had+n]
	if c.open && had == 0 || single(part) < len(part) {
		c.scratch = append(c.scratch[:0], part[had:]...)
		places, err = c.add(part[:0], c.scratch)
		return places, n, err
	}
	// As a rule no two entries are at one place: they stay where they are.
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

// single is how many entries at the beginning of a part, one at least, are at
// different places; the last of them may share its place with what follows.
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
