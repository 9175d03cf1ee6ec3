package solver

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// certify runs a finishing pass over the vectors found, completed by estimates if that are too
// few.
func (f *factorisation) certify() error {
	f.estimates()
	f.lower()
	err := f.passes.finishing(func() error {
		if err := f.resizeLeft(); err != nil {
			return err
		}
		v := f.orthonormal()
		return f.passes.make(func() error {
			c, err := f.measured(v)
			if err == nil && f.cert != nil {
				f.arena.Free(f.cert.Right, f.cert.Product)
			}
			f.cert = c
			return err
		}, f.n, f.found.Len(), f.found.Len())
	})
	if err != nil {
		return err
	}
	return f.observe(f.finishEvent())
}

// orthonormal makes the locked vectors orthonormal, as those of the projected
// deflation are already, and returns them as an n×k block. From here on the
// deflation is projected whatever was asked for: leaks would do no good.
func (f *factorisation) orthonormal() *mat.Dense {
	f.project()
	return f.found.Basis.Block(f.arena.Dense(f.n, f.found.Len()))
}

// measured is the certificate of an orthonormal block.
func (f *factorisation) measured(v *mat.Dense) (*certificate.Certificate, error) {
	if f.s.Which.signed() {
		return f.certifyPairs(v)
	}
	return certify(f.passes.ctx, f.arena, f.a, v, f.s.Left)
}

// certify streams W = A·V to w, unless nil, and measures. w holds W
// afterwards, and v the right vectors.
func certify(ctx context.Context, arena *tallskinny.Arena, a Matrix, v *mat.Dense, w RowStore) (*certificate.Certificate, error) {
	n, k := v.Dims()
	atw, r := arena.Dense(n, k), mat.NewDense(k, k, nil)
	if _, err := a.Run(ctx, Pass{X: v, RowsOut: rowsOut(w), Sum: atw, R: r}); err != nil {
		return nil, err
	}
	return certificate.New(arena, v, atw, r, a.Info().Norm, a.Info().terms())
}

// finish turns A·V into the left vectors and assembles the result.
func (f *factorisation) finish(st Status) (*Result, error) {
	if f.passes.cut {
		return f.cutShort(st), nil
	}
	passes, orthLeft, limited := f.passes.stats.Passes, math.NaN(), false
	err := f.passes.finishing(func() (err error) {
		orthLeft, limited, err = f.finishLeft()
		return err
	})
	if err != nil {
		st, err = f.abandon(err)
		if err != nil {
			return nil, err
		}
		return f.cutShort(st), nil
	}
	if f.passes.stats.Passes > passes {
		if err := f.observe(f.finishEvent()); err != nil {
			return nil, err
		}
	}
	return f.result(f.outcome(st, limited), orthLeft), nil
}

// outcome is the status in the light of the certificate. limited says that a limit left no pass to measure
// completed left vectors.
func (f *factorisation) outcome(st Status, limited bool) Status {
	if f.s.Stop != StopResidual {
		return st
	}
	if f.cert.Converged(f.s.Tol) == len(f.cert.Sigma) && f.leading() {
		return Converged
	}
	switch {
	case st == Converged && limited:
		return PassLimit
	case st == Converged:
		return Stagnated
	}
	return st
}

// leading reports whether the triplets of the certificate are known to be the leading ones, if that is asked for.
func (f *factorisation) leading() bool {
	return !f.outside.Wanted || f.beyond(f.cert.Sigma, f.cert.Frobenius).Leading
}

// finishLeft applies the sign rule and turns W into U. It returns max|UᵀU−I|, and whether
// a limit has left no pass to measure left vectors that complete the others.
func (f *factorisation) finishLeft() (orthogonality float64, limited bool, err error) {
	c := f.cert
	for j, changed := range f.arena.SignColumns(c.Right) {
		if changed && c.Rotation != nil {
			f.arena.ScaleColumn(c.Rotation, j, -1)
		}
	}
	if f.s.Left == nil {
		return math.NaN(), false, nil
	}
	l := left.New(len(c.Sigma), f.sweepLeft)
	if f.s.SignLeft {
		negative, err := l.Negative(c.Rotation)
		if err != nil {
			return 0, false, err
		}
		for j, neg := range negative {
			if neg {
				f.arena.ScaleColumn(c.Right, j, -1)
				f.arena.ScaleColumn(c.Rotation, j, -1)
			}
		}
	}
	gram, err := l.RotateTo(c.Rotation, c.Rank)
	if err == nil && c.Rank < len(c.Sigma) {
		gram, limited, err = f.completeLeft(l)
	}
	if err != nil {
		return 0, false, err
	}
	return tallskinny.Orthogonality(gram), limited, nil
}

// sweepLeft makes a sweep over the left vectors, which they make themselves if they can.
func (f *factorisation) sweepLeft(s left.Step) (*left.Sums, error) {
	if own, ok := f.s.Left.(LeftSweeper); ok {
		return own.SweepLeft(f.passes.ctx, s)
	}
	return s.Over(f.passes.ctx, f.arena.Threads, left.Rows{N: f.a.Info().Rows, K: len(f.cert.Sigma), Read: f.s.Left.ReadRows, Write: f.s.Left.WriteRows})
}

// completeLeft fills in the left vectors of zero values and measures them.
func (f *factorisation) completeLeft(l *left.Vectors) (gram *mat.Dense, limited bool, err error) {
	c := f.cert
	gram, err = l.Complete(f.key, streamLeft, c.Rank)
	if err != nil {
		return nil, false, err
	}
	if f.s.SignLeft {
		gram, err = l.SignCompletion(c.Rank)
		if err != nil {
			return nil, false, err
		}
	}
	if c.Norm == 0 {
		return gram, false, nil // the zero matrix: any vectors will do
	}
	if f.passes.may(0) == PassLimit {
		for i := c.Rank; i < len(c.Sigma); i++ {
			// Not measured, but never more than that.
			c.Residuals[i] = max(c.Residuals[i], c.Relative(c.Frobenius))
		}
		return gram, true, nil
	}
	atu := f.arena.Dense(f.n, len(c.Sigma))
	err = f.passes.make(func() error {
		_, err := f.a.Run(f.passes.ctx, Pass{RowsIn: rowsIn(f.s.Left), Sum: atu})
		if err == nil && !f.arena.Finite(atu) {
			err = certificate.ErrNotFinite
		}
		return err
	}, f.n, 0, 0)
	if err != nil {
		return nil, false, err
	}
	col := tallskinny.Column(f.arena.Dense(f.n, 1))
	for i := c.Rank; i < len(c.Sigma); i++ {
		f.arena.CopyColumn(col, atu, i)
		c.Residuals[i] = max(c.Residuals[i], c.Relative(f.arena.Norm2(col)))
	}
	return gram, false, nil
}

func (f *factorisation) finishEvent() Event {
	c := f.cert
	worst := c.Worst()
	value := c.Sigma[worst]
	if c.Lambda != nil {
		value = c.Lambda[worst]
	}
	return Event{
		Phase: PhaseFinish, Pass: f.passes.stats.Passes, Triplet: worst, Locked: c.Converged(f.s.Tol), Rank: len(c.Sigma),
		Sigma: value, Residual: c.Residuals[worst], Open: len(c.Sigma), Worst: c.Residuals[worst],
		Goal: f.s.Tol, Tol: f.s.Tol, Stats: f.passes.cost(),
	}
}
