package solver_test

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

const epsilon = 0x1p-52

// TB holds the methods of testing.TB and rapid.T that checkResult calls.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkResult verifies the claims of a certified result about a by computing them again from the
// dense matrix: residuals at most twice those reported, orthonormality, order, signs, zeros,
// counts, energy. u holds the left vectors, nil if they were not kept. checkResult does not verify
// that the values are the leading ones; see checkValues.
func checkResult(t TB, a *mat.Dense, s solver.Settings, res *solver.Result, u *mat.Dense) {
	t.Helper()
	rows, n := a.Dims()
	if len(res.Sigma) != s.Rank || len(res.Residuals) != s.Rank {
		t.Fatalf("got %d values and %d residuals, want %d", len(res.Sigma), len(res.Residuals), s.Rank)
	}
	if r, c := res.Right.Dims(); r != n || c != s.Rank {
		t.Fatalf("right vectors are %d×%d, want %d×%d", r, c, n, s.Rank)
	}
	if !res.Certified {
		t.Error("result is not certified")
	}
	signLeft := s.SignLeft && u != nil
	checkVectors(t, "right", res.Right, res.OrthRight, !signLeft)
	if u != nil {
		checkVectors(t, "left", u, res.OrthLeft, signLeft)
	} else if !math.IsNaN(res.OrthLeft) {
		t.Errorf("orthogonality of left vectors that were not kept: %g", res.OrthLeft)
	}
	checkOrder(t, res)
	truth := residuals(a, res, u)
	tol := s.Tol
	if tol == 0 {
		tol = solver.DefaultTol
	}
	converged := 0
	for i, r := range res.Residuals {
		// The oracle has rounding errors, too.
		own := epsilon * math.Sqrt(float64(rows)) / 4
		if truth[i] > 2*r+res.Floor[i]+own || math.IsNaN(r) {
			t.Errorf("triplet %d: residual %.3g is reported as %.3g with a floor of %.3g", i, truth[i], r, res.Floor[i])
		}
		if max(r, res.Floor[i]) <= tol {
			converged++
		}
	}
	if res.Converged != converged {
		t.Errorf("Converged = %d, but %d residuals are within %g", res.Converged, converged, tol)
	}
	all := converged == s.Rank && (res.Outside.Leading || unproven(s))
	short := res.Target != nil && !res.Target.Reached // then Rank is the bound on the number of triplets, or a limit has ended the run
	if s.Stop == solver.StopResidual && (res.Status == solver.Converged) != all && !(all && short) {
		t.Errorf("status %v with %d of %d converged, %+v", res.Status, converged, s.Rank, res.Outside)
	}
	checkEnergy(t, a, res)
}

// residuals computes the two-sided residuals relative to the first value of
// res. Where σ = 0 and u is nil only the right vector counts; where σ > 0 and u
// is nil, u_i = A·v_i normalised.
func residuals(a *mat.Dense, res *solver.Result, u *mat.Dense) []float64 {
	out := make([]float64, len(res.Sigma))
	for i, s := range res.Sigma {
		v := res.Right.ColView(i)
		var av, x, y mat.VecDense
		av.MulVec(a, v)
		var ui mat.Vector
		switch {
		case u != nil:
			ui = u.ColView(i)
		case s > 0:
			var w mat.VecDense
			w.ScaleVec(1/mat.Norm(&av, 2), &av)
			ui = &w
		default:
			out[i] = mat.Norm(&av, 2)
			continue
		}
		x.AddScaledVec(&av, -s, ui)
		y.MulVec(a.T(), ui)
		y.AddScaledVec(&y, -s, v)
		out[i] = math.Max(mat.Norm(&x, 2), mat.Norm(&y, 2))
	}
	if res.Sigma[0] > 0 {
		for i := range out {
			out[i] /= res.Sigma[0]
		}
	}
	return out
}

// checkValues verifies that the values of res are the leading ones of want, which is in descending
// order, each within (tol + the largest residual)·σ₁; tol 0 is the default tolerance. The residual
// of a triplet bounds its distance to some singular value only; that the value is the leading one
// depends on tol.
func checkValues(t TB, res *solver.Result, want []float64, tol float64) {
	t.Helper()
	if tol == 0 {
		tol = solver.DefaultTol
	}
	worst := slices.Max(res.Residuals)
	for i, s := range res.Sigma {
		w := 0.0
		if i < len(want) {
			w = want[i]
		}
		if d := math.Abs(s - w); d > (worst+tol+32*epsilon)*want[0] {
			t.Errorf("σ[%d] = %.17g, want %.17g, differs by %.3g·σ₁ with residuals up to %.3g", i, s, w, d/want[0], worst)
		}
	}
}

// checkVectors verifies that the columns of x are orthonormal, to the degree that is reported, and,
// if signed is set, that the largest entry of each column is positive.
func checkVectors(t TB, name string, x *mat.Dense, reported float64, signed bool) {
	t.Helper()
	n, k := x.Dims()
	worst := 0.0
	for i := range k {
		for j := range k {
			var d, lost float64 // a compensated sum and its rounding error
			if i == j {
				d = -1
			}
			for r := range n {
				v := x.At(r, i) * x.At(r, j)
				sum := d + v
				part := sum - d
				lost += (d - (sum - part)) + (v - part)
				d = sum
			}
			worst = max(worst, math.Abs(d+lost))
		}
		big := 0.0
		for r := range n {
			if v := x.At(r, i); math.Abs(v) > math.Abs(big) {
				big = v
			}
		}
		if signed && big <= 0 {
			t.Errorf("largest entry of %s vector %d is %g, want it positive", name, i, big)
		}
	}
	if !(worst <= 1e-12) {
		t.Errorf("%s vectors deviate from orthonormality by %.3g", name, worst)
	}
	if !(worst <= 2*reported+8*epsilon) {
		t.Errorf("%s vectors deviate from orthonormality by %.3g, reported %.3g", name, worst, reported)
	}
}

func checkOrder(t TB, res *solver.Result) {
	t.Helper()
	for i, s := range res.Sigma {
		if i > 0 && s > res.Sigma[i-1] {
			t.Errorf("σ[%d] = %g after %g", i, s, res.Sigma[i-1])
		}
		if (s > 0) != (i < res.Rank) || s < 0 || math.IsNaN(s) {
			t.Errorf("σ[%d] = %g with rank %d", i, s, res.Rank)
		}
	}
}

func checkEnergy(t TB, a *mat.Dense, res *solver.Result) {
	t.Helper()
	norm := mat.Norm(a, 2)
	want := 0.0
	for _, s := range res.Sigma {
		if norm > 0 {
			want += s / norm * (s / norm)
		}
	}
	if math.Abs(res.Energy-want) > 1e-12 {
		t.Errorf("energy %.15g, want %.15g", res.Energy, want)
	}
}

// unproven reports whether a run may end without evidence that no larger value is outside.
func unproven(s solver.Settings) bool {
	return s.Deflation == solver.Plain && s.Init == nil && (s.Method == nil || s.Method.Traits(s.Rank).Copies == 0)
}
