package synth

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// tastes is the number of groups of users who prefer the same items.
const tastes = 8

type item struct {
	bias    float64
	factors [factors]float64
}

// catalogue holds all items, the probability with which each taste chooses each item, and buffers for choosing.
type catalogue struct {
	items  []item
	weight [tastes][]float64 // sums to 1
	alias  [tastes]aliasTable

	chosen []int32 // of the current user, ascending
	seenBy []int32 // for each item the last user, counted from 1, for whom it was chosen
	user   int32
	keys   []drawKey
}

func newCatalogue(r *rand.Rand, n int) *catalogue {
	c := &catalogue{items: make([]item, n), seenBy: make([]int32, n)}
	popular := make([]float64, n)
	for i := range c.items {
		// Popular items have slightly higher ratings.
		z := r.NormFloat64()
		popular[i] = math.Exp(1.8 * min(z, 3))
		c.items[i].bias = itemBias * (0.35*z + 0.9*r.NormFloat64())
		for f := range factors {
			c.items[i].factors[f] = r.NormFloat64()
		}
	}
	for t := range tastes {
		// A taste prefers a direction of the item factors and avoids its opposite.
		w := make([]float64, n)
		var sum float64
		for i := range w {
			f := c.items[i].factors
			lean := f[t%factors]
			if t >= factors {
				lean = -f[t-factors]
			}
			w[i] = popular[i] * math.Exp(0.9*lean)
			sum += w[i]
		}
		for i := range w {
			w[i] /= sum
		}
		c.weight[t], c.alias[t] = w, newAliasTable(w)
	}
	return c
}

type user struct {
	main, second int // tastes
	bias         float64
	factors      [factors]float64
	whole        bool // gives only whole stars
	time         int64
}

func newUser(r *rand.Rand) *user {
	u := &user{main: r.IntN(tastes), second: r.IntN(tastes), bias: userBias * r.NormFloat64()}
	for f := range factors {
		u.factors[f] = r.NormFloat64()
	}
	// Users like the direction in which they choose.
	if u.main < factors {
		u.factors[u.main] += 1
	} else {
		u.factors[u.main-factors] -= 1
	}
	const opening, halfStarDay, closing = 822873600, 1045094400, 1231131736
	u.whole = r.Float64() < wholeStarShare
	if u.whole {
		u.time = opening + r.Int64N(halfStarDay-opening)
	} else {
		u.time = halfStarDay + r.Int64N(closing-halfStarDay)
	}
	return u
}

func (u *user) rate(r *rand.Rand, it *item) float64 {
	x := meanRating + u.bias + it.bias + ratingNoise*r.NormFloat64()
	for f := range factors {
		x += tasteWeight * u.factors[f] * it.factors[f]
	}
	if u.whole {
		return min(5, max(1, math.Round(x)))
	}
	return min(5, max(0.5, math.Round(2*x)/2))
}

// choose sets c.chosen to n distinct items for the user, including the mandatory ones. The others are drawn one by one, each
// with a probability proportional to its weight among the items not chosen yet.
func (c *catalogue) choose(r *rand.Rand, u *user, n int, must *mandatory) {
	c.user++
	c.chosen = c.chosen[:0]
	must.take(n, c.add)
	// Drawing with rejection is fast while most draws are new items. A heavy user has chosen items of a large part of the
	// weight: then one pass over all items is faster.
	if n > len(c.items)/6 {
		c.drawByKeys(r, u, n-len(c.chosen))
	} else {
		for len(c.chosen) < n {
			t := u.second
			if r.Float64() < mainShare {
				t = u.main
			}
			c.add(c.alias[t].draw(r))
		}
	}
	slices.Sort(c.chosen)
}

func (c *catalogue) add(i int32) {
	if c.seenBy[i] != c.user {
		c.seenBy[i] = c.user
		c.chosen = append(c.chosen, i)
	}
}

type drawKey struct {
	key  float64
	item int32
}

func (a drawKey) compare(b drawKey) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.item, b.item))
}

// drawByKeys chooses n items in one pass: those with the n smallest independent exponential variates divided by the
// weights are a sample without replacement (Efraimidis and Spirakis, Inf. Proc. Letters 97 (2006)).
func (c *catalogue) drawByKeys(r *rand.Rand, u *user, n int) {
	c.keys = c.keys[:0]
	main, second := c.weight[u.main], c.weight[u.second]
	for i := range c.items {
		if c.seenBy[i] != c.user {
			w := mainShare*main[i] + (1-mainShare)*second[i]
			c.keys = append(c.keys, drawKey{r.ExpFloat64() / w, int32(i)})
		}
	}
	slices.SortFunc(c.keys, drawKey.compare)
	for _, k := range c.keys[:n] {
		c.add(k.item)
	}
}

// aliasTable draws an index with given probabilities in constant time (Walker; Vose, IEEE Trans. Software Eng. 17 (1991)).
type aliasTable []aliasCell

type aliasCell struct {
	keep  float64 // probability of the cell's own index; else the index is other
	other int32
}

// newAliasTable builds the table of weights that sum to 1.
func newAliasTable(weight []float64) aliasTable {
	n := len(weight)
	t := make(aliasTable, n)
	var small, large []int32
	for i, w := range weight {
		t[i] = aliasCell{keep: w * float64(n), other: int32(i)}
		if t[i].keep < 1 {
			small = append(small, int32(i))
		} else {
			large = append(large, int32(i))
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		t[s].other = l
		t[l].keep -= 1 - t[s].keep
		if t[l].keep < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
	// Cells left by rounding errors are exactly full.
	for _, i := range append(small, large...) {
		t[i].keep = 1
	}
	return t
}

func (t aliasTable) draw(r *rand.Rand) int32 {
	i := r.IntN(len(t))
	if r.Float64() < t[i].keep {
		return int32(i)
	}
	return t[i].other
}
