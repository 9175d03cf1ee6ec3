package solver

import "github.com/gdsvd/gdsvd/solver/method"

// lockAll locks the leading Ritz pairs of the recurrence.
func (r *run) lockAll(pairs []method.RitzPair, verdicts []verdict) {
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
