package solver

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/left"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// certify runs a finishing pass over the vectors found. estimates first completes them if they are too few.
func (f *factorisation) certify() error {
	f.estimates()
	f.lower()
	err := f.passes.finishing(func() error {
		if f.s.Energy > 0 && f.s.Left != nil { // the certificate has as many columns as were found
			if err := f.s.Left.(Resizer).Resize(f.found.Len()); err != nil {
				return err
			}
		}
		f.project() // from here on Projected, even if Plain was asked for: Plain would leak the errors of locked vectors
		v := f.found.Basis.Block(f.arena.Dense(f.n, f.found.Len()))
		return f.passes.make(func() (err error) {
			var c *certificate.Certificate
			if f.s.Which.signed() {
				c, err = f.certifyPairs(v)
			} else {
				c, err = certify(f.passes.ctx, f.arena, f.a, v, f.s.Left)
			}
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

// certify streams W = A·V to w, unless w is nil, and returns the certificate of v, which takes v over and rotates
// it. w holds W afterwards.
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

// outcome returns the final status, given the status st of the search and the certificate. limited reports that a
// limit left no pass to measure completed left vectors.
func (f *factorisation) outcome(st Status, limited bool) Status {
	if f.s.Stop != StopResidual {
		return st
	}
	if f.cert.Converged(f.s.Tol) == len(f.cert.Sigma) && f.leading() && !f.short() {
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

// leading reports whether the triplets of the certificate are known to be the leading ones. It returns true if no
// evidence is wanted.
func (f *factorisation) leading() bool {
	return !f.outside.Wanted || f.beyond(f.cert.Sigma, f.cert.Frobenius).Leading
}

// finishLeft applies the sign rule and turns W into U. It returns max|UᵀU−I|, and whether a limit has left no
// pass to measure completed left vectors.
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

// sweepLeft makes the sweep s over the left vectors. A store that is a LeftSweeper makes the sweep itself.
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
	if err == nil && f.s.SignLeft {
		gram, err = l.SignCompletion(c.Rank)
	}
	if err != nil {
		return nil, false, err
	}
	if c.Frobenius == 0 {
		return gram, false, nil // the zero matrix: any vectors will do
	}
	if c.Norm == 0 || f.passes.may(0) == PassLimit {
		for i := c.Rank; i < len(c.Sigma); i++ {
			// Not measured: ‖A‖_F/σ₁ is an upper bound. If A·V = 0, σ₁ is not known and the residual is set to 1.
			c.Residuals[i] = max(c.Residuals[i], cmp.Or(c.Relative(c.Frobenius), 1))
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
		f.arena.ColumnOf(col, atu.RawMatrix(), i)
		c.Residuals[i] = max(c.Residuals[i], c.Relative(f.arena.Norm2(col)))
	}
	return gram, false, nil
}

func (f *factorisation) finishEvent() Event {
	c := f.cert
	worst := floats.MaxIdx(c.Residuals)
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

// Triplets are singular triplets from any source, for Residuals.
type Triplets struct {
	Sigma []float64
	// Right holds the v_i, n×k. Nil: v_i is Aᵀu_i scaled to unit norm.
	Right *mat.Dense
	// Left fills rows with the rows of the u_i, N×k, from row first on. It is called for ascending rows, once in
	// each read of the matrix. Nil: u_i is A·v_i scaled to unit norm.
	Left func(first int64, rows *mat.Dense) error
}

// Residuals measures ‖A v_i − σ_i u_i‖ and ‖Aᵀu_i − σ_i v_i‖ in one read of the matrix, two if there are no right
// vectors. It does not check that the vectors are orthonormal: see Orthogonality. One of Right and Left must not
// be nil. A residual above 0 that is too small for a float64 is returned as the smallest float64 above 0.
func Residuals(ctx context.Context, a Matrix, t Triplets) (left, right []float64, err error) {
	e := scale(a.Info().Exponent)
	sigma := make([]float64, len(t.Sigma))
	for i, s := range t.Sigma {
		sigma[i] = math.Ldexp(s, -int(e))
	}
	t.Sigma = sigma
	left, right, err = residuals(ctx, a, t)
	for _, of := range [][]float64{left, right} {
		for i, r := range of {
			of[i] = e.sigma(r)
			if of[i] == 0 && r > 0 {
				of[i] = math.SmallestNonzeroFloat64
			}
		}
	}
	return left, right, err
}

func residuals(ctx context.Context, a Matrix, t Triplets) (left, right []float64, err error) {
	// Numbers are divided by scale so that their squares stay in range. A power of two costs no digits.
	scale := 1.0
	if top := floats.Norm(t.Sigma, math.Inf(1)); top > 0 {
		_, e := math.Frexp(top)
		scale = math.Ldexp(1, max(e, -1000))
	}
	if t.Left == nil {
		return impliedLeft(ctx, a, t, scale)
	}
	if t.Right == nil {
		t.Right = mat.NewDense(a.Info().Cols, len(t.Sigma), nil)
		_, err = a.Run(ctx, Pass{RowsIn: Rows{Func: t.Left}, Sum: t.Right})
		if err != nil {
			return nil, nil, err
		}
		divideColumns(t.Right, columnNorms(t.Right, scale))
	}
	left = make([]float64, len(t.Sigma)) // squares at first
	n, k := t.Right.Dims()
	atu := mat.NewDense(n, k, nil)
	var us []*mat.Dense // rows of the left vectors whose rows of A·X have not come yet
	in := func(first int64, rows *mat.Dense) error {
		if first == 0 {
			us = nil
		}
		us = append(us, rows)
		return t.Left(first, rows)
	}
	out := func(_ int64, ax *mat.Dense) error {
		u := us[0]
		us = us[1:]
		n, _ := ax.Dims()
		for i := range n {
			x, y := ax.RawRowView(i), u.RawRowView(i)
			for j, s := range t.Sigma {
				d := (x[j] - s*y[j]) / scale
				left[j] += d * d
			}
		}
		return nil
	}
	_, err = a.Run(ctx, Pass{X: t.Right, RowsIn: Rows{Func: in}, RowsOut: Rows{Func: out}, Sum: atu})
	if err != nil {
		return nil, nil, err
	}
	for j, square := range left {
		left[j] = scale * math.Sqrt(square)
	}
	return left, t.rightResiduals(atu, scale), nil
}

// impliedLeft is Residuals for u_i = A v_i/‖A v_i‖. It multiplies v_i/scale, since products with AᵀA have the
// size of scale².
func impliedLeft(ctx context.Context, a Matrix, t Triplets, scale float64) (left, right []float64, err error) {
	n, k := t.Right.Dims()
	atw, r := mat.NewDense(n, k, nil), mat.NewDense(k, k, nil)
	t.Right.Scale(1/scale, t.Right)
	_, err = a.Run(ctx, Pass{X: t.Right, Sum: atw, R: r})
	t.Right.Scale(scale, t.Right)
	if err != nil {
		return nil, nil, err
	}
	norms := columnNorms(r, 1)
	divideColumns(atw, norms)
	for j, s := range t.Sigma {
		left = append(left, math.Abs(scale*norms[j]-s))
	}
	return left, t.rightResiduals(atw, scale), nil
}

// rightResiduals returns the norms of the columns Aᵀu_i − σ_i v_i. It overwrites atu.
func (t *Triplets) rightResiduals(atu *mat.Dense, scale float64) []float64 {
	n, _ := atu.Dims()
	for i := range n {
		row, v := atu.RawRowView(i), t.Right.RawRowView(i)
		for j, s := range t.Sigma {
			row[j] -= s * v[j]
		}
	}
	return columnNorms(atu, scale)
}

// columnNorms returns the norms of the columns of x, whose entries are about the size of scale.
func columnNorms(x *mat.Dense, scale float64) []float64 {
	n, k := x.Dims()
	norms := make([]float64, k)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			norms[j] += (v / scale) * (v / scale)
		}
	}
	for j, square := range norms {
		norms[j] = scale * math.Sqrt(square)
	}
	return norms
}

// divideColumns divides column j of x by by[j], unless by[j] is 0.
func divideColumns(x *mat.Dense, by []float64) {
	n, _ := x.Dims()
	for i := range n {
		row := x.RawRowView(i)
		for j, d := range by {
			if d > 0 {
				row[j] /= d
			}
		}
	}
}

// Orthogonality returns max|XᵀX − I| of a block of n rows and k columns, computed by the given number of workers
// (0: GOMAXPROCS). source fills rows with the rows of the block from row first on, and is called for ascending
// rows.
func Orthogonality(ctx context.Context, workers int, n int64, k int, source func(first int64, rows *mat.Dense) error) (float64, error) {
	sums, err := left.Step{Keep: true}.Over(ctx, workers, left.Rows{N: n, K: k, Read: source})
	if err != nil {
		return 0, fmt.Errorf("measure orthogonality: %w", err)
	}
	return tallskinny.Orthogonality(sums.Gram), nil
}

// trim locks the first keep triplets of the certificate, which are all that are asked for, and drops the others.
func (f *factorisation) trim(keep int) {
	c, o := f.cert, f.outside.Bound
	next := f.found.Eigenvalue(c.Sigma[keep] + slices.Max(c.Residuals[keep:])*c.Sigma[0]) // values in a span are too small
	f.relock(nil, keep)
	o.Raise(next)
	f.outside.Bound = o
}
