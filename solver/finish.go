package solver

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// certify runs a finishing pass over the locked vectors.
func (f *factorisation) certify() error {
	err := f.finishing(func() error {
		if err := f.resizeLeft(); err != nil {
			return err
		}
		v := f.orthonormal()
		return f.pass(func() error {
			c, err := f.measured(v)
			if err == nil && f.cert != nil {
				f.arena.Free(f.cert.Right, f.cert.Product)
			}
			f.cert = c
			return err
		}, f.locked.Len, f.locked.Len)
	})
	if err != nil {
		return err
	}
	return f.observe(f.finishEvent())
}

// measured is the certificate of an orthonormal block.
func (f *factorisation) measured(v *mat.Dense) (*certificate.Certificate, error) {
	if f.s.Which.signed() {
		return f.certifyPairs(v)
	}
	return certify(f.ctx, f.arena, f.a, v, f.s.Left)
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

// finishLeft applies the sign rule and turns W into U.
func (f *factorisation) finishLeft() error {
	c := f.cert
	for j, changed := range f.arena.SignColumns(c.Right) {
		if changed && c.Rotation != nil {
			f.arena.ScaleColumn(c.Rotation, j, -1)
		}
	}
	if f.s.Left == nil {
		return nil
	}
	l := left.New(f.ctx, f.arena.Threads, f.a.Info().Rows, len(c.Sigma), f.s.Left.ReadRows, f.s.Left.WriteRows)
	if f.s.SignLeft {
		negative, err := l.Negative(c.Rotation)
		if err != nil {
			return err
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
		gram, err = f.completeLeft(l)
	}
	if err != nil {
		return err
	}
	f.orthLeft = tallskinny.Orthogonality(gram)
	return nil
}

// completeLeft fills in the left vectors of zero values and measures them.
func (f *factorisation) completeLeft(l *left.Vectors) (*mat.Dense, error) {
	c := f.cert
	gram, err := l.Complete(f.s.Seed, streamLeft, c.Rank)
	if err != nil {
		return nil, err
	}
	if f.s.SignLeft {
		if gram, err = l.SignCompletion(c.Rank); err != nil {
			return nil, err
		}
	}
	if c.Norm == 0 {
		return gram, nil // the zero matrix: any vectors will do
	}
	if f.mayPass(0) == PassLimit {
		f.limited = true
		for i := c.Rank; i < len(c.Sigma); i++ {
			// Not measured, but never more than that.
			c.Residuals[i] = max(c.Residuals[i], c.Relative(c.Frobenius))
		}
		return gram, nil
	}
	atu := f.arena.Dense(f.n, len(c.Sigma))
	err = f.pass(func() error {
		_, err := f.a.Run(f.ctx, Pass{RowsIn: rowsIn(f.s.Left), Sum: atu})
		if err == nil && !f.arena.Finite(atu) {
			err = certificate.ErrNotFinite
		}
		return err
	}, 0, 0)
	if err != nil {
		return nil, err
	}
	col := tallskinny.Column(f.arena.Dense(f.n, 1))
	for i := c.Rank; i < len(c.Sigma); i++ {
		f.arena.CopyColumn(col, atu, i)
		c.Residuals[i] = max(c.Residuals[i], c.Relative(f.arena.Norm2(col)))
	}
	return gram, nil
}
