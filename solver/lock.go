package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/method"
)

// accept decides about the Ritz pairs of a pass as a block: those that are wanted
// are locked, in order, when the last of them is good enough. Waiting for it
// costs no pass that would not be needed anyway, every pass improves the others
// too, and what is locked together has been rotated together. Ritz pairs whose
// values are roundoff end the list. With given start vectors they also wait until it is
// evident that nothing larger is hidden, as long as the recurrence can tell. If nothing is left to be found accept locks
// an arbitrary completion, provided that the recurrence is fresh: what one that
// has gone on after a lock does not see may still be there. If a given start
// vector turns out to lie in the null space it asks for another.
func (r *run) accept(j *judge.Judge, pairs []method.RitzPair) (accepted int, restart bool) {
	j.Products++
	if j.Tol = r.tol * r.share(); r.locked.Len == 0 && len(pairs) > 1 && r.s.Stop == StopResidual {
		j.Tol *= blockSafety / safety
	}
	missing := r.missing(pairs)
	verdicts := make([]judge.Verdict, 0, min(len(pairs), missing))
	null, wait := false, false
	for i := range cap(verdicts) {
		v := j.Verdict(i, pairs[i], r.lambda1, r.noise)
		if null = v == judge.Nothing; null {
			break
		}
		wait = wait || v == judge.GoOn
		verdicts = append(verdicts, v)
	}
	if wait {
		return 0, false
	}
	if n := len(verdicts); n > 0 && n == missing {
		if r.witnessed(n) && r.told && !r.evident(pairs[n-1].Value) {
			return 0, false
		}
	}
	for _, v := range verdicts {
		r.stalled = r.stalled || v == judge.Floor && r.s.Stop == StopPaper
	}
	r.lockAll(pairs, verdicts)
	if null && r.locked.Len == r.first && !j.Warm {
		r.complete()
	}
	return len(verdicts), null
}

// lockAll locks the leading Ritz pairs of the recurrence.
func (r *run) lockAll(pairs []method.RitzPair, verdicts []judge.Verdict) {
	if r.lockBlock(pairs[:len(verdicts)]) {
		return
	}
	for i, v := range verdicts {
		r.rec.Vector(r.locked.Next(), i)
		r.lock(pairs[i], v)
	}
}

// lockBlock is lockAll for a recurrence and a rule that permit to do it at once.
func (r *run) lockBlock(pairs []method.RitzPair) bool {
	if len(pairs) < 2 || r.s.Stop == StopPaper || r.s.Deflation == Plain || r.locked.Cut > 0 {
		return false
	}
	vectors := r.rec.Vectors()
	if vectors == nil {
		return false
	}
	block := r.arena.Dense(r.n, len(pairs))
	defer r.arena.Free(block)
	x := block.RawMatrix()
	vectors(x)
	if !r.locked.OrthonormaliseAll(x) {
		return false
	}
	r.arena.SetTransposed(r.locked.Data[r.locked.Len*r.n:], x)
	for _, c := range pairs {
		r.push(c.Value, r.relative(c))
	}
	return true
}

// lock makes the vector in the next place of the basis a found one. The value
// the paper computes is one only where its rule has been met.
func (r *run) lock(c method.RitzPair, v judge.Verdict) {
	x := r.locked.Next()
	value := c.Value
	if r.s.Stop == StopPaper && v == judge.Found {
		value = c.PaperValue
	}
	if r.s.Deflation == Plain {
		r.locked.Normalise(x)
		r.noise += c.Residual + math.Abs(value-c.Value)
	} else {
		r.extend(x)
	}
	r.push(value, r.relative(c))
}

// extend makes x orthonormal to the locked vectors, or if it is in their span, random.
func (r *run) extend(x []float64) {
	if !r.locked.Orthonormalise(x) {
		r.locked.Random(x, r.s.Seed, streamRight|uint64(r.locked.Len))
	}
}

func (r *run) push(value, seen float64) {
	r.values = append(r.values, value)
	r.seen = append(r.seen, seen)
	r.locked.Push()
}

// complete fills the basis with random vectors orthogonal to it: what is left
// of the operator is zero to working precision, so any will do.
func (r *run) complete() {
	for !r.enough() {
		r.locked.Random(r.locked.Next(), r.s.Seed, streamRight|uint64(r.locked.Len))
		r.push(0, 0)
		r.nulls++
	}
}

// estimates completes the basis with what the interrupted recurrence had, then
// with given start vectors not used yet, then with random ones, so that it has
// k orthonormal vectors. The run cannot iterate after that.
func (r *run) estimates() {
	pairs := r.pairs[:min(len(r.pairs), r.missing(r.pairs))]
	if !r.lockBlock(pairs) {
		for j, c := range pairs {
			x := r.locked.Next()
			r.rec.Vector(x, j)
			if r.locked.Orthonormalise(x) {
				r.push(c.Value, r.relative(c))
			}
		}
	}
	for r.locked.Len < r.s.Rank && r.takeWarm(r.locked.Next()) {
		r.push(0, 1)
	}
	least := r.s.Rank
	if r.s.Energy > 0 {
		least = 1 // what means nothing captures nothing
	}
	for r.locked.Len < least {
		r.locked.Random(r.locked.Next(), r.s.Seed, streamRight|uint64(r.locked.Len))
		r.push(0, 1)
	}
	r.release()
}
