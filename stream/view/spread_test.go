package view

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// TestSpreadFarBelowMean checks that a column whose spread is 10⁻⁶ of its mean is scaled to about
// 10⁻¹⁰, the rounding of its values over the spread, in both orientations.
func TestSpreadFarBelowMean(t *testing.T) {
	const rows, cols = 6, 3
	a, want := mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
	for j := range cols {
		mean, square := 0.0, 0.0
		small := make([]float64, rows)
		for i := range rows {
			small[i] = float64((i*(i+j)+j)%7) / 8 // exact, as is the sum below
			a.Set(i, j, small[i]+float64(1000000+j))
			mean += small[i] / rows
		}
		for _, x := range small {
			square += (x - mean) * (x - mean)
		}
		for i, x := range small {
			want.Set(i, j, (x-mean)/math.Sqrt(square/rows))
		}
	}
	for _, text := range []string{"center=columns · scale=columns", "center=columns · multiply=2 · scale=columns"} {
		for _, transposed := range []bool{false, true} {
			p := must.Get(Parse(text))(t)
			v := must.Get(New(t.Context(), inMemory(a, transposed), p, transposed, stream.Options{Workers: 2}))(t)
			m := must.Get(stream.NewFrom(v, stream.Options{Workers: 2}))(t)
			if e := relative(dense(t, m, transposed), want); !(e < 1e-9) {
				t.Errorf("%s, transposed %v: off by %g", text, transposed, e)
			}
			if e := math.Abs(m.Info().Norm/math.Sqrt(rows*cols) - 1); !(e < 1e-9) {
				t.Errorf("%s, transposed %v: the norm is off by %g", text, transposed, e)
			}
		}
	}
}

// TestMeanFarAboveSpread factorises centred matrices whose means are far above the values that are left, by several methods:
// the values are as accurate as the result says, no other value is above the bound, and a run ends where rounding allows no
// smaller residuals.
func TestMeanFarAboveSpread(t *testing.T) {
	const rows, cols, rank, k = 60, 12, 6, 3
	x, y := solvertest.Random(rows, rank, 1), solvertest.Random(rank, cols, 2)
	spread, a := mat.NewDense(rows, cols, nil), mat.NewDense(rows, cols, nil)
	for i := range rows {
		for j := range cols {
			sum := 0.0
			for s := range rank {
				sum += x.At(i, s) * math.Pow(10, -5*float64(s)/k) * y.At(s, j)
			}
			spread.Set(i, j, math.Round(0x1p22*sum)/0x1p22) // sums with the means are exact
		}
	}
	p := must.Get(Parse("center=columns"))(t)
	want := solvertest.Singular(reference(p, spread))
	for _, mean := range []float64{1e5, 1e7, 1e9} {
		a.Apply(func(i, j int, v float64) float64 { return v + mean*float64(1+j%3) }, spread)
		for _, m := range []method.Method{block.Descent{}, power.Iteration{}, momentum.Polyak{}, lanczos.Krylov{}} {
			v := must.Get(New(t.Context(), inMemory(a, false), p, false, stream.Options{Workers: 1}))(t)
			of := must.Get(stream.NewFrom(v, stream.Options{Workers: 1}))(t)
			res := must.Get(solver.SVD(t.Context(), of, solver.Settings{Rank: k, Method: m, MaxPasses: 20_000}))(t)
			if res.Status == solver.PassLimit {
				t.Errorf("mean %g, %T: no end after %d passes", mean, m, res.Stats.Passes)
			}
			for i, s := range res.Sigma {
				if off := math.Abs(s-want[i]) / want[0]; off > 2*res.Residuals[i]+res.Floor[i] {
					t.Errorf("mean %g, %T: σ[%d] is off by %.2g, residual %.2g, floor %.2g", mean, m, i, off, res.Residuals[i], res.Floor[i])
				}
			}
			if bound := res.Outside.Bound; bound < want[k]*(1-1e-3) {
				t.Errorf("mean %g, %T: bound %g, the next value is %g", mean, m, bound, want[k])
			}
		}
	}
}

// TestRankOfCentred checks that values of a centred matrix of rank 3 beyond the third are 0, and not the rounding of its means.
func TestRankOfCentred(t *testing.T) {
	const rows, cols, rank = 60, 12, 3
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(i, j int, _ float64) float64 {
		return float64(i%5*(j%4)+i%7*(j%3)+i%2*(j%5)) + 1e5*float64(1+j%3)
	}, a)
	v := must.Get(New(t.Context(), inMemory(a, false), must.Get(Parse("center=columns"))(t), false, stream.Options{Workers: 1}))(t)
	of := must.Get(stream.NewFrom(v, stream.Options{Workers: 1}))(t)
	for _, m := range []method.Method{block.Descent{}, power.Iteration{}, lanczos.Krylov{}} {
		left := solver.NewDenseRows(rows, rank+2)
		res := must.Get(solver.SVD(t.Context(), of, solver.Settings{Rank: rank + 2, Method: m, Left: left}))(t)
		if res.Rank != rank || res.Status != solver.Converged || res.OrthLeft > 1e-12 {
			t.Errorf("%T: rank %d, %v, UᵀU − I %.2g, values %.3g", m, res.Rank, res.Status, res.OrthLeft, res.Sigma)
		}
	}
}

// TestCentredStaysSymmetric finds eigenpairs of a symmetric matrix that has been centred along both axes, and whose mean is far
// above the values that are left: rounding of its products is no asymmetry.
func TestCentredStaysSymmetric(t *testing.T) {
	const n = 40
	spread, a := mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	spread.Apply(func(i, j int, _ float64) float64 { return float64((i*j + (i+j)%7) % 11) }, spread)
	a.Apply(func(_, _ int, v float64) float64 { return v + 1e7 }, spread)
	p := must.Get(Parse("center=both"))(t)
	want := solvertest.Singular(reference(p, spread))[0]
	v := must.Get(New(t.Context(), inMemory(a, false), p, false, stream.Options{Workers: 1}))(t)
	of := must.Get(stream.NewFrom(v, stream.Options{Workers: 1}))(t)
	for _, set := range []solver.Settings{{Which: solver.LargestMagnitude}, {Which: solver.LargestAlgebraic}, {Which: solver.SmallestAlgebraic, Method: block.Descent{}}} {
		set.Rank, set.Operator, set.Tol, set.MaxPasses = 2, solver.Symmetric, 1e-6, 20_000
		res, err := solver.SVD(t.Context(), of, set)
		if err != nil || set.Which == solver.LargestMagnitude && math.Abs(math.Abs(res.Lambda[0])-want) > 1e-7*want {
			t.Errorf("%v: %v, %+v, want %v", set.Which, err, res, want)
		}
	}
}
