package solver

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

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
		res, err = scale(info.Exponent).svd(ctx, arena, &metered{Matrix: a}, s.normalised(gram{a}, info.Rows))
		if err != nil {
			return nil, err
		}
		return res.Right, nil
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (e scale) svd(ctx context.Context, arena *tallskinny.Arena, a Matrix, s Settings) (*Result, error) {
	s.Observer = e.observer(s.Observer)
	op, err := operatorOf(arena, a, s)
	if err != nil {
		return nil, err
	}
	f := &factorisation{run: newRun(ctx, arena, op, describe(a, s), s), a: a}
	var res *Result
	err = tallskinny.UntilEnd(func() error {
		res, err = f.factorise()
		return err
	})
	if early := (*tallskinny.Interruption)(nil); errors.As(err, &early) {
		res, err = f.unfinished(f.passes.cancelled()), nil
	}
	if err != nil {
		return nil, err
	}
	for i, x := range res.Sigma {
		res.Sigma[i] = e.sigma(x)
	}
	for i, x := range res.Lambda {
		res.Lambda[i] = e.signed(x)
	}
	res.Norm = e.sigma(res.Norm)
	if s.Which.shifted() {
		res.Outside.Bound = e.signed(res.Outside.Bound)
	} else {
		res.Outside.Bound = e.bound(res.Outside.Bound)
	}
	return res, nil
}

// factorise is SVD from the beginning to the result:
//
//  1. Begin: take up a checkpoint or given vectors, and check what the matrix is said to be.
//  2. Search: run recurrences until k pairs are locked and nothing larger can be hidden.
//  3. Certify: measure them by a pass, and once more without those that a target does not need.
//  4. Reopen: search again for those that miss the tolerance, as long as that helps.
//  5. Finish: turn A·V into the left vectors, and say what has come of it all.
//
// Given start vectors are certified before they are searched with: one pass shows which of
// them are good already, and gives the best start vectors that there are in the span of the
// others. Where the context ends, the result is what is known there.
func (f *factorisation) factorise() (*Result, error) {
	given, err := f.begin()
	if err != nil {
		return nil, err
	}
	f.outside.Wanted = f.outside.Wanted || f.s.Stop == StopResidual && f.asked != Plain
	given = given && !(f.joined() && f.passes.may(f.reserve()) == NotTerminated)
	st, err := f.inspect()
	for err == nil && !f.passes.cut {
		st = Converged
		if !given {
			st, err = f.search(f.reserve)
		}
		if err != nil || f.passes.cut {
			break
		}
		err = f.certify()
		if err == nil && st == Converged && !given {
			st, err = f.trim()
		}
		if err != nil {
			st, err = f.abandon(err)
			break
		}
		again := f.offenders(given)
		if st != Converged || !given && !f.worthwhile(again) {
			break
		}
		limit := f.passes.may(1 + f.reserve())
		if limit != NotTerminated && !f.passes.cut {
			st = limit
			break
		}
		f.reopen(again, given)
		given = false
	}
	if err != nil {
		return nil, err
	}
	return f.finish(st)
}
