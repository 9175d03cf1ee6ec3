package solver_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

var whiches = []solver.Which{solver.LargestMagnitude, solver.LargestAlgebraic, solver.SmallestAlgebraic}

// withEigenvalues returns a dense symmetric matrix with the given eigenvalues.
func withEigenvalues(seed uint64, values ...float64) *mat.Dense {
	n := len(values)
	r := rand.New(rand.NewPCG(seed, 1))
	x := mat.NewDense(n, n, nil)
	for i := range n {
		for j := range n {
			x.Set(i, j, r.NormFloat64())
		}
	}
	var qr mat.QR
	qr.Factorize(x)
	var q, a, s mat.Dense
	qr.QTo(&q)
	a.Product(&q, mat.NewDiagDense(n, values), q.T())
	s.Add(&a, a.T())
	s.Scale(0.5, &s)
	return &s
}

// adjacency returns the adjacency matrix of a graph with n nodes.
func adjacency(n int, edges ...[2]int) *mat.Dense {
	a := mat.NewDense(n, n, nil)
	for _, e := range edges {
		a.Set(e[0], e[1], 1)
		a.Set(e[1], e[0], 1)
	}
	return a
}

func pathGraph(n int) (edges [][2]int) {
	for i := range n - 1 {
		edges = append(edges, [2]int{i, i + 1})
	}
	return edges
}

func bipartite(p, q int) (edges [][2]int) {
	for i := range p {
		for j := range q {
			edges = append(edges, [2]int{i, p + j})
		}
	}
	return edges
}

// eigenvalues returns the eigenvalues of a, by gonum's dense solver, in the order of which.
func eigenvalues(t *testing.T, a *mat.Dense, which solver.Which) []float64 {
	t.Helper()
	n, _ := a.Dims()
	var e mat.EigenSym
	if !e.Factorize(mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data), false) {
		t.Fatal("no eigenvalues")
	}
	v := e.Values(nil)
	slices.SortStableFunc(v, func(x, y float64) int {
		switch {
		case which == solver.SmallestAlgebraic:
			x, y = y, x
		case which == solver.LargestMagnitude && math.Abs(math.Abs(x)-math.Abs(y)) > 1e-13*math.Abs(v[0]):
			x, y = math.Abs(x), math.Abs(y)
		}
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return v
}

// checkPairs verifies a converged result by dense products and dense eigenvalues.
func checkPairs(t *testing.T, a *mat.Dense, which solver.Which, tol float64, res *solver.Result) {
	t.Helper()
	n, _ := a.Dims()
	norm := mat.Norm(a, 2)
	want := eigenvalues(t, a, which)
	k := len(res.Lambda)
	if res.Status != solver.Converged || !res.Certified || res.Converged != k {
		t.Fatalf("%v, certified %t, %d of %d converged, residuals %.2g", res.Status, res.Certified, res.Converged, k, res.Residuals)
	}
	top := 0.0
	for _, l := range want {
		top = max(top, math.Abs(l))
	}
	if res.Norm > top*(1+1e-12) || top > 0 && res.Norm < top/4 {
		t.Errorf("norm %v of a matrix of norm %v", res.Norm, top)
	}
	for i, l := range res.Lambda {
		if res.Sigma[i] != math.Abs(l) {
			t.Errorf("λ[%d] = %v, σ = %v", i, l, res.Sigma[i])
		}
		off := math.Abs(l - want[i])
		if which == solver.LargestMagnitude { // the order of λ and −λ is checked in TestPairsOfGraphs
			off = math.Abs(math.Abs(l) - math.Abs(want[i]))
		}
		if off > tol*top+1e-13*norm {
			t.Errorf("λ[%d] = %.15g, want %.15g", i, l, want[i])
		}
		var r mat.VecDense
		v := res.Right.ColView(i)
		r.MulVec(a, v)
		r.AddScaledVec(&r, -l, v)
		if true := mat.Norm(&r, 2); true > 2*res.Residuals[i]*res.Norm+(res.Floor[i]*res.Norm+1e-14*norm) || res.Residuals[i] > tol {
			t.Errorf("pair %d: the residual is %.3g, reported are %.3g, of which rounding hides %.3g", i, true, res.Residuals[i]*res.Norm, res.Floor[i]*res.Norm)
		}
	}
	var gram mat.Dense
	gram.Mul(res.Right.T(), res.Right)
	for i := range k {
		gram.Set(i, i, gram.At(i, i)-1)
	}
	if d := mat.Max(&gram); d > 1e-13 || mat.Min(&gram) < -1e-13 {
		t.Errorf("vectors are orthonormal to %.3g", d)
	}
	if k < n {
		next := want[k]
		beyond := map[solver.Which]float64{
			solver.LargestMagnitude: math.Abs(next) - res.Outside.Bound, solver.LargestAlgebraic: next - res.Outside.Bound, solver.SmallestAlgebraic: res.Outside.Bound - next,
		}[which]
		if beyond > 1e-12*norm {
			t.Errorf("bound %v, the next eigenvalue is %v", res.Outside.Bound, next)
		}
	}
}

func TestPairs(t *testing.T) {
	spread := func(n int, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	r := rand.New(rand.NewPCG(3, 4))
	cases := map[string]*mat.Dense{
		"indefinite":            withEigenvalues(1, spread(40, func(int) float64 { return r.NormFloat64() })...),
		"positive definite":     withEigenvalues(2, spread(30, func(i int) float64 { return 1 + float64(i) })...),
		"negative definite":     withEigenvalues(3, spread(30, func(i int) float64 { return -1 - float64(i) })...),
		"negative semidefinite": withEigenvalues(4, append(spread(20, func(i int) float64 { return -1 - float64(i) }), 0, 0, 0)...),
		"pairs":                 withEigenvalues(5, spread(24, func(i int) float64 { return float64(1-i%2*2) * float64(3+i/2) })...),
		"near pairs":            withEigenvalues(6, spread(24, func(i int) float64 { return float64(1-i%2*2) * (float64(3+i/2) + 1e-6*float64(i%2)) })...),
		"very near pairs":       withEigenvalues(7, spread(24, func(i int) float64 { return float64(1-i%2*2) * (float64(3+i/2) + 1e-10*float64(i%2)) })...),
		"clusters":              withEigenvalues(8, 5, 5, 5, 5, 5, 5, 5, -5, -5, -5, -5, -5, -5, 2, 1, 0.5, 0, -1, -2),
		"nearly all the same":   withEigenvalues(9, append(spread(30, func(int) float64 { return 1 }), -1, 1.0001)...),
		"identity":              withEigenvalues(10, spread(12, func(int) float64 { return 1 })...),
		"minus the identity":    withEigenvalues(11, spread(12, func(int) float64 { return -1 })...),
		"zero":                  mat.NewDense(9, 9, nil),
		"1×1":                   mat.NewDense(1, 1, []float64{-3}),
		"2×2":                   mat.NewDense(2, 2, []float64{0, 1, 1, 0}),
		"one dominant":          withEigenvalues(12, append(spread(30, func(i int) float64 { return 1e-3 * float64(i-15) }), -1e3)...),
		"low rank":              withEigenvalues(13, append(spread(30, func(int) float64 { return 0 }), 4, -4, 3)...),
		"path":                  adjacency(30, pathGraph(30)...),
		"cycle":                 adjacency(24, append(pathGraph(24), [2]int{0, 23})...),
		"bipartite":             adjacency(15, bipartite(7, 8)...),
		"star":                  adjacency(20, bipartite(1, 19)...),
		"diagonal":              mat.DenseCopyOf(mat.NewDiagDense(9, []float64{1, -2, 3, -4, 5, 0, 0, -5, 4})),
	}
	for name, a := range cases {
		n, _ := a.Dims()
		for _, which := range whiches {
			for _, k := range []int{1, 2, 3, 5, n} {
				if k > n {
					continue
				}
				t.Run(fmt.Sprintf("%s/%v/k=%d", name, which, k), func(t *testing.T) {
					set := solver.Settings{Rank: k, Operator: solver.Symmetric, Which: which, Seed: 7}
					res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
					checkPairs(t, a, which, 1e-8, res)
				})
			}
		}
	}
}

func TestPairsOfEveryMethod(t *testing.T) {
	a := withEigenvalues(1, 9, -8.5, 7, 4, -6, 3, -5, 2, 1, 0, -1, -2, 0.5, 0.25, -0.5)
	for _, m := range []method.Method{
		gd.Descent{}, gd.Descent{Eta: 0.8}, momentum.Polyak{}, momentum.Nesterov{}, block.Descent{}, block.Descent{Columns: 2}, power.Iteration{},
		lanczos.Krylov{Columns: 1}, lanczos.Krylov{Columns: 2, Basis: 6}, lanczos.Krylov{Columns: 4},
	} {
		for _, which := range whiches {
			for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
				t.Run(fmt.Sprintf("%T%v/%v/%v", m, m, which, d), func(t *testing.T) {
					set := solver.Settings{Rank: 4, Method: m, Operator: solver.Symmetric, Which: which, Deflation: d, Tol: 1e-7, MaxPasses: 100_000}
					if which.String() != "LM" {
						set.Shift = 10
					}
					res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
					checkPairs(t, a, which, 1e-7, res)
				})
			}
		}
	}
}

// TestPairsShift checks that a shift that is too small gives ErrNotDefinite, and that larger ones give the pairs and a bound,
// also those of the zero matrix, and where the shift hides the digits of small eigenvalues.
func TestPairsShift(t *testing.T) {
	a := withEigenvalues(2, 5, 4, 3, -9, 2, 1, 0, -1, -4, 3.5, 2.5, 1.5)
	for _, shift := range []float64{1, 10, 1e3} {
		set := solver.Settings{Rank: 2, Method: power.Iteration{}, Operator: solver.Symmetric, Which: solver.LargestAlgebraic, Shift: shift, MaxPasses: 100_000}
		if shift == 1e3 {
			set.Method = lanczos.Krylov{}
		}
		res, err := solver.SVD(t.Context(), newDense(a), set)
		if shift < 9 {
			if !errors.Is(err, solver.ErrNotDefinite) {
				t.Errorf("shift %v: %v, want %v", shift, err, solver.ErrNotDefinite)
			}
			continue
		}
		must.Do(t, err)
		checkPairs(t, a, solver.LargestAlgebraic, 1e-8, res)
	}
	for seed := range uint64(4) {
		a := withEigenvalues(seed, 0.73121+1e-3*float64(seed), 0.41791, 3e-5, 1e-6, 0, 0, 0, 0, -1e-6)
		set := solver.Settings{Rank: 2, Operator: solver.Symmetric, Which: solver.LargestAlgebraic, Shift: 3e6, Tol: 1e-7}
		checkPairs(t, a, solver.LargestAlgebraic, 1e-7, must.Get(solver.SVD(t.Context(), newDense(a), set))(t))
	}
	zero := mat.NewDense(4, 4, nil)
	for _, which := range whiches[1:] {
		set := solver.Settings{Rank: 2, Operator: solver.Symmetric, Which: which, Shift: 3}
		checkPairs(t, zero, which, 1e-8, must.Get(solver.SVD(t.Context(), newDense(zero), set))(t))
	}
}

// TestPairsShiftTooLarge checks that a shift so large that A is lost in rounding is refused before
// any product, at any scale of A, and that a shift of 1e4·‖A‖ still gives the pairs.
func TestPairsShiftTooLarge(t *testing.T) {
	a := withEigenvalues(2, 5, 4, 3, -2, 1, 0)
	norm := mat.Norm(a, 2)
	for _, power := range []int{0, -200, 200} {
		scaled := mat.DenseCopyOf(a)
		scaled.Apply(func(_, _ int, x float64) float64 { return math.Ldexp(x, power) }, a)
		for _, which := range whiches[1:] {
			for _, c := range []float64{1e300, -1e300, 1e9, 1e8, 1e4} {
				set := solver.Settings{Rank: 2, Operator: solver.Symmetric, Which: which, Shift: math.Ldexp(c, power) * norm}
				if math.IsInf(set.Shift, 0) || set.Shift == 0 {
					continue
				}
				res, err := solver.SVD(t.Context(), newDense(scaled), set)
				if math.Abs(c) > 1e7 {
					if !errors.Is(err, solver.ErrShift) || !strings.Contains(err.Error(), "too large") {
						t.Errorf("%v, shift %v·‖A‖: %v, want %v", which, c, err, solver.ErrShift)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%v, shift %v·‖A‖: %v", which, c, err)
				}
				checkPairs(t, scaled, which, 1e-7, res)
			}
		}
	}
}

func TestPairsScale(t *testing.T) {
	a := withEigenvalues(3, 5, -4.5, 4, -3, 2, 1, 0.5, -0.25, 0, -1)
	for _, which := range whiches {
		set := solver.Settings{Rank: 3, Operator: solver.Symmetric, Which: which}
		want := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
		for _, p := range []int{-900, -20, 20, 900} {
			big := mat.DenseCopyOf(a)
			big.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, p) }, a)
			got := must.Get(solver.SVD(t.Context(), newDense(big), set))(t)
			if p%4 != 0 {
				continue
			}
			for i, l := range got.Lambda {
				if l != math.Ldexp(want.Lambda[i], p) || got.Residuals[i] != want.Residuals[i] {
					t.Errorf("%v times 2^%d: λ[%d] = %v with residual %v, want %v with %v", which, p, i, math.Ldexp(l, -p), got.Residuals[i], want.Lambda[i], want.Residuals[i])
				}
			}
			if b := math.Ldexp(got.Outside.Bound, -p); math.Abs(b-want.Outside.Bound) > 1e-14*math.Abs(b) {
				t.Errorf("%v times 2^%d: bound %v, want %v", which, p, b, want.Outside.Bound)
			}
		}
	}
}

// TestPairsRefuse checks that the error for an asymmetric matrix names the entry.
func TestPairsRefuse(t *testing.T) {
	a := withEigenvalues(4, 5, -4.5, 4, -3, 2, 1)
	a.Set(2, 4, a.At(2, 4)+1e-6)
	for _, which := range whiches {
		set := solver.Settings{Rank: 1, Operator: solver.Symmetric, Which: which}
		_, err := solver.SVD(t.Context(), newDense(a), set)
		var at *solver.AsymmetryError
		if !errors.As(err, &at) || !errors.Is(err, solver.ErrNotSymmetric) {
			t.Fatalf("%v: %v", which, err)
		}
		if min(at.Row, at.Col) != 2 || max(at.Row, at.Col) != 4 || at.Entry != a.At(at.Row, at.Col) || at.Mirror != a.At(at.Col, at.Row) {
			t.Errorf("%v: %+v", which, at)
		}
		if _, err = solver.SVD(t.Context(), newDense(solvertest.Random(5, 4, 1)), set); !errors.Is(err, solver.ErrNotSymmetric) {
			t.Errorf("%v: %v of a rectangular matrix", which, err)
		}
		set.MaxPasses = 1 // no pass is left for the check: the finishing pass has to find the asymmetry
		if _, err = solver.SVD(t.Context(), newDense(mat.NewDense(2, 2, []float64{0, 1, -1, 0})), solver.Settings{
			Rank: 2, Operator: solver.Symmetric, Which: which, MaxPasses: 1,
		}); !errors.Is(err, solver.ErrNotSymmetric) {
			t.Errorf("%v: %v in one pass", which, err)
		}
	}
}

func TestPairsResume(t *testing.T) {
	a := withEigenvalues(5, 9, -8.9, 7, 6.5, -6, 3, -5, 2, 1, 0, -1, -2, 0.5, 0.25, -0.5, 8.8, -8.7)
	for _, which := range whiches {
		for _, m := range []method.Method{lanczos.Krylov{Columns: 1, Basis: 8}, lanczos.Krylov{Columns: 3}, block.Descent{}, power.Iteration{}} {
			t.Run(fmt.Sprintf("%v/%T", which, m), func(t *testing.T) {
				checkResume(t, a, solver.Settings{Rank: 3, Method: m, Operator: solver.Symmetric, Which: which, Tol: 1e-5}, longtest.Pick(3, 0))
			})
		}
	}
}

// TestPairsInit starts from eigenvectors of pairs that are not wanted.
func TestPairsInit(t *testing.T) {
	values := []float64{9, -8.5, 7, 4, -6, 3, -5, 2, 1, 0, -1, -2, 0.5, 0.25, -0.5, 0.1}
	a := mat.DenseCopyOf(mat.NewDiagDense(len(values), values))
	init := mat.NewDense(len(values), 3, nil)
	for j, i := range []int{7, 9, 11} {
		init.Set(i, j, 1)
	}
	for _, which := range whiches {
		for _, m := range []method.Method{lanczos.Krylov{}, power.Iteration{}} {
			res := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{
				Rank: 3, Method: m, Operator: solver.Symmetric, Which: which, Init: init, MaxPasses: 100_000,
			}))(t)
			checkPairs(t, a, which, 1e-8, res)
			if !res.Outside.Leading {
				t.Errorf("%v: %+v", which, res.Outside)
			}
		}
	}
}

// TestPairsOfGraphs compares with known eigenvalues; those of bipartite graphs come in pairs, the positive one first.
func TestPairsOfGraphs(t *testing.T) {
	cos := func(x float64) float64 { return 2 * math.Cos(math.Pi*x) }
	for _, c := range []struct {
		name  string
		a     *mat.Dense
		which solver.Which
		want  []float64
	}{
		{"path", adjacency(30, pathGraph(30)...), solver.LargestMagnitude, []float64{cos(1. / 31), -cos(1. / 31), cos(2. / 31), -cos(2. / 31), cos(3. / 31)}},
		{"path", adjacency(30, pathGraph(30)...), solver.SmallestAlgebraic, []float64{-cos(1. / 31), -cos(2. / 31), -cos(3. / 31)}},
		{"cycle", adjacency(24, append(pathGraph(24), [2]int{0, 23})...), solver.LargestMagnitude, []float64{2, -2, cos(1. / 12), cos(1. / 12), -cos(1. / 12)}},
		{"cycle", adjacency(24, append(pathGraph(24), [2]int{0, 23})...), solver.LargestAlgebraic, []float64{2, cos(1. / 12), cos(1. / 12), cos(2. / 12)}},
		{"bipartite", adjacency(15, bipartite(7, 8)...), solver.LargestMagnitude, []float64{math.Sqrt(56)}},
		{"bipartite", adjacency(15, bipartite(7, 8)...), solver.LargestMagnitude, []float64{math.Sqrt(56), -math.Sqrt(56), 0}},
		{"star", adjacency(20, bipartite(1, 19)...), solver.SmallestAlgebraic, []float64{-math.Sqrt(19), 0, 0}},
	} {
		for seed := range uint64(5) {
			for _, b := range []int{0, 1, 2} {
				res := must.Get(solver.SVD(t.Context(), newDense(c.a), solver.Settings{
					Rank: len(c.want), Method: lanczos.Krylov{Columns: b}, Operator: solver.Symmetric, Which: c.which, Seed: seed, Tol: 1e-10,
				}))(t)
				for i, l := range res.Lambda {
					if math.Abs(l-c.want[i]) > 1e-9 {
						t.Errorf("%s, %v, b=%d, seed %d: λ = %v, want %v", c.name, c.which, b, seed, res.Lambda, c.want)
						break
					}
				}
			}
		}
	}
}
