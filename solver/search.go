package solver

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// blockSafety takes the place of safety for vectors that are accepted together before any others: without
// deflation the residuals are the true ones.
const blockSafety = 0.9

// find runs recurrences until all vectors are locked. reserve returns the number of passes that must be left for
// finishing. The status is Converged if all vectors are locked, Stagnated if some of them will never meet the
// paper's rule; the error is for faults only.
func (r *run) find(reserve func() int) (Status, error) {
	// A recurrence at work although all vectors are locked was looking for more copies when the run was saved.
	for !r.enough() || r.outside.Doubt || r.work.rec != nil && !r.work.block.Scout {
		if st, err := r.findNext(reserve); st != Converged || err != nil {
			return st, err
		}
	}
	if err := r.boundary(); err != nil {
		return NotTerminated, err
	}
	if r.found.Stalled {
		return Stagnated, nil
	}
	return Converged, nil
}

// findNext runs one recurrence to its end and locks the pairs that it finds. If a checkpoint has restored a
// recurrence, findNext continues that one.
func (r *run) findNext(reserve func() int) (Status, error) {
	confirming := r.enough()
	if r.work.rec == nil {
		if confirming {
			r.starts.warm = nil // random vectors only
		}
		z, from := r.start()
		r.work = work{rec: r.s.Method.New(r.terms()), judge: r.newJudge(from.Given == tallskinny.Width(z)), block: from}
		r.work.rec.Start(z)
	}
	if r.s.Deflation == Projected {
		r.work.rec.Avoid(r.found.Basis)
	}
	if !confirming && r.s.Stop == StopResidual {
		r.work.rec.Aim(func(pairs []method.RitzPair) float64 {
			if r.s.Energy > 0 {
				pairs = pairs[:min(len(pairs), r.missing(pairs))]
			}
			return r.found.Worst(pairs) / r.found.Tol
		})
	}
	var y *mat.Dense
	defer func() { r.arena.Free(y) }()
	for {
		pairs, st, err := r.step(&y, reserve)
		if pairs == nil {
			r.outside.Reset() // the bound was derived for other vectors than those found now, or ignores further copies
			return st, err
		}
		index, lead := min(r.found.Len(), r.s.Rank-1), pairs[0]
		size, err := r.passes.inRange(lead, r.found.Lambda1)
		if err != nil {
			return Breakdown, err
		}
		r.found.Lambda1 = max(r.found.Lambda1, size)
		r.work.pairs = pairs
		open, worst := r.outlook(pairs)
		wanted := r.found.Len() + r.missing(pairs)
		var accepted int
		var over bool
		if confirming {
			over, r.outside.Doubt = r.checkMultiplicity(pairs)
		} else {
			accepted, over = r.accept(pairs)
			r.outside.Doubt = r.enough() && r.outside.Doubtful(r.work.block, r.about.Copies, r.work.judge.Warm)
			if r.outside.Doubt {
				r.outside.Reset() // the bound does not cover further copies
			}
		}
		e := r.event(PhaseIterate, index, lead)
		e.Rank, e.Open, e.Worst = wanted, open, worst
		if confirming {
			e.Phase = PhaseConfirm
			e.Worst, e.Goal = r.uncertain(lead)
		}
		e.More = r.outside.Doubt || !over && confirming || r.enough() && r.outside.Wanted && !r.outside.Evident(r.found.Least())
		if err := r.observe(e); err != nil {
			return NotTerminated, err
		}
		if over || accepted > 0 && (r.enough() || !r.work.rec.Lock(accepted)) {
			r.release()
			return Converged, nil
		}
		if accepted > 0 {
			r.work.judge = r.newJudge(r.work.judge.Warm)
			// The pairs are locked. The recurrence goes on with as many others, of which nothing is known before the next pass.
			r.work.pairs = slices.Repeat([]method.RitzPair{method.NewRitzPair(0, r.found.Lambda1/2)}, len(pairs))
		}
	}
}

// newJudge returns the judge of a recurrence. The tolerance of the paper's rule for values
// is that of A, not of the 2^−e·A that the run sees.
func (r *run) newJudge(warm bool) judge.Judge {
	e, of := int(scaleOf(r.op)), infoOf(r.op)
	if !r.found.Linear {
		e *= 2
	}
	single := r.about.Copies == 0 && r.about.Width(r.s.Rank) == 1
	return judge.Judge{
		Paper: r.s.Stop == StopPaper, Tol: r.found.Tol, Exponent: e, Linear: r.found.Linear, Warm: warm, Single: single, Terms: of.Terms / cmp.Or(of.Norm, 1),
	}
}

func (r *run) terms() method.Run {
	return method.Run{Memory: r.arena, Rank: r.s.Rank, Paper: r.s.Stop == StopPaper, Indefinite: r.s.Operator == Dilation}
}

// accept decides about the Ritz pairs of a pass as a block: it locks the wanted ones, in order, when the last of
// them is good enough. Waiting for the last one costs no additional pass, every pass improves the others too, and
// pairs that are locked together have been rotated together. A Ritz pair whose value is roundoff ends the list.
// As long as the recurrence gives evidence, accept also waits until no larger eigenvalue can be hidden. If
// nothing is left to be found, accept locks an arbitrary completion, provided that the recurrence has locked
// nothing before: after a lock, eigenvectors may be left that the recurrence does not see. restart asks for
// another recurrence: the operator is zero on the space of this one, for example because a given start vector
// lies in the null space.
func (r *run) accept(pairs []method.RitzPair) (accepted int, restart bool) {
	j := &r.work.judge
	j.Products++
	j.Tol = r.found.Tol * r.found.Share()
	if r.found.Len() == 0 && len(pairs) > 1 && r.s.Stop == StopResidual {
		j.Tol *= blockSafety / safety
	}
	missing := r.missing(pairs)
	verdicts := make([]judge.Verdict, 0, min(len(pairs), missing))
	null, wait := false, false
	for i := range cap(verdicts) {
		v := j.Verdict(i, pairs[i], r.found.Lambda1, r.found.Noise)
		null = v == judge.Nothing
		if null {
			break
		}
		wait = wait || v == judge.GoOn
		verdicts = append(verdicts, v)
	}
	if wait {
		return 0, false
	}
	if n := len(verdicts); n > 0 && n == missing {
		told := r.witness(n)
		if told && r.outside.Wanted && !r.outside.Evident(pairs[n-1].Value) {
			return 0, false
		}
	}
	for _, v := range verdicts {
		r.found.Stalled = r.found.Stalled || v == judge.Floor && r.s.Stop == StopPaper
	}
	r.lock(pairs, verdicts)
	if null && r.found.Len() == r.work.block.Before && !j.Warm {
		for !r.enough() {
			r.found.AddNull()
		}
	}
	return len(verdicts), null
}

// lock locks the leading Ritz pairs of the recurrence. Under StopPaper the value of a pair that meets the rule is
// the one that the paper computes.
func (r *run) lock(pairs []method.RitzPair, verdicts []judge.Verdict) {
	if r.lockBlock(pairs[:len(verdicts)]) {
		return
	}
	for i, v := range verdicts {
		x, c := r.found.Basis.Next(), pairs[i]
		r.work.rec.Vector(x, i)
		value := c.Value
		if r.s.Stop == StopPaper && v == judge.Found {
			value = c.PaperValue
		}
		if r.s.Deflation == Plain {
			r.found.Basis.Normalise(x)
			r.found.Noise += c.Residual + math.Abs(value-c.Value)
		} else {
			r.found.Extend(x)
		}
		r.found.Push(value, r.found.Relative(c))
	}
}

// lockBlock locks all Ritz pairs at once. It reports false, and locks none, if the recurrence, the stop rule, the
// deflation, or vectors that are nearly dependent do not permit that.
func (r *run) lockBlock(pairs []method.RitzPair) bool {
	if len(pairs) < 2 || r.s.Stop == StopPaper || r.s.Deflation == Plain || r.found.Basis.Cut > 0 {
		return false
	}
	vectors := r.work.rec.Vectors()
	if vectors == nil {
		return false
	}
	block := r.arena.Dense(r.n, len(pairs))
	defer r.arena.Free(block)
	vectors(block.RawMatrix())
	return r.found.AddBlock(block, pairs)
}

// estimates completes the vectors found, so that there are k orthonormal ones: first with the Ritz vectors of the
// interrupted recurrence, then with given start vectors not used yet, then with random ones. It ends the
// recurrence.
func (r *run) estimates() {
	f, pairs := r.found, r.work.pairs[:min(len(r.work.pairs), r.missing(r.work.pairs))]
	if !r.lockBlock(pairs) {
		for j, c := range pairs {
			x := f.Basis.Next()
			r.work.rec.Vector(x, j)
			if f.Basis.Orthonormalise(x) {
				f.Push(c.Value, f.Relative(c))
			}
		}
	}
	for !r.enough() && r.takeWarm(f.Basis.Next()) {
		f.Push(0, 1)
	}
	least := r.s.Rank
	if r.s.Energy > 0 {
		least = 1 // random vectors do not help to reach the target
	}
	for f.Len() < least {
		f.AddRandom(0, 1)
	}
	r.release()
}

// checkMultiplicity decides about the Ritz pairs of a recurrence that looks, from random vectors, for values
// larger than the least locked ones, and locks the pairs that it finds in place of these. done reports whether
// the recurrence is over, and more whether further such values may exist.
func (r *run) checkMultiplicity(pairs []method.RitzPair) (done, more bool) {
	f := r.found
	r.work.judge.Products++
	order := make([]int, f.Len()) // indices of the locked pairs by value, ascending
	floats.ArgsortStable(slices.Clone(f.Values), order)
	var verdicts []judge.Verdict
	for i := range min(len(pairs), len(order)) {
		v := r.work.judge.Verdict(i, pairs[i], f.Lambda1, f.Noise)
		least := f.Values[order[i]]
		if v == judge.Nothing || pairs[i].Value <= least+f.Slack(least) {
			if i > 0 || v != judge.GoOn {
				break
			}
			done = r.work.judge.Products >= judge.MinProducts && pairs[0].Residual <= r.telling(pairs[0], least)
			if done {
				r.witness(0)
			}
			return done, false
		}
		verdicts = append(verdicts, v)
	}
	if slices.Contains(verdicts, judge.GoOn) {
		return false, false
	}
	if len(verdicts) == 0 {
		r.witness(0)
		return true, false
	}
	largest := f.Values[order[len(verdicts)-1]] // of the pairs to be removed
	for _, i := range slices.Backward(slices.Sorted(slices.Values(order[:len(verdicts)]))) {
		f.Remove(i)
	}
	r.lock(pairs, verdicts)
	r.outside.Reset()
	r.witness(len(verdicts))
	r.outside.Raise(largest + f.Slack(largest))
	return true, true
}

// telling returns the residual of the leading Ritz pair at which the pair is known not to belong to another copy
// of a locked value above least.
func (r *run) telling(c method.RitzPair, least float64) float64 {
	return r.outside.Telling(c, least, tallskinny.Width(r.work.rec.Next()))
}

// uncertain returns Event.Worst and Event.Goal of a pass that looks for more copies. The leading Ritz pair either
// belongs to another copy and must converge, or must be told apart from all copies.
func (r *run) uncertain(c method.RitzPair) (now, goal float64) {
	t := r.telling(c, r.found.Least())
	if t > 0 && c.Residual > 0 {
		return min(1, c.Residual/c.Value), t / c.Value
	}
	return min(1, r.found.Relative(c)), r.found.Tol
}

// witness passes the evidence of the recurrence at work to the bound on eigenvalues beyond the pairs found and
// the first Ritz pairs of the recurrence. It reports whether further passes will make the evidence sharper until
// it is sufficient. After restarts rounding may prevent that, but it does not if the residuals are merely too
// large so far.
func (r *run) witness(first int) bool {
	if r.work.rec == nil || r.s.Stop != StopResidual || r.s.Deflation == Plain && r.work.block.Before > 0 {
		return false // plain deflation does not keep the vectors found out of the space
	}
	if r.about.Copies > 0 && !r.work.block.Scout {
		r.outside.Recount(r.work.block, r.work.pairs[:first], tallskinny.Width(r.work.rec.Next()))
	}
	e, ok := r.work.rec.Evidence(first)
	says := ok && r.outside.Witness(e, r.work.block, r.work.pairs[:first])
	return says && (len(e.Past) == 0 || !r.outside.Known)
}
