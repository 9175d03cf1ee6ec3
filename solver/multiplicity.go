package solver

import (
	"cmp"
	"math"
	"slices"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// startWidth returns the width of the start block of the next recurrence.
func (r *run) startWidth() int {
	t := r.about
	if l := len(r.warm); t.Copies > 0 && l > 0 && r.joined() {
		return min(l+max(few(r.s.Rank), t.Copies), r.n)
	}
	if t.Copies > 0 && r.enough() {
		return r.probeWidth()
	}
	return min(t.Width(max(r.missing(nil), 1)), r.n-r.locked.Len)
}

// joined reports whether the recurrence to come is the first of a method that takes
// in all given vectors at once: together with random columns they are its block.
func (r *run) joined() bool {
	ok := r.about.Copies > 0 || r.about.Width(r.s.Rank) >= r.s.Rank+few(r.s.Rank)
	return ok && r.told && r.starts == 0 && r.locked.Len == 0
}

// slack is the difference below which eigenvalues near λ count as equal.
func (r *run) slack(lambda float64) float64 {
	return 2*r.tol*r.share()*math.Sqrt(max(lambda, 0)*r.lambda1) + judge.NearFloor*tallskinny.Epsilon*r.lambda1
}

// doubtful reports whether there may be more copies of a value that the last
// recurrence has found, while smaller values have been locked in their place:
// it has found as many copies of it as it can, or as many as were missing.
func (r *run) doubtful() bool {
	if r.about.Copies == 0 || r.locked.Len == r.n {
		return false
	}
	least, last := slices.Min(r.values), r.values[r.first:]
	if r.first > 0 && len(last) > 0 && !r.judge.Warm && slices.Min(last) > least+r.slack(least) {
		return true // it has not come down to the least of those found before
	}
	for _, v := range last {
		if v <= least+r.slack(least) {
			continue
		}
		equal := 0
		for _, w := range last {
			if math.Abs(w-v) <= r.slack(v) {
				equal++
			}
		}
		if equal >= r.about.Copies {
			return true
		}
	}
	return false
}

// checkMultiplicity decides about the Ritz pairs of a recurrence that looks, from random
// vectors, for values larger than the least ones locked, and exchanges what it
// finds for them. It reports whether the recurrence is over, and whether there
// may be still more.
func (r *run) checkMultiplicity(pairs []method.RitzPair) (done, more bool) {
	r.judge.Products++
	order := make([]int, r.locked.Len) // of the locked ones, ascending
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.values[i], r.values[j]) })
	var verdicts []judge.Verdict
	for i := range min(len(pairs), len(order)) {
		v := r.judge.Verdict(i, pairs[i], r.lambda1, r.noise)
		least := r.values[order[i]]
		if v == judge.Nothing || pairs[i].Value <= least+r.slack(least) {
			if i == 0 && v == judge.GoOn {
				if done = r.below(pairs[0], least); done {
					r.witnessed(0)
				}
				return done, false
			}
			break
		}
		verdicts = append(verdicts, v)
	}
	if slices.Contains(verdicts, judge.GoOn) {
		return false, false
	}
	if len(verdicts) > 0 {
		r.outside = lookout{}
	}
	r.witnessed(len(verdicts))
	r.exchange(pairs, verdicts, order)
	return true, len(verdicts) > 0
}

// below reports whether the leading Ritz pair is known well enough to say that
// it does not belong to another copy of one of the locked values above least.
func (r *run) below(c method.RitzPair, least float64) bool {
	return r.judge.Products >= judge.MinProducts && c.Residual <= r.telling(c, least)
}

// telling is the residual of the leading Ritz pair with which it is known well enough.
func (r *run) telling(c method.RitzPair, least float64) float64 {
	next := math.Inf(1)
	for _, v := range r.values {
		if v > least+r.slack(least) {
			next = min(next, v)
		}
	}
	// Of one random vector little may point to the copy, of several together next
	// to none does with a probability that falls as the power of their number.
	size := min(c.Value, r.share()*r.lambda1)
	blurred := size / 20
	if tallskinny.Width(r.rec.Next()) >= 4 {
		blurred = size / 4
	}
	return min(blurred, (next-c.Value)/2)
}

// uncertain is Event.Worst and Event.Goal of a pass that looks for more copies: the
// leading Ritz pair is one, which is to be found, or is to be told from all of them.
func (r *run) uncertain(c method.RitzPair) (now, goal float64) {
	if t := r.telling(c, slices.Min(r.values)); t > 0 && c.Residual > 0 {
		return min(1, c.Residual/c.Value), t / c.Value
	}
	return min(1, r.relative(c)), r.tol
}

// exchange locks the leading Ritz pairs in the place of the locked vectors that
// come first in order.
func (r *run) exchange(pairs []method.RitzPair, verdicts []judge.Verdict, order []int) {
	drop := slices.Sorted(slices.Values(order[:len(verdicts)]))
	for _, i := range slices.Backward(drop) {
		if i >= r.locked.Len-r.nulls {
			r.nulls--
		}
		r.locked.Remove(i)
		r.values = slices.Delete(r.values, i, i+1)
		r.seen = slices.Delete(r.seen, i, i+1)
	}
	r.lockAll(pairs, verdicts)
}
