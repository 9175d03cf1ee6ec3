package solver

import (
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// maxRounds bounds how often SVD goes on after a certificate that missed the
// tolerance.
const maxRounds = 6

// SVD computes the k leading singular triplets of a and certifies them: the
// eigenvectors of G = AᵀA from the method, then a finishing pass that gives the
// left vectors, the final values and rotation, and every residual on a itself.
// Under StopResidual it goes on with the triplets that miss the tolerance.
//
// The error is for faults: a pass or a RowStore that failed, an observer that
// wants to stop, numbers out of range; the result is nil then. A run that ended
// before convergence is not a fault: its result holds what there is, with
// honest residuals. Within MaxPasses one pass is always kept for the
// certificate, so a limit of 1 certifies the start vectors, and one more to measure
// left vectors that complete the others, as long as the recurrence does not show
// that there will be none.
func SVD(ctx context.Context, a Matrix, s Settings) (*Result, error) {
	var res *Result
	arena, info := tallskinny.NewArena(ctx, s.Space, s.Workers), a.Info()
	err := arena.Guarded(func() (_ *mat.Dense, err error) {
		if res, err = scale(info.Exponent).svd(ctx, arena, &metered{Matrix: a}, s.normalised(gram{a}, info.Rows)); err != nil {
			return nil, err
		}
		return res.Right, nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func svd(ctx context.Context, arena *tallskinny.Arena, a Matrix, s Settings) (*Result, error) {
	op, err := operatorOf(arena, a, s)
	if err != nil {
		return nil, err
	}
	f := &factorisation{run: newRun(ctx, arena, op, describe(a, s), s), a: a}
	var res *Result
	err = tallskinny.UntilEnd(func() error {
		res, err = f.complete()
		return err
	})
	if early := (*tallskinny.Interruption)(nil); errors.As(err, &early) {
		return f.unfinished(f.cancelled()), nil
	}
	return res, err
}

// complete runs f from its beginning to its result.
func (f *factorisation) complete() (*Result, error) {
	if err := f.begin(); err != nil {
		return nil, err
	}
	st, err := f.solve()
	if err != nil {
		return nil, err
	}
	switch {
	case f.cut && (f.arena.Outside() || f.s.Which.signed() && f.cert == nil):
		return f.unfinished(st), nil
	case f.cut && f.cert != nil:
		return f.interrupted(st), nil
	case f.cut:
		return f.uncertified(st), nil
	}
	return f.result(st), nil
}

// factorisation is a run on a Matrix with its finishing passes.
type factorisation struct {
	*run
	a        Matrix
	orthLeft float64
	limited  bool // MaxPasses left no pass to measure completed left vectors
}

// reserve is the number of passes to keep back: the certificate, and the
// product that measures completed left vectors if there may be any.
func (f *factorisation) reserve() int {
	if f.s.Left != nil && (f.nulls > 0 || f.unsettled()) {
		return 2
	}
	return 1
}

// unsettled reports whether a certificate made now may have values that are zero:
// some of its vectors would be random, or their eigenvalues are roundoff.
func (f *factorisation) unsettled() bool {
	open := f.missing(f.pairs)
	if open > len(f.pairs) {
		return true
	}
	for _, c := range f.pairs[:open] {
		if c.Value <= judge.NearFloor*tallskinny.FloorFactor*tallskinny.Epsilon*f.lambda1 {
			return true
		}
	}
	return false
}

// solve iterates and certifies until nothing more can be gained, then finishes
// the left vectors. Given start vectors are certified before anything else: one
// pass shows which of them are good already, and gives the best start vectors
// that there are in the span of the others.
func (f *factorisation) solve() (Status, error) {
	f.orthLeft = math.NaN()
	given := f.told && f.given && !(f.joined() && f.mayPass(f.reserve()) == NotTerminated)
	if st, err := f.inspect(); err != nil || f.cut {
		return st, err
	}
	st, err := Converged, error(nil)
	for {
		if !given {
			st, err = f.search(f.reserve)
		}
		if err != nil || f.cut {
			return st, err
		}
		f.estimates() // none if all have been found
		f.lower()
		if err := f.certify(); err != nil {
			return f.abandon(err)
		}
		keep := f.sufficient()
		if st == Converged && !given && keep < len(f.cert.Sigma) {
			if limit := f.mayPass(f.reserve() - 1); limit != NotTerminated && !f.cut {
				st = limit
			} else if err := f.trim(keep); err != nil {
				return f.abandon(err)
			}
		}
		again, short := f.offenders(given), f.short()
		if st != Converged || len(again) == 0 && !given && !short {
			break
		}
		if len(again) > 0 && !given && (f.round == maxRounds || !f.improving()) {
			break
		}
		if limit := f.mayPass(1 + f.reserve()); limit != NotTerminated && !f.cut {
			st = limit
			break
		}
		f.reopen(again, given, keep)
		given = false
	}
	passes := f.stats.Passes
	if err := f.finishing(f.finishLeft); err != nil {
		return f.abandon(err)
	}
	if f.stats.Passes > passes {
		err = f.observe(f.finishEvent())
	}
	return f.outcome(st), err
}

// outcome is the status in the light of the certificate.
func (f *factorisation) outcome(st Status) Status {
	if f.s.Stop != StopResidual {
		return st
	}
	leading := !f.told || f.beyond(f.cert.Sigma, f.cert.Frobenius).Leading
	if f.cert.Converged(f.s.Tol) == len(f.cert.Sigma) && leading {
		return Converged
	}
	switch {
	case st == Converged && f.limited:
		return PassLimit
	case st == Converged:
		return Stagnated
	}
	return st
}

// orthonormal makes the locked vectors orthonormal, as those of the projected
// deflation are already, and returns them as an n×k block. From here on the
// deflation is projected whatever was asked for: leaks would do no good.
func (f *factorisation) orthonormal() *mat.Dense {
	f.project()
	return f.locked.Block(f.arena.Dense(f.n, f.locked.Len))
}

// project makes the deflation projected.
func (r *run) project() {
	if r.s.Deflation != Plain {
		return
	}
	k := r.locked.Len
	r.locked.Reset()
	for range k {
		r.extend(r.locked.Next())
		r.locked.Push()
	}
	r.s.Deflation = Projected
	r.deflate(Projected)
}

// offenders returns the triplets whose residual misses the tolerance by more
// than rounding in the operator explains. Those without a value are to be
// searched for if their vectors were given, and have been if not.
func (f *factorisation) offenders(given bool) []int {
	var out []int
	if f.s.Stop != StopResidual {
		return nil
	}
	c := f.cert
	for i := range c.Rank {
		r := c.Doubt(i)
		seen := r // by the operator, relative to λ₁
		if !f.linear {
			seen *= c.Sigma[i] / c.Norm
		}
		if r > f.s.Tol && seen > 4*tallskinny.FloorFactor*tallskinny.Epsilon {
			out = append(out, i)
		}
	}
	if given {
		for i := c.Rank; i < len(c.Sigma); i++ {
			out = append(out, i)
		}
	}
	return out
}

// improving reports whether the last round has at least halved the largest
// residual.
func (f *factorisation) improving() bool {
	worst := 0.0
	for i := range f.cert.Residuals {
		worst = max(worst, f.cert.Doubt(i))
	}
	ok := f.lastWorst == 0 || worst <= f.lastWorst/2
	f.lastWorst = worst
	return ok
}

// reopen makes the first keep triplets of the certificate the locked ones, except for
// those in again, which are to be found again: from where they are, multiplied
// by G once more, since the certificate has done that. What has been found
// before is to be found more accurately than last time. Start vectors that are
// left of the given ones come after those.
func (f *factorisation) reopen(again []int, given bool, keep int) {
	spare := f.warm
	if !given {
		spare = nil
		if len(again) > 0 {
			f.tol /= 4
			f.round++
		}
	}
	f.relock(again, keep)
	f.warm = append(f.warm, spare...)
	f.arena.Free(f.cert.Product)
	f.cert.Product = nil
}

// relock locks the first keep triplets of the certificate but those in again, which become
// the start vectors.
func (f *factorisation) relock(again []int, keep int) {
	c := f.cert
	f.locked.Reset()
	f.values, f.seen, f.warm, f.nulls, f.noise = f.values[:0], f.seen[:0], nil, 0, 0
	f.lambda1, f.outside = max(f.lambda1, f.eigenvalue(c.Norm)), lookout{} // of other vectors
	for i := range keep {
		if len(again) > 0 && again[0] == i {
			again = again[1:]
			if i < c.Rank {
				x := tallskinny.Column(f.arena.Dense(f.n, 1))
				f.arena.CopyColumn(x, c.Product, i)
				f.warm = append(f.warm, x)
			}
			continue
		}
		f.arena.CopyColumn(f.locked.Next(), c.Right, i)
		f.locked.Orthonormalise(f.locked.Next())
		f.push(f.eigenvalue(c.Sigma[i]), c.Residuals[i])
		if i >= c.Rank {
			f.nulls++
		}
	}
}

func (f *factorisation) finishEvent() Event {
	c := f.cert
	worst := c.Worst()
	value := c.Sigma[worst]
	if c.Lambda != nil {
		value = c.Lambda[worst]
	}
	return Event{
		Phase: PhaseFinish, Pass: f.stats.Passes, Triplet: worst, Locked: c.Converged(f.s.Tol), Rank: len(c.Sigma),
		Sigma: value, Residual: c.Residuals[worst], Open: len(c.Sigma), Worst: c.Residuals[worst],
		Goal: f.s.Tol, Tol: f.s.Tol, Stats: f.cost(),
	}
}
