// Package outside is what a search knows about eigenvalues that it has not found: bounds on
// larger ones, and whether more copies of those found may be hidden.
package outside

import (
	"cmp"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Probability is that with which a bound may be wrong.
const Probability = 1e-6

// Bound is an upper bound on the eigenvalues beyond those found.
type Bound struct {
	Known       bool
	Steps       int     // products with random vectors that it is made of
	Value       float64 // no eigenvalue beyond those found is larger
	Probability float64 // with which that is wrong
	Final       bool    // another scout would not tell more
}

// Raise makes a bound that is known no less than a value.
func (b *Bound) Raise(value float64) {
	if b.Known {
		b.Value = max(b.Value, value)
	}
}

// Block is the start block of the recurrence at work.
type Block struct {
	Before int  // vectors that were locked when it was started
	Given  int  // given columns, which say nothing about others
	Scout  bool // its columns were drawn after all that is locked had been found
	// Part, unless 0, is ε/‖X‖ for a block X of normal columns of which any unit vector has at least the variance
	// ε²/n: given vectors are mixed into it.
	Part float64
}

// Watch is what is known about eigenvalues outside of those found.
type Watch struct {
	Bound
	Found *found.Pairs
	// Wanted says that the search is not over before it is evident that nothing larger is hidden.
	Wanted bool
	Doubt  bool // more copies of a value found may be hidden from the recurrence at work

	Rank int     // triplets wanted
	Tol  float64 // of their residuals, relative to σ₁
}

// Few is how many random columns join k given ones at least.
func Few(k int) int { return max(2, (k+9)/10) }

// Scouts is how many random columns look outside of k vectors found by a method of some
// width, whose memory they take. The more the fewer passes it takes, and the more products.
func Scouts(width, k int) int {
	const most = 32
	return max(Few(k), min(width, most))
}

// Reset forgets the bound: it is of other vectors than those found now.
func (w *Watch) Reset() { w.Bound = Bound{} }

// Witness takes note of the evidence of the recurrence at work about eigenvalues beyond
// the pairs found and the first ones of its own, leading, that it has just found. It reports whether
// that says anything, or will after further passes.
//
// Which vector the recurrence has missed, if any, depends on the random block: it is the first
// eigenvector that is not among those found, one of k+1. Each must be ruled out. The
// vectors of a scout are independent of what it looks beyond. Given columns of the
// block count for nothing: w may be orthogonal to them, and if it is not, the share
// of the block in it is all the larger.
//
// That argument wants w to be an eigenvector whatever the block is, while the one of
// the operator deflated by vectors found in the space of the block depends on it, as
// much as they are wrong. A recurrence has no say until that is much less than δ.
func (w *Watch) Witness(e method.Evidence, b Block, leading []method.RitzPair) bool {
	columns := e.Columns()
	delta := w.leastShare(columns, b)
	if delta == 0 {
		return false
	}
	const apart = 1e-2 // relative distance of w from those it could be mixed with
	if e.Leak*float64(1+len(e.Past)) > apart*delta*min(e.Theta[0], w.Found.Share()*w.Found.Lambda1) {
		return e.Leak > judge.NearFloor*tallskinny.FloorFactor*tallskinny.Epsilon*e.Top
	}
	now := Bound{Known: true, Steps: e.Steps, Value: scout.UpperBound(e, delta), Probability: Probability}
	now.Value = max(now.Value, w.copied(leading, b, columns, func(lambda float64) float64 { return scout.Transfer(e, lambda) }))
	if !w.Known || now.Value <= w.Value || !b.Scout {
		w.Bound = now
	}
	return true
}

// Recount raises a bound that was learnt when the recurrence at work, of a block of the given number of columns, had found other pairs than leading,
// if there may be more copies of the least of these. It is for a recurrence that gives no evidence any more.
func (w *Watch) Recount(b Block, leading []method.RitzPair, columns int) {
	w.Raise(w.copied(leading, b, columns, func(float64) float64 { return 0 }))
}

// copied is the largest value of which there may be more copies than have been found, those that count as equal to it included, if the
// recurrence at work does not rule them out, and 0 if it does. They are orthogonal to the copies found, which depend on the block: of the l
// columns of the block j are spent on j copies, and the share in a further one is that of l−j columns, over √(j+1) (of the least singular
// value of a normal (j+1)×l matrix; Chen, Dongarra 2005). Nothing is left of it if j = l: of values above the least such copies are looked for
// (Doubtful).
func (w *Watch) copied(leading []method.RitzPair, b Block, columns int, transfer func(lambda float64) float64) (value float64) {
	own := append(w.since(b), leading...)
	if len(own) == 0 {
		return 0
	}
	least := slices.MinFunc(own, func(p, q method.RitzPair) int { return cmp.Compare(p.Value, q.Value) })
	ruled := 0 // copies of the least beside which one more is ruled out; so it is of larger values
	for _, p := range append([]method.RitzPair{least}, own...) {
		found := w.equal(p, own, b, columns)
		if found <= ruled || found >= columns && p.Value > least.Value+w.Found.Slack(least.Value) {
			continue
		}
		if share := w.leastShare(columns-found, b) / math.Sqrt(float64(found+1)); !(transfer(p.Value) < share) {
			value = max(value, p.Value+w.Found.Slack(p.Value))
		} else if p == least {
			ruled = found
		}
	}
	return value
}

// since are the pairs that the recurrence with a start block has found.
func (w *Watch) since(b Block) (own []method.RitzPair) {
	for i := b.Before; i < w.Found.Len(); i++ {
		own = append(own, w.Found.Pair(i))
	}
	return own
}

// equal counts the pairs that may be of one eigenspace with p: their values differ by no more than the tolerance, or than a
// recurrence mixes. What it does not see of eigenvectors that are more than its block of l columns is orthogonal to the
// block, in which each of them has a share of δ and none more than s: it is a mixture of several, and so are those
// found, whose residuals are then at least δ/(s·√(l+1)) of the difference of the values.
func (w *Watch) equal(p method.RitzPair, all []method.RitzPair, b Block, columns int) (n int) {
	share := 1.0
	if b.Part == 0 {
		share /= math.Sqrt(float64(w.Found.Basis.N))
	}
	mixes := 0.0
	if delta := w.leastShare(columns, b); delta > 0 {
		mixes = share * math.Sqrt(float64(columns+1)) / delta
	}
	for _, q := range all {
		if math.Abs(q.Value-p.Value) <= max(w.Found.Slack(p.Value), mixes*math.Hypot(p.Residual, q.Residual)) {
			n++
		}
	}
	return n
}

// leastShare is δ for a start block of the given columns, 0 if none of them is random.
func (w *Watch) leastShare(columns int, b Block) float64 {
	p, cases := columns-b.Given, float64(w.Rank+1)
	if b.Scout {
		cases = 1
	}
	if p < 1 {
		return 0
	}
	if b.Part > 0 {
		return b.Part * scout.LeastNormal(p, Probability/cases) / math.Sqrt(float64(w.Found.Basis.N))
	}
	return scout.LeastShare(p, w.Found.Basis.N-b.Before-b.Given, Probability/cases)
}

// Hidden is the share of the start block of a scout that a vector whose eigenvalue would
// count may still have, and the least one.
func (w *Watch) Hidden(e method.Evidence, b Block) (now, goal float64) {
	goal = w.leastShare(e.Columns(), b)
	if limit := w.Negligible(w.Found.Least()); limit > e.Theta[0] {
		return min(1, scout.Transfer(e, limit)), goal
	}
	return 1, goal
}

// Evident reports whether nothing that counts can be hidden above the eigenvalue least.
func (w *Watch) Evident(least float64) bool {
	return w.Known && w.Value <= w.Negligible(least)
}

// Negligible is how large an eigenvalue may be that is found beyond the least one
// that was looked for: the tolerance, and what rounding hides.
func (w *Watch) Negligible(least float64) float64 {
	f := w.Found
	sigma := f.Sigma(least) + w.Tol*f.Share()*f.Sigma(f.Lambda1)
	return f.Eigenvalue(sigma) + 16*tallskinny.FloorFactor*tallskinny.Epsilon*f.Lambda1
}

// State saves or restores what is known.
func (b *Bound) State(s *method.State) {
	s.Flag("known", &b.Known)
	s.Int("steps", &b.Steps, 0, math.MaxInt32)
	s.Float("bound", &b.Value)
	s.Float("probability", &b.Probability)
	s.Flag("final", &b.Final)
	if !(b.Value >= 0 && b.Probability >= 0) {
		s.Refuse("has a bound of %g with probability %g", b.Value, b.Probability)
	}
}

// Doubtful reports whether there may be more copies of a value that the last
// recurrence has found, while smaller values have been locked in their place:
// it has found as many copies of it as it can, or as many as were missing. warm says that its
// start vectors were all given.
func (w *Watch) Doubtful(b Block, copies int, warm bool) bool {
	f := w.Found
	if copies == 0 || f.Len() == f.Basis.N {
		return false
	}
	least, last := f.Least(), w.since(b)
	least += f.Slack(least)
	if b.Before > 0 && len(last) > 0 && !warm && slices.Min(f.Values[b.Before:]) > least {
		return true // it has not come down to the least of those found before
	}
	return slices.ContainsFunc(last, func(p method.RitzPair) bool {
		return p.Value > least && w.equal(p, last, b, copies) >= copies
	})
}

// Telling is the residual with which the leading Ritz pair of a recurrence of a number of random columns is known
// not to belong to another copy of one of the values above least.
func (w *Watch) Telling(c method.RitzPair, least float64, columns int) float64 {
	f := w.Found
	next := math.Inf(1)
	for _, v := range f.Values {
		if v > least+f.Slack(least) {
			next = min(next, v)
		}
	}
	// Of one random vector little may point to the copy, of several together next
	// to none does with a probability that falls as the power of their number.
	size := min(c.Value, f.Share()*f.Lambda1)
	blurred := size / 20
	if columns >= 4 {
		blurred = size / 4
	}
	return min(blurred, (next-c.Value)/2)
}
