// Package solvertest provides matrices with known singular values and independent checks of triplets (CheckTriplets) and of
// a solver.Matrix (CheckMatrix) for tests. The suite that every method must pass is in suite_test.go of solver.
package solvertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// Random returns an N×n matrix of independent standard normal entries.
func Random(rows, cols int, seed uint64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	solver.Gaussian(a, 0, seed, 1<<60)
	return a
}

// WithValues returns an N×n matrix whose singular values are sigma, at most min(N,n) values, and zeros:
// H₁H₂·diag(sigma)·H₃H₄ with random Householder reflections H, exact up to the rounding of their application.
func WithValues(rows, cols int, seed uint64, sigma ...float64) *mat.Dense {
	a := Diagonal(rows, cols, sigma...)
	w := mat.NewDense(4, max(rows, cols), nil)
	solver.Gaussian(w, 0, seed, 1<<61)
	reflect(a, w.RawRowView(0)[:rows])
	reflect(a, w.RawRowView(1)[:rows])
	b := mat.DenseCopyOf(a.T())
	reflect(b, w.RawRowView(2)[:cols])
	reflect(b, w.RawRowView(3)[:cols])
	return mat.DenseCopyOf(b.T())
}

// reflect sets a = (I − 2wwᵀ/wᵀw)·a.
func reflect(a *mat.Dense, w []float64) {
	v := mat.NewVecDense(len(w), w)
	var c mat.VecDense
	c.MulVec(a.T(), v)
	a.RankOne(a, -2/mat.Dot(v, v), v, &c)
}

// Diagonal returns an N×n matrix with d on its diagonal and zeros elsewhere.
func Diagonal(rows, cols int, d ...float64) *mat.Dense {
	a := mat.NewDense(rows, cols, nil)
	for i, v := range d {
		a.Set(i, i, v)
	}
	return a
}

// Singular returns all min(N,n) singular values of a in descending order, computed by gonum's dense SVD.
func Singular(a *mat.Dense) []float64 {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		panic("solvertest: dense SVD failed")
	}
	return svd.Values(nil)
}

// CheckMatrix verifies with every kind of pass that m is the matrix a: the products, which have the same bits for every kind
// of Rows, the order of rows, errors, cancellation, and a factorisation.
func CheckMatrix(t *testing.T, m solver.Matrix, a *mat.Dense) {
	t.Helper()
	c := newMatrixCheck(t, m, a)
	for _, l := range []int{1, 2, 5} {
		t.Run(fmt.Sprintf("passes/l=%d", l), func(t *testing.T) { c.passes(t, l) })
	}
	t.Run("errors", c.errors)
	t.Run("misuse", c.misuse)
	t.Run("factorisation", c.factorisation)
}

// matrixCheck is a matrix to be checked, with the dense matrices to compare it to.
type matrixCheck struct {
	m    solver.Matrix
	a    *mat.Dense // 2^−e·A
	full *mat.Dense // A
	info solver.Info
}

func newMatrixCheck(t *testing.T, m solver.Matrix, a *mat.Dense) *matrixCheck {
	t.Helper()
	i := m.Info()
	rows, cols := a.Dims()
	if i.Rows != int64(rows) || i.Cols != cols || i != m.Info() {
		t.Fatalf("%+v of a %d×%d matrix, then %+v", i, rows, cols, m.Info())
	}
	scaled := mat.DenseCopyOf(a)
	scaled.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, -i.Exponent) }, a)
	if norm := mat.Norm(scaled, 2); math.Abs(i.Norm-norm) > 1e-13*norm {
		t.Errorf("norm %v, want %v", i.Norm, norm)
	}
	return &matrixCheck{m: m, a: scaled, full: a, info: i}
}

func (c *matrixCheck) run(t *testing.T, p solver.Pass) {
	t.Helper()
	must.Get(c.m.Run(t.Context(), p))(t)
}

// near reports an error unless got equals want up to the rounding of products with the matrix.
func near(t *testing.T, what string, got, want *mat.Dense, size float64) {
	t.Helper()
	var d mat.Dense
	d.Sub(got, want)
	if e := mat.Norm(&d, 2); !(e <= 1e-13*size) {
		t.Errorf("%s is off by %g", what, e)
	}
}

// inOrder returns Rows that check that each row is written once, in ascending order.
func inOrder(t *testing.T, into *mat.Dense) solver.Rows {
	return ascending(t, false, "", (&solver.DenseRows{Dense: into}).WriteRows)
}

// readOf returns Rows that check that rows are read in ascending order, possibly several times from the start.
func readOf(t *testing.T, from *mat.Dense) solver.Rows {
	return ascending(t, true, " are asked for", (&solver.DenseRows{Dense: from}).ReadRows)
}

func ascending(t *testing.T, again bool, what string, do func(first int64, rows *mat.Dense) error) solver.Rows {
	next := int64(0)
	return solver.Rows{Func: func(first int64, rows *mat.Dense) error {
		n, _ := rows.Dims()
		if n == 0 || first != next && !(again && first == 0) {
			t.Errorf("%d rows from %d%s, want some from %d", n, first, what, next)
		}
		next = first + int64(n)
		return do(first, rows)
	}}
}

// gaps returns a block of zeros with gaps between its rows.
func gaps(rows, l int) *mat.Dense {
	return mat.NewDense(rows, l+2, nil).Slice(0, rows, 1, l+1).(*mat.Dense)
}

// passes runs every kind of pass with blocks of l columns.
func (c *matrixCheck) passes(t *testing.T, l int) {
	rows, n := c.a.Dims()
	x, y := Random(n, l, 1), Random(rows, l, 2)
	var ax, gx, aty mat.Dense
	ax.Mul(c.a, x)
	gx.Mul(c.a.T(), &ax)
	aty.Mul(c.a.T(), y)
	norm := c.info.Norm
	sizeX, sizeY := mat.Norm(x, 2), mat.Norm(y, 2)
	block := func(r int) *mat.Dense { return Random(r, l, 3) } // a pass overwrites its contents

	sum := block(n)
	c.run(t, solver.Pass{X: x, Sum: sum})
	near(t, "AᵀA·X", sum, &gx, norm*norm*sizeX)
	again := block(n)
	c.run(t, solver.Pass{X: x, Sum: again})
	if !mat.Equal(again, sum) {
		t.Error("another AᵀA·X has other bits")
	}

	var first [3]*mat.Dense // results of the first finishing pass: AᵀW, R, W
	for what, w := range map[string]*mat.Dense{"no rows": nil, "a function": block(rows), "a block": block(rows), "gaps": gaps(rows, l)} {
		out := solver.Rows{Block: w}
		if what == "a function" {
			out = inOrder(t, w)
		}
		sum, r := block(n), Random(l, l, 4)
		c.run(t, solver.Pass{X: x, RowsOut: out, Sum: sum, R: r})
		near(t, "AᵀW with "+what, sum, &gx, norm*norm*sizeX)
		c.checkR(t, r, &ax)
		if first[0] == nil {
			first[0], first[1] = sum, r
		} else if !mat.Equal(first[0], sum) || !mat.Equal(first[1], r) {
			t.Errorf("other bits with %s", what)
		}
		if w == nil {
			continue
		}
		near(t, "W with "+what, w, &ax, norm*sizeX)
		if first[2] == nil {
			first[2] = w
		}
		only := mat.DenseCopyOf(block(rows))
		c.run(t, solver.Pass{X: x, RowsOut: solver.Rows{Block: only}})
		if !mat.Equal(first[2], w) || !mat.Equal(only, w) {
			t.Errorf("W has other bits with %s", what)
		}
	}

	first[0] = nil
	withGaps := gaps(rows, l)
	withGaps.Copy(y)
	for what, in := range map[string]func() solver.Rows{
		"a function": func() solver.Rows { return readOf(t, y) },
		"a block":    func() solver.Rows { return solver.Rows{Block: y} },
		"gaps":       func() solver.Rows { return solver.Rows{Block: withGaps} },
	} {
		sum := block(n)
		c.run(t, solver.Pass{RowsIn: in(), Sum: sum})
		near(t, "AᵀY with "+what, sum, &aty, norm*sizeY)
		if first[0] == nil {
			first[0] = sum
		}
		for _, function := range []bool{false, true} {
			w, both := block(rows), block(n)
			out := solver.Rows{Block: w}
			if function {
				out = inOrder(t, w)
			}
			c.run(t, solver.Pass{X: x, RowsIn: in(), RowsOut: out, Sum: both})
			if !mat.Equal(first[0], sum) || !mat.Equal(both, sum) || !mat.Equal(w, first[2]) {
				t.Errorf("AᵀY with %s, and A·X in the same pass (%t): other bits", what, function)
			}
		}
	}
}

// checkR verifies that r is upper triangular and has the singular values of w.
func (c *matrixCheck) checkR(t *testing.T, r, w *mat.Dense) {
	t.Helper()
	l, _ := r.Dims()
	for i := range l {
		for j := range i {
			if r.At(i, j) != 0 {
				t.Fatalf("R[%d,%d] = %v", i, j, r.At(i, j))
			}
		}
	}
	got, want := Singular(r), Singular(w)
	for i, v := range got {
		ref := 0.0 // R has l values even if W has fewer rows
		if i < len(want) {
			ref = want[i]
		}
		if !(math.Abs(v-ref) <= 1e-13*c.info.Norm*float64(l+int(math.Sqrt(float64(c.info.Cols))))) {
			t.Errorf("σ[%d] of R is %v, of W %v", i, v, ref)
		}
	}
}

// errors ends passes by errors of their functions and by their context. An ended pass must not disturb the next pass.
func (c *matrixCheck) errors(t *testing.T) {
	rows, n := c.a.Dims()
	x, y := Random(n, 2, 1), Random(rows, 2, 2)
	mine := errors.New("mine")
	failing := solver.Rows{Func: func(int64, *mat.Dense) error { return mine }}
	sum := mat.NewDense(n, 2, nil)
	for what, p := range map[string]solver.Pass{
		"out":                {X: x, RowsOut: failing},
		"out when finishing": {X: x, RowsOut: failing, Sum: sum, R: mat.NewDense(2, 2, nil)},
		"in":                 {RowsIn: failing, Sum: sum},
		"in of both":         {X: x, RowsIn: failing, RowsOut: inOrder(t, mat.NewDense(rows, 2, nil)), Sum: sum},
		"out of both":        {X: x, RowsIn: readOf(t, y), RowsOut: failing, Sum: sum},
	} {
		if _, err := c.m.Run(t.Context(), p); !errors.Is(err, mine) {
			t.Errorf("%s: %v, want the error of the function", what, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := solver.Rows{Func: func(int64, *mat.Dense) error { cancel(); return ctx.Err() }}
	for what, p := range map[string]solver.Pass{
		"AᵀA·X": {X: x, Sum: sum}, "finishing": {X: x, Sum: sum, R: mat.NewDense(2, 2, nil)},
		"A·X": {X: x, RowsOut: stop}, "Aᵀ·Y": {RowsIn: stop, Sum: sum},
	} {
		if p.Sum == nil {
			if _, err := c.m.Run(ctx, p); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, cancelled on the way: %v", what, err)
			}
		}
		cancel()
		if _, err := c.m.Run(ctx, p); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled before: %v", what, err)
		}
	}
	c.passes(t, 2)
}

func (c *matrixCheck) misuse(t *testing.T) {
	rows, n := c.a.Dims()
	x, y := mat.NewDense(n, 2, nil), solver.Rows{Block: mat.NewDense(rows, 2, nil)}
	for what, p := range map[string]solver.Pass{
		"nothing": {}, "rows of X": {X: mat.NewDense(n+1, 2, nil), Sum: x}, "columns of Sum": {X: x, Sum: mat.NewDense(n, 3, nil)},
		"rows of RowsOut": {X: x, RowsOut: solver.Rows{Block: mat.NewDense(rows+1, 2, nil)}},
		"R":               {X: x, R: mat.NewDense(3, 2, nil)}, "no X": {RowsOut: y}, "no X for R": {R: mat.NewDense(2, 2, nil)},
		"no X for Sum": {Sum: x}, "nothing of RowsIn": {X: x, RowsIn: y},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			_, _ = c.m.Run(t.Context(), p)
		}()
	}
}

// factorisation finds triplets of the matrix, with left vectors in a DenseRows and in another RowStore.
func (c *matrixCheck) factorisation(t *testing.T) {
	rows, n := c.a.Dims()
	set := solver.Settings{Rank: min(rows, n, 3), Method: lanczos.Krylov{Columns: 2}, MaxPasses: 2000}
	left, other := solver.NewDenseRows(rows, set.Rank), solver.NewDenseRows(rows, set.Rank)
	set.Left = left
	res := must.Get(solver.SVD(t.Context(), c.m, set))(t)
	if res.Status == solver.Converged {
		CheckTriplets(t, c.full, res, left.Dense)
	}
	set.Left = struct{ solver.RowStore }{other}
	again := must.Get(solver.SVD(t.Context(), c.m, set))(t)
	if !slices.Equal(again.Sigma, res.Sigma) || !mat.Equal(again.Right, res.Right) || !mat.Equal(other.Dense, left.Dense) {
		t.Error("the second factorisation has other bits")
	}
}

// CheckTriplets verifies that res has the leading singular values of a, and that AV = US, to twice the default tolerance.
func CheckTriplets(t *testing.T, a *mat.Dense, res *solver.Result, u *mat.Dense) {
	t.Helper()
	want := Singular(a)
	var av, us mat.Dense
	av.Mul(a, res.Right)
	us.Mul(u, mat.NewDiagDense(len(res.Sigma), res.Sigma))
	av.Sub(&av, &us)
	for i, s := range res.Sigma {
		if far := mat.Norm(av.ColView(i), 2); math.Abs(s-want[i]) > 2*solver.DefaultTol*want[0] || far > 2*solver.DefaultTol*want[0] {
			t.Errorf("value %d is %.12g, want %.12g; AV − US is %g", i, s, want[i], far)
		}
	}
}
