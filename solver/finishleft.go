package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// finishLeft applies the sign rule and turns W into U.
func (f *factorisation) finishLeft() error {
	c := f.cert
	for j, changed := range f.arena.SignColumns(c.right) {
		if changed {
			f.arena.ScaleColumn(c.rotation, j, -1)
		}
	}
	if f.s.Left == nil {
		return nil
	}
	l := newLeft(f.ctx, f.arena.Threads, f.s.Left, f.a.Info().Rows, f.s.Rank)
	if f.s.SignLeft {
		negative, err := l.negative(c.rotation)
		if err != nil {
			return err
		}
		for j, neg := range negative {
			if neg {
				f.arena.ScaleColumn(c.right, j, -1)
				f.arena.ScaleColumn(c.rotation, j, -1)
			}
		}
	}
	gram, err := l.rotateTo(c.rotation, c.rank)
	if err == nil && c.rank < f.s.Rank {
		gram, err = f.completeLeft(l)
	}
	if err != nil {
		return err
	}
	f.orthLeft = tallskinny.Orthogonality(gram)
	return nil
}

// completeLeft fills in the left vectors of zero values and measures them.
func (f *factorisation) completeLeft(l *left) (*mat.Dense, error) {
	c := f.cert
	gram, err := l.complete(f.s.Seed, c.rank)
	if err != nil {
		return nil, err
	}
	if f.s.SignLeft {
		if gram, err = l.signCompletion(c.rank); err != nil {
			return nil, err
		}
	}
	if c.norm == 0 {
		return gram, nil // the zero matrix: any vectors will do
	}
	if f.mayPass(0) == PassLimit {
		f.limited = true
		for i := c.rank; i < f.s.Rank; i++ {
			// Not measured, but never more than that.
			c.residuals[i] = max(c.residuals[i], c.relative(c.frobenius))
		}
		return gram, nil
	}
	atu := f.arena.Dense(f.n, f.s.Rank)
	err = f.pass(func() error {
		_, err := f.a.Run(f.ctx, Pass{RowsIn: rowsIn(f.s.Left), Sum: atu})
		if err == nil && !f.arena.Finite(atu) {
			err = errNotFinite
		}
		return err
	}, 0, 0)
	if err != nil {
		return nil, err
	}
	col := tallskinny.Column(f.arena.Dense(f.n, 1))
	for i := c.rank; i < f.s.Rank; i++ {
		f.arena.CopyColumn(col, atu, i)
		c.residuals[i] = max(c.residuals[i], c.relative(f.arena.Norm2(col)))
	}
	return gram, nil
}
