// Package outside keeps what a search knows about eigenvalues that it has not found: bounds on larger eigenvalues, and
// whether more copies of the eigenvalues found may be hidden.
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

// Probability is the probability with which a bound may be wrong.
const Probability = 1e-6

// Bound is an upper bound on the eigenvalues beyond those found.
type Bound struct {
	Known       bool
	Steps       int     // products with random vectors that the bound is based on
	Value       float64 // no eigenvalue beyond those found is larger
	Probability float64 // probability that Value is wrong
	Final       bool    // another scout would not improve the bound
}

// Raise raises a known bound to value if it is smaller.
func (b *Bound) Raise(value float64) {
	if b.Known {
		b.Value = max(b.Value, value)
	}
}

// Block describes the start block of the recurrence at work.
type Block struct {
	Before int  // vectors that were locked before its start
	Given  int  // given columns, which are no evidence
	Scout  bool // its columns were drawn after all locked vectors had been found
	// Part, unless 0, is ε/‖X‖ for a block X that given vectors are mixed into: for any unit vector w the entries of wᵀX are
	// normal with a variance of at least ε²/n.
	Part float64
}

// Watch keeps what is known about eigenvalues beyond those found.
type Watch struct {
	Bound
	Found *found.Pairs
	// Wanted is set if the search goes on until it is evident that nothing larger is hidden.
	Wanted bool
	Doubt  bool // more copies of a value found may be hidden from the recurrence at work

	Rank int     // triplets wanted
	Tol  float64 // tolerance of their residuals, relative to σ₁
}

// Few returns the least number of random columns that are added to k given columns.
func Few(k int) int { return max(2, (k+9)/10) }

// Scouts returns the number of random columns that look beyond k vectors found by a method of the given width, in its
// memory. More columns take fewer passes and more products.
func Scouts(width, k int) int {
	const most = 32
	return max(Few(k), min(width, most))
}

// Reset forgets the bound, because the vectors found have changed since.
func (w *Watch) Reset() { w.Bound = Bound{} }

// Witness updates the bound with the evidence of the recurrence at work about eigenvalues beyond the pairs found and beyond
// leading, the first Ritz pairs of the recurrence, which it has just found. It reports whether the evidence says anything,
// or will after further passes.
//
// Which eigenvector w the recurrence has missed, if any, depends on the random block: w is the first eigenvector that is not
// among those found, one of k+1. Each must be ruled out. The columns of a scout are independent of the vectors that it looks
// beyond. Given columns of the block count for nothing: w may be orthogonal to them, and if it is not, its share in the
// block is all the larger.
//
// That argument requires that w does not depend on the block. But the operator is deflated by vectors found in the space of
// the block, and its eigenvectors depend on the block as much as those vectors are wrong. The evidence of a recurrence does
// not count until that is much less than δ.
func (w *Watch) Witness(e method.Evidence, b Block, leading []method.RitzPair) bool {
	columns := e.Columns()
	delta := w.leastShare(columns, b)
	if delta == 0 {
		return false
	}
	const apart = 1e-2 // relative distance of λ from the values of vectors that w could be mixed with
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

// Recount raises the bound if there may be more copies of the least value of leading. It is for a recurrence, of a block of
// the given number of columns, that gives no evidence any more, and whose bound dates from when it had found other pairs
// than leading.
func (w *Watch) Recount(b Block, leading []method.RitzPair, columns int) {
	w.Raise(w.copied(leading, b, columns, func(float64) float64 { return 0 }))
}

// copied returns the largest value, plus its Slack, of which there may be more copies than have been found, unless the
// recurrence at work rules them out, and 0 if it rules out all. Further copies are orthogonal to the copies found, which
// depend on the block: of the l columns of the block j are spent on j copies, and the share in a further copy is that of l−j
// columns, over √(j+1) (of the least singular value of a normal (j+1)×l matrix; Chen, Dongarra 2005). No share is left if j
// = l: copies of values above the least one are then looked for by another recurrence (Doubtful).
func (w *Watch) copied(leading []method.RitzPair, b Block, columns int, transfer func(lambda float64) float64) (value float64) {
	own := append(w.since(b), leading...)
	if len(own) == 0 {
		return 0
	}
	least := slices.MinFunc(own, func(p, q method.RitzPair) int { return cmp.Compare(p.Value, q.Value) })
	ruled := 0 // number of copies of the least value beside which one more is ruled out, also for larger values
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

// since returns the pairs that the recurrence with start block b has found.
func (w *Watch) since(b Block) (own []method.RitzPair) {
	for i := b.Before; i < w.Found.Len(); i++ {
		own = append(own, w.Found.Pair(i))
	}
	return own
}

// equal counts the pairs that may be of one eigenspace with p: their values differ by no more than the tolerance, or so
// little that the recurrence mixes them. If there are more eigenvectors than the l columns of the block, the recurrence does
// not see the combinations that are orthogonal to the block. Each eigenvector has a share of at least δ in the block, and of
// at most s, so such a combination is a mixture of several eigenvectors, and so are the vectors found: their residuals are
// at least δ/(s·√(l+1)) of the difference of the values.
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

// leastShare returns δ for a start block of the given number of columns; 0: none of them is random.
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

// Hidden returns the share in the start block of a scout that a vector whose eigenvalue would count may still have, and the
// share below which it is ruled out.
func (w *Watch) Hidden(e method.Evidence, b Block) (now, goal float64) {
	goal = w.leastShare(e.Columns(), b)
	if limit := w.Negligible(w.Found.Least()); limit > e.Theta[0] {
		return min(1, scout.Transfer(e, limit)), goal
	}
	return 1, goal
}

// Evident reports whether the bound shows that no eigenvalue that counts is hidden above least.
func (w *Watch) Evident(least float64) bool {
	return w.Known && w.Value <= w.Negligible(least)
}

// Negligible returns the largest eigenvalue that does not count beyond the least one found: larger by the tolerance and by
// the size of rounding errors.
func (w *Watch) Negligible(least float64) float64 {
	f := w.Found
	sigma := f.Sigma(least) + w.Tol*f.Share()*f.Sigma(f.Lambda1)
	return f.Eigenvalue(sigma) + 16*tallskinny.FloorFactor*tallskinny.Epsilon*f.Lambda1
}

// State saves or restores the bound.
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

// Doubtful reports whether there may be more copies of a value that the last recurrence has found, while smaller values have
// been locked in their place: it has found the given number of copies, as many as it can, or as many pairs as were missing.
// warm is set if all its start vectors were given.
func (w *Watch) Doubtful(b Block, copies int, warm bool) bool {
	f := w.Found
	if copies == 0 || f.Len() == f.Basis.N {
		return false
	}
	least, last := f.Least(), w.since(b)
	least += f.Slack(least)
	if b.Before > 0 && len(last) > 0 && !warm && slices.Min(f.Values[b.Before:]) > least {
		return true // its values do not come down to the least value found before
	}
	return slices.ContainsFunc(last, func(p method.RitzPair) bool {
		return p.Value > least && w.equal(p, last, b, copies) >= copies
	})
}

// Telling returns the residual below which c, the leading Ritz pair of a recurrence of the given number of random columns,
// is known not to belong to another copy of a value above least.
func (w *Watch) Telling(c method.RitzPair, least float64, columns int) float64 {
	f := w.Found
	next := math.Inf(1)
	for _, v := range f.Values {
		if v > least+f.Slack(least) {
			next = min(next, v)
		}
	}
	// One random vector may have little in the direction of the copy; that several vectors together have next to nothing in
	// it has a probability that falls as the power of their number.
	size := min(c.Value, f.Share()*f.Lambda1)
	blurred := size / 20
	if columns >= 4 {
		blurred = size / 4
	}
	return min(blurred, (next-c.Value)/2)
}
