package solver

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Outside bounds what a result may have missed: ‖A − AVVᵀ‖ ≤ Bound for the right
// vectors V that were found, so no singular value beyond those is larger. Leading says
// that Bound is no larger than the least value found: the values found are the leading
// ones. Otherwise one between the two could be hidden.
//
// The statement is wrong with at most the given Probability, which is one over the
// random vectors of the seed and not over matrices. It takes the vectors that were
// found for singular vectors, which they are to within their residuals.
//
// A residual says that a triplet is singular, never that it is among the k leading
// ones: in the span of given vectors everything may be singular, and nothing
// leading. Result.Outside says how large a value can be that was missed: none beyond
// those found is above its Bound, but for its Probability.
//
// The evidence comes from random vectors. A space that has grown from a random
// block, after enough products for its largest Ritz values to have settled, can have
// overlooked a larger eigenvalue only if the block was nearly orthogonal to its
// eigenvector, and how probable that is is known: see Evidence. It
// is Krylov's own space where that has not been restarted, at no cost. Otherwise
// the bound is √(‖A‖²_F − Σσ²), which is weak and never wrong; it may well be above
// the least value found, and then the result says that something may be hidden
// there, without being any worse than a result without a bound. A block has no part in more
// dimensions of an eigenspace than it has columns: where as many copies of the least value have been
// found, there may be more, and the bound is no less than that value.
//
// A run from given vectors, or one that a checkpoint says began so, does not end
// without evidence (Outside.Leading): a bound within 2·Tol·σ₁ of the least value found, or below what
// the operator can see. Krylov multiplies the given vectors together with
// max(2, k/10, b) random ones in one wide block, whose space is the evidence, and
// Block has at least as many in its own. For other methods than Krylov, and where that space had to be restarted before it was enough, the
// deflated operator is multiplied with random vectors orthogonal to those found, at
// least max(2, k/10), as long as it takes (PhaseOutside). Should something larger turn up, what was
// given is forgotten and the search begins from random vectors. A limit that ends the
// run before that makes its status that of the limit, whatever the residuals are.
//
// Values at roundoff are set to exactly 0, and their left vectors, which A does
// not determine, complete the others to an orthonormal set.
type Outside struct {
	// Steps is how many products of the operator with random vectors outside of
	// what was given and found the bound is made of; 0 if it is that of the
	// remaining energy, √(‖A‖²_F − Σσ²), which is never wrong.
	Steps       int
	Bound       float64
	Probability float64
	// Leading allows for 2·Tol·σ₁, as the least value may have moved by its residual
	// since the search compared it, and for what the operator cannot see. A run from
	// given vectors has Converged only if it is set.
	Leading bool
}

// outsideProbability is that with which a bound may be wrong.
const outsideProbability = 1e-6

// lookout is an Outside in terms of the operator.
type lookout struct {
	known       bool
	steps       int
	value       float64 // no eigenvalue beyond those found is larger
	probability float64
}

// few is how many random columns join k given ones at least.
func few(k int) int { return max(2, (k+9)/10) }

// GivenWidth is the number of columns of the widest block that a run for k triplets
// with a method multiplies if it is given start vectors.
func GivenWidth(m method.Method, k int) int {
	t := m.Traits(k)
	w := t.Width(k)
	most := max(w, scoutsBeside(w, k))
	if t.Copies > 0 {
		most = max(most, k+max(few(k), w))
	}
	return most
}

// scouts is how many random columns are to look outside of the vectors found. The more
// the fewer passes it takes; a method of one vector has no memory for many. Twice as
// many must fit into the space that is left, for the next block.
func (r *run) scouts() int {
	k := r.s.Rank
	return max(1, min(scoutsBeside(r.about.Width(k), k), (r.n-r.locked.Len)/2))
}

// scoutsBeside is scouts for a method of some width.
func scoutsBeside(width, k int) int {
	if width == 1 {
		return few(k)
	}
	const most = 32
	return max(few(k), min(2*k, most))
}

// witnessed takes note of what the recurrence at work says about eigenvalues beyond
// those it has just found, and reports whether it says anything.
//
// Which vector it has missed, if any, depends on the random block: it is the first
// eigenvector that is not among those found, one of k+1. Each must be ruled out. The
// vectors of a scout are independent of what it looks beyond. Given columns of the
// block count for nothing: w may be orthogonal to them, and if it is not, the share
// of the block in it is all the larger.
//
// That argument wants w to be an eigenvector whatever the block is, while the one of
// the operator deflated by vectors found in the space of the block depends on it, as
// much as they are wrong. A recurrence has no say until that is much less than δ.
func (r *run) witnessed(found int) bool {
	if r.rec == nil || r.s.Stop != StopResidual || r.s.Deflation == Plain && r.first > 0 {
		return false // plain deflation keeps nothing out of the space of w
	}
	e, ok := r.rec.Evidence(found)
	if !ok {
		return false
	}
	delta := r.leastShare(tallskinny.Width(e.First))
	if delta == 0 {
		return false
	}
	const apart = 1e-2 // relative distance of w from those it could be mixed with
	if e.Leak > apart*delta*min(e.Theta[0], r.share()*r.lambda1) {
		return false
	}
	now := lookout{true, e.Steps, scout.UpperBound(e, delta), outsideProbability}
	now.value = max(now.value, r.copied(found, tallskinny.Width(e.First)-r.taken))
	if !r.outside.known || now.value <= r.outside.value || !r.scouting {
		r.outside = now
	}
	return true
}

// copied is the least eigenvalue found, with the first found pairs, if the recurrence at work has found as many of it
// as its block has random columns, and 0 if not. There may be more of it, which the block says nothing of: vectors of the
// eigenspace that are orthogonal to a block are always there if it has fewer columns than the space has dimensions.
// (Copies of larger values are looked for: see doubtful.)
func (r *run) copied(found, columns int) float64 {
	own := slices.Clone(r.values[r.first:])
	for _, c := range r.pairs[:found] {
		own = append(own, c.Value)
	}
	if len(own) == 0 {
		return 0
	}
	least, equal := slices.Min(own), 0
	for _, v := range own {
		if v <= least+r.slack(least) {
			equal++
		}
	}
	if equal < columns {
		return 0
	}
	return min(least, slices.Min(append(own, r.values...)))
}

// leastShare is δ for a start block of the given columns, 0 if none of them is random.
func (r *run) leastShare(columns int) float64 {
	p, cases := columns-r.taken, float64(r.s.Rank+1)
	if r.scouting {
		cases = 1
	}
	if p < 1 {
		return 0
	}
	return scout.LeastShare(p, r.n-r.first-r.taken, outsideProbability/cases)
}

// hidden is Event.Worst and Event.Goal of a pass of a scout: the share of its start
// block that a vector whose eigenvalue would count may still have, and the least one.
func (r *run) hidden(least float64) (now, goal float64) {
	e, _ := r.rec.Evidence(0)
	goal = r.leastShare(tallskinny.Width(e.First))
	if limit := r.negligible(least); limit > e.Theta[0] {
		return min(1, scout.Transfer(e, limit)), goal
	}
	return 1, goal
}

// evident reports whether nothing that counts can be hidden above an eigenvalue
// that was found.
func (r *run) evident(least float64) bool {
	return r.outside.known && r.outside.value <= r.negligible(least)
}

// negligible is how large an eigenvalue may be that is found beyond the least one
// that was looked for: the tolerance, and what rounding hides.
func (r *run) negligible(least float64) float64 {
	sigma := r.sigma(least) + r.s.Tol*r.share()*r.sigma(r.lambda1)
	return r.eigenvalue(sigma) + 16*tallskinny.FloorFactor*tallskinny.Epsilon*r.lambda1
}

// search is find for start vectors that may have been given: the residuals of what
// they lead to say that it is singular, not that it is leading. It goes on until
// nothing larger can be hidden; what turns out to be is found from random vectors,
// and what was given is forgotten. At a coarse tolerance those may mislead, too: then
// others have to do better.
func (r *run) search(reserve func() int) (Status, error) {
	for {
		st, err := r.find(reserve)
		if st != Converged || err != nil || !r.told {
			return st, err
		}
		misled, st, err := r.lookOutside(reserve)
		if st != Converged || err != nil || !misled {
			return st, err
		}
		if r.tol < r.s.Tol/1e6 {
			return Stagnated, nil
		}
		r.forget()
		if err := r.boundary(); err != nil {
			return NotTerminated, err
		}
	}
}

// lookOutside multiplies random vectors orthogonal to those found until it is
// evident that nothing larger is there, or that something is.
func (r *run) lookOutside(reserve func() int) (misled bool, _ Status, err error) {
	if r.locked.Len == r.n {
		r.outside = lookout{known: true}
	}
	least := slices.Min(r.values)
	if r.rec == nil && r.evident(least) {
		return false, Converged, nil
	}
	if r.rec == nil {
		r.project()
		z := r.arena.Dense(r.n, r.scouts())
		r.arena.Gaussian(z, 0, r.s.Seed, streamOutside|r.starts)
		r.starts++
		r.locked.ProjectAll(z.RawMatrix())
		r.rec, r.pairs, r.first, r.scouting = scout.New(r.arena), nil, r.locked.Len, true
		r.rec.Start(z)
		r.taken = 0
	}
	s := r.rec.(*scout.Scout)
	s.Avoid(r.locked)
	var y *mat.Dense
	defer func() { r.arena.Free(y) }()
	for {
		pairs, st, err := r.step(&y, reserve)
		if pairs == nil {
			return false, st, err
		}
		lead := pairs[0]
		r.lambda1 = max(r.lambda1, math.Hypot(lead.Value, lead.Residual))
		r.witnessed(0)
		misled = lead.Value > r.negligible(least)
		e := r.event(PhaseOutside, r.locked.Len-1, lead)
		e.Open = 0
		e.Worst, e.Goal = r.hidden(least)
		e.More = misled || !s.Over() && !r.evident(least)
		if err := r.observe(e); err != nil {
			return false, NotTerminated, err
		}
		if misled || s.Over() || r.evident(least) {
			r.release()
			r.scouting = false
			if !misled {
				err = r.boundary()
			}
			return misled, Converged, err
		}
	}
}

// forget begins the run anew from random vectors.
func (r *run) forget() {
	r.locked.Reset()
	r.values, r.seen = r.values[:0], r.seen[:0]
	r.nulls, r.noise, r.stalled, r.doubt = 0, 0, false, false
	r.outside = lookout{}
	r.tol, r.round, r.lastWorst = r.tol/4, 0, 0
	for _, x := range r.warm {
		r.arena.Release(x)
	}
	r.warm = nil
	if r.cert != nil {
		r.arena.Free(r.cert.Right, r.cert.Product)
		r.cert = nil
	}
}

// beyond returns the Outside of a result with the given values, descending, of a
// matrix with a known Frobenius norm.
func (r *run) beyond(sigma []float64, frobenius float64) Outside {
	o := r.remainder(sigma, frobenius)
	least := r.eigenvalue(sigma[len(sigma)-1] + r.s.Tol*r.share()*sigma[0])
	o.Leading = r.eigenvalue(o.Bound) <= r.negligible(least)
	return o
}

// remainder is beyond without Leading. Rounding of the sums is allowed for.
func (r *run) remainder(sigma []float64, frobenius float64) Outside {
	if frobenius == 0 || len(sigma) == r.n {
		return Outside{}
	}
	rest := 1.0
	shift, _ := r.shift()
	for _, s := range sigma {
		rest -= ((s - shift) / frobenius) * ((s - shift) / frobenius)
	}
	const rounding = 1e-12
	rest = max(rest, 0) + rounding
	all := Outside{Bound: frobenius*math.Sqrt(rest) + shift}
	if r.outside.known {
		if b := r.sigma(r.outside.value); b < all.Bound {
			return Outside{Steps: r.outside.steps, Bound: b, Probability: r.outside.probability}
		}
	}
	return all
}
