package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// SVD computes the k leading singular triplets of a and certifies them: the
// eigenvectors of G = AᵀA from the method, then a finishing pass that gives the
// left vectors, the final values and rotation, and every residual on a itself.
// Under StopResidual it goes on with the triplets that miss the tolerance.
//
// The error is for faults: a pass or a RowStore that failed, an Observer that
// returned an error, numbers out of range; the result is nil then. A run that ended
// before convergence is not a fault: its result holds the triplets found so far, with
// their residuals. Within MaxPasses SVD always keeps one pass for the certificate, so
// that a limit of 1 certifies the start vectors. It keeps one more pass for measuring
// completed left vectors, until the recurrence shows that no left vectors need completion.
func SVD(ctx context.Context, a Matrix, s Settings) (*Result, error) {
	arena, info := tallskinny.NewArena(ctx, s.Space, s.Workers), a.Info()
	return guarded(arena, (*Result).vectors, func() (*Result, error) {
		return scale(info.Exponent).svd(ctx, arena, &metered{Matrix: a}, s.normalised(gram{a}, info.Rows))
	})
}

func (r *Result) vectors() *mat.Dense      { return r.Right }
func (r *EigenResult) vectors() *mat.Dense { return r.Vectors }

// guarded returns the result of f, whose vectors are kept when the arena is closed. If f panics, it returns the
// error that Arena.Guarded makes of the panic.
func guarded[R any](arena *tallskinny.Arena, vectors func(*R) *mat.Dense, f func() (*R, error)) (res *R, err error) {
	err = arena.Guarded(func() (*mat.Dense, error) {
		if res, err = f(); err != nil {
			return nil, err
		}
		return vectors(res), nil
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
	res, err := untilEnd(f.run, f.factorise, f.unfinished)
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
//  1. Begin: restore a checkpoint or take up given vectors, and check that a Symmetric matrix is symmetric.
//  2. Search: run recurrences until k pairs are locked and no larger value can be hidden.
//  3. Certify: measure the pairs by a pass.
//  4. Trim or reopen: drop pairs that a target does not need, or search again for pairs that miss the
//     tolerance, as long as that helps.
//  5. Finish: turn A·V into the left vectors and assemble the result.
//
// Given start vectors are certified before the search, unless they join its first block: one pass shows which of
// them are good already, and gives the best start vectors in the span of the others. If the context ends, the
// result is what is known then.
func (f *factorisation) factorise() (*Result, error) {
	given, err := f.begin()
	if err != nil {
		return nil, err
	}
	f.outside.Wanted = f.outside.Wanted || f.s.Stop == StopResidual && f.asked != Plain
	if f.outside.Wanted && f.about.Copies > 0 {
		const free = 1e-4 // vectors become better than that while a space from random ones grows until it gives evidence
		f.found.Tol = min(f.found.Tol, free)
	}
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
		if err = f.certify(); err != nil {
			st, err = f.abandon(err)
			break
		}
		again, keep, needs := f.offenders(given), f.sufficient(), f.reserve()+1
		trim := !given && keep < len(f.cert.Sigma)
		if st != Converged || !given && !trim && !f.worthwhile(again) {
			break
		}
		if trim {
			needs -= 2 // no search
		}
		if limit := f.passes.may(needs); limit != NotTerminated {
			st, err = limit, f.save()
			break
		}
		if trim {
			f.trim(keep)
		} else {
			f.reopen(again, keep, given)
		}
		given = false
	}
	if err != nil {
		return nil, err
	}
	return f.finish(st)
}

// Eigen computes k leading eigenpairs of op. It returns the vectors as the
// method found them, one after the other, and spends one last pass on measuring
// them; it does not rotate or improve them as SVD does. Under StopResidual the
// status is Converged only if all measured residuals are within the tolerance.
//
// The error is for faults: a pass that failed, an Observer that returned an error,
// numbers out of range. A run that ended before convergence is not a fault; see
// Status. Settings.Operator, Energy, Left, and SignLeft are ignored.
func Eigen(ctx context.Context, op Operator, s Settings) (*EigenResult, error) {
	s.Operator, s.Energy = Gram, 0
	if g, ok := op.(gram); ok {
		op = gram{&metered{Matrix: g.a}}
	}
	arena := tallskinny.NewArena(ctx, s.Space, s.Workers)
	return guarded(arena, (*EigenResult).vectors, func() (*EigenResult, error) {
		return scaleOf(op).eigen(ctx, arena, op, s.normalised(op, int64(op.Dim())))
	})
}

// untilEnd returns the result of compute, or that of unfinished if the context ends in a loop over blocks in a
// Space.
func untilEnd[R any](r *run, compute func() (R, error), unfinished func(Status) R) (res R, err error) {
	err = tallskinny.UntilEnd(func() error {
		res, err = compute()
		return err
	})
	if early := (*tallskinny.Interruption)(nil); errors.As(err, &early) {
		return unfinished(r.passes.cancelled()), nil
	}
	return res, err
}

// eigen is Eigen for an operator of scale e. It returns an error if the largest eigenvalue leaves the range of
// float64.
func (e scale) eigen(ctx context.Context, arena *tallskinny.Arena, op Operator, s Settings) (*EigenResult, error) {
	s.Observer = e.observer(s.Observer)
	r := newRun(ctx, arena, op, fmt.Sprintf("%d×%d operator%v", op.Dim(), op.Dim(), e), s)
	res, err := untilEnd(r, r.eigenvectors, r.unfinishedPairs)
	if err != nil {
		return nil, err
	}
	first := res.Values[0]
	for i, x := range res.Values {
		res.Values[i] = math.Ldexp(x, 2*int(e))
	}
	if v := res.Values[0]; math.IsInf(v, 0) || v == 0 && first != 0 {
		return nil, fmt.Errorf("eigenvalue %.3g·2^%d is beyond the range of numbers: %w", first, 2*int(e), ErrScale)
	}
	return res, nil
}

func (r *run) eigenvectors() (*EigenResult, error) {
	if _, err := r.begin(); err != nil {
		return nil, err
	}
	st, err := r.search(func() int { return 1 })
	if err != nil {
		return nil, err
	}
	r.estimates()
	res := r.eigenpairs()
	res.Status = st
	if !r.passes.cut {
		st, err = r.measure(res)
		if err != nil {
			return nil, err
		}
	}
	if r.passes.cut {
		res.Status = st
		res.Residuals = slices.Repeat([]float64{math.NaN()}, len(res.Residuals))
	}
	res.Stats = r.passes.cost()
	return res, nil
}

// eigenpairs collects the locked pairs in descending order of value.
func (r *run) eigenpairs() *EigenResult {
	k := r.found.Len()
	order, negative := make([]int, k), slices.Clone(r.found.Values)
	floats.Scale(-1, negative)
	floats.ArgsortStable(negative, order)
	res := &EigenResult{
		Values:    make([]float64, k),
		Vectors:   r.arena.Dense(r.n, k),
		Residuals: make([]float64, k),
		Seen:      make([]float64, k),
	}
	for j, i := range order {
		res.Values[j], res.Seen[j] = r.found.Values[i], r.found.Seen[i]
		r.arena.SetColumn(res.Vectors.RawMatrix(), j, r.found.Basis.Vector(i))
	}
	r.arena.SignColumns(res.Vectors)
	return res
}

func (r *run) measure(res *EigenResult) (Status, error) {
	k := len(res.Values)
	y := r.arena.Dense(r.n, k)
	err := r.passes.finishing(func() error {
		return r.passes.make(func() error { return r.op.Apply(r.passes.ctx, y, res.Vectors) }, r.n, k, k)
	})
	if err != nil {
		return r.passes.fault(err)
	}
	pairs := make([]method.RitzPair, k)
	x, gx := tallskinny.Column(r.arena.Dense(r.n, 1)), tallskinny.Column(r.arena.Dense(r.n, 1))
	for j := range pairs {
		r.arena.ColumnOf(x, res.Vectors.RawMatrix(), j)
		r.arena.ColumnOf(gx, y.RawMatrix(), j)
		r.found.Lambda1 = max(r.found.Lambda1, r.arena.Norm2(gx))
		r.arena.AddScaled(gx, -res.Values[j], x)
		pairs[j] = method.RitzPair{Value: res.Values[j], Residual: r.arena.Norm2(gx)}
	}
	for j, c := range pairs {
		res.Residuals[j] = r.found.Relative(c)
		if res.Residuals[j] <= r.s.Tol {
			res.Converged++
		}
	}
	if res.Status == Converged && r.s.Stop == StopResidual && res.Converged < k {
		res.Status = Stagnated
	}
	worst := floats.MaxIdx(res.Residuals)
	e := r.event(PhaseFinish, worst, method.RitzPair{Value: res.Values[worst]})
	e.Residual = res.Residuals[worst]
	return res.Status, r.observe(e)
}

// observer returns an Observer that calls o with the values of A instead of those of 2^−e·A.
func (e scale) observer(o func(Event) error) func(Event) error {
	return func(ev Event) error {
		ev.Sigma = e.signed(ev.Sigma)
		return o(ev)
	}
}
