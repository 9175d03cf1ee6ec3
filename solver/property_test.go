package solver_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/all"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// anyRun is a random run on a small random matrix with random settings.
type anyRun struct {
	a   *mat.Dense
	set solver.Settings
}

func (c anyRun) String() string {
	s, m := c.set, mat.DenseCopyOf(c.a)
	rows, cols := m.Dims()
	return fmt.Sprintf("%d×%d %v %v k=%d energy=%g tol=%g passes≤%d %+v %v %v init=%v", rows, cols, s.Operator, s.Which, s.Rank, s.Energy, s.Tol, s.MaxPasses, s.Method, s.Deflation, s.Stop, s.Init != nil)
}

// signed reports whether the run is for eigenvalues with their signs.
func (c anyRun) signed() bool {
	return c.set.Operator == solver.Symmetric && c.set.Which != solver.Semidefinite
}

// anyValues returns n singular values of a random kind: decaying slowly or fast, clustered, repeated or nearly so,
// partly 0, over many orders.
func anyValues(r *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	kind, different, apart := r.IntN(9), 1+r.IntN(4), math.Pow10(-r.IntN(13))
	for i := range s {
		s[i] = [...]float64{
			math.Pow(10, -6*r.Float64()), 1 / float64(1+i), 1 / float64(1+i/2), 1 - 1e-3*r.Float64(), math.Pow(0.3, float64(i)),
			math.Pow(1e-4, float64(i/3)), float64(1 + r.IntN(different)), float64(1+r.IntN(different)) + apart*r.Float64(),
			math.Pow10(-r.IntN(5)) + 1000*float64(max(0, 3-i)),
		}[kind]
	}
	if r.IntN(4) == 0 {
		for i := range s {
			s[i] *= float64(r.IntN(2))
		}
	}
	return s
}

// orthogonal returns a random orthogonal matrix, with probability 1/4 a permutation, which makes a matrix of blocks.
func orthogonal(r *rand.Rand, n int) *mat.Dense {
	a := solvertest.Random(n, n, r.Uint64())
	if r.IntN(4) == 0 {
		a.Zero()
		for i, j := range r.Perm(n) {
			a.Set(i, j, 1)
		}
		return a
	}
	var qr mat.QR
	qr.Factorize(a)
	qr.QTo(a)
	return a
}

func drawRun(r *rand.Rand) anyRun {
	rows, cols := 1+r.IntN(40), 1+r.IntN(40)
	symmetric := r.IntN(2) == 0
	if symmetric {
		cols = rows
	}
	least := min(rows, cols)
	c := anyRun{a: mat.NewDense(rows, cols, nil), set: solver.Settings{
		Seed: r.Uint64(), Tol: math.Pow10(-1 - r.IntN(14)), MaxPasses: 3000, Rank: 1 + r.IntN(min(least, 12)), SignLeft: r.IntN(4) == 0,
	}}
	s := &c.set
	if r.IntN(3) == 0 {
		s.Rank = 1 + r.IntN(least)
	}
	if r.IntN(3) == 0 {
		s.MaxPasses = 1 + r.IntN(60)
	}
	if r.IntN(3) == 0 {
		s.Deflation = solver.Plain
	}
	values, left, right := anyValues(r, least), orthogonal(r, rows), orthogonal(r, cols)
	switch {
	case symmetric:
		s.Operator, right = solver.Symmetric, left
		if s.Which = solver.Which(r.IntN(4)); s.Which != solver.Semidefinite {
			for i := range values {
				values[i] *= float64(1 - 2*r.IntN(2))
			}
		}
	case r.IntN(3) == 0:
		s.Operator = solver.Dilation
	}
	middle := mat.NewDense(rows, cols, nil)
	for i, v := range values {
		middle.Set(i, i, v)
	}
	c.a.Product(left, middle, right.T())
	if symmetric {
		middle.Add(c.a, c.a.T())
		c.a.Scale(0.5, middle)
	}
	if s.Operator != solver.Dilation && r.IntN(3) > 0 {
		b := 1 + r.IntN(5)
		s.Method = []method.Method{
			lanczos.Krylov{}, block.Descent{}, block.Descent{Columns: b}, lanczos.Krylov{Columns: b, Basis: 2*b + r.IntN(20)},
		}[r.IntN(4)]
	} else {
		ms := slices.DeleteFunc(append(all.Methods(), subspace{2}), func(m method.Method) bool { return s.Operator == solver.Dilation && !m.Traits(1).Indefinite })
		s.Method = ms[r.IntN(len(ms))]
	}
	if s.Method.Traits(s.Rank).Paper && !c.signed() && r.IntN(8) == 0 {
		s.Stop = solver.StopPaper
	}
	if r.IntN(3) == 0 { // singular vectors, leading or not, exact or not
		width := 1 + r.IntN(min(cols, s.Rank+2))
		from, noise := r.IntN(cols-width+1), []float64{0, 1e-10, 1e-4, 1}[r.IntN(4)]
		s.Init = solvertest.Random(cols, width, r.Uint64())
		s.Init.Scale(noise, s.Init)
		s.Init.Add(s.Init, right.Slice(0, cols, from, from+width))
	}
	if !c.signed() && s.Stop == solver.StopResidual && r.IntN(4) == 0 {
		s.Energy = []float64{0.5, 0.99, 1 - math.Pow(10, -6*r.Float64()), r.Float64()}[r.IntN(4)]
	}
	return c
}

// TestAnyRun checks what must hold for any matrix, method, operator, deflation, rule, tolerance,
// start and limit: the run ends and its claims are true, by gonum's dense methods.
func TestAnyRun(t *testing.T) {
	for seed := range uint64(longtest.Pick(1500, 80)) {
		c := drawRun(rand.New(rand.NewPCG(seed, 1)))
		if c.set.Method.Traits(c.set.Rank).Check() != nil {
			continue
		}
		t.Run(fmt.Sprint(seed, ": ", c), func(t *testing.T) { c.check(t) })
	}
}

func (c anyRun) check(t *testing.T) {
	rows, cols := c.a.Dims()
	left := solver.NewDenseRows(rows, c.set.Rank)
	set := c.set
	if !c.signed() {
		set.Left = left
	}
	res := must.Get(solver.SVD(t.Context(), newDense(c.a), set))(t)
	if res.Stats.Passes > set.MaxPasses {
		t.Errorf("%d passes, limit %d", res.Stats.Passes, set.MaxPasses)
	}
	if !res.Certified {
		t.Fatal("not certified")
	}
	want, got := solvertest.Singular(c.a), res.Sigma
	norm := want[0]
	if set.Energy > 0 {
		c.checkTarget(t, res, want)
		set.Rank = len(got)
	}
	switch {
	case c.signed():
		want, got = eigenvalues(t, c.a, set.Which), res.Lambda
		c.checkPairs(t, res)
	case norm > 0:
		checkResult(t, c.a, set, res, left.Dense)
	}
	if set.Deflation == solver.Plain && unproven(set) || set.Stop == solver.StopPaper {
		return // it may have missed a value, and does not claim otherwise
	}
	// Rounding of AᵀA and A² hides values up to 1e-7·‖A‖; signed pairs and the dilation are more accurate.
	loose, squared := 1e-7, 1e-13
	if c.signed() && set.Which != solver.LargestMagnitude || set.Operator == solver.Dilation && set.Init == nil {
		loose, squared = 1e-12, 0
	}
	within := func(x, y, more float64) bool {
		if set.Which == solver.LargestMagnitude { // the sign is that of the pair found; of several of equal magnitude any may be found
			x, y = math.Abs(x), math.Abs(y)
		}
		return math.Abs(x-y) <= (loose+more)*norm || math.Abs(x*x-y*y) <= squared*norm*norm
	}
	for i, v := range got {
		if res.Status == solver.Converged && !within(v, want[i], 3*set.Tol) {
			t.Errorf("values %.10g, want %.10g, outside %+v", got, want[:len(got)], res.Outside)
			break
		}
	}
	if len(got) == cols || len(got) == len(want) {
		return
	}
	next, bound := want[len(got)], res.Outside.Bound
	if set.Which == solver.LargestMagnitude {
		next = math.Abs(next)
	}
	if set.Which == solver.SmallestAlgebraic {
		next, bound = -next, -bound
	}
	if bound < next-1e-9*math.Abs(next) && !within(bound, next, 0) {
		t.Errorf("bound %+v, next %g; found %.8g, want %.8g, %v", res.Outside, next, got, want[:len(got)], res.Status)
	}
}

// checkPairs compares the residuals of eigenpairs with residuals computed from the dense matrix.
func (c anyRun) checkPairs(t *testing.T, res *solver.Result) {
	for i, reported := range res.Residuals {
		var av mat.VecDense
		v := res.Right.ColView(i)
		av.MulVec(c.a, v)
		av.AddScaledVec(&av, -res.Lambda[i], v)
		if truth := mat.Norm(&av, 2) / max(res.Norm, math.SmallestNonzeroFloat64); truth > 2*reported+res.Floor[i]+1e-14 {
			t.Errorf("pair %d: residual %.3g reported as %.3g, floor %.3g", i, truth, reported, res.Floor[i])
		}
	}
}

// checkTarget checks the claims about a share of the energy against all singular values.
func (c anyRun) checkTarget(t *testing.T, res *solver.Result, want []float64) {
	k, total, reached, fewer := len(res.Sigma), 0.0, 0.0, 0.0
	for i, s := range want {
		total += s * s
		if i < k {
			reached += res.Sigma[i] * res.Sigma[i]
		}
		if i < k-1 {
			fewer += s * s
		}
	}
	g, share := res.Target, c.set.Energy
	switch {
	case g == nil:
		t.Fatal("no target")
	case math.Abs(reached/total-share) > 1e-11 && g.Reached != (reached/total >= share):
		t.Errorf("%+v with %g", g, reached/total)
	case g.Smallest && fewer/total >= share+1e-11:
		t.Errorf("%+v, but %d of %d values capture %g", g, k-1, k, fewer/total)
	case res.Status == solver.Converged && !g.Reached && k < c.set.Rank:
		t.Errorf("converged with %d of %d: %+v", k, c.set.Rank, g)
	}
}

// spectrum draws values in descending order, with ties, zeros, gaps, and values near roundoff.
func spectrum(t *rapid.T, n int) []float64 {
	s := make([]float64, n)
	v := 1.0
	for i := range s {
		switch rapid.IntRange(0, 7).Draw(t, "gap") {
		case 0, 1: // a tie
		case 2:
			v *= 1e-3
		case 3:
			v = 0
		case 4:
			v *= 1e-8
		default:
			v *= rapid.Float64Range(0.2, 0.9).Draw(t, "ratio")
		}
		s[i] = v
	}
	return s
}

// TestAnyMatrix checks what must hold for every matrix, method, deflation, rule, tolerance and
// limit: the run ends and its claims about its result are true.
func TestAnyMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, cols := rapid.IntRange(1, 25).Draw(t, "rows"), rapid.IntRange(1, 25).Draw(t, "cols")
		seed := rapid.Uint64().Draw(t, "seed")
		sigma := spectrum(t, min(rows, cols))
		a := solvertest.WithValues(rows, cols, seed, sigma...)
		k := rapid.IntRange(1, min(rows, cols)).Draw(t, "k")
		left := solver.NewDenseRows(rows, k)
		set := solver.Settings{
			Rank:      k,
			Seed:      seed,
			Deflation: rapid.SampledFrom([]solver.Deflation{solver.Projected, solver.Plain}).Draw(t, "deflation"),
			Stop:      rapid.SampledFrom([]solver.StopRule{solver.StopResidual, solver.StopPaper}).Draw(t, "stop"),
			Tol:       math.Pow10(-rapid.IntRange(1, 17).Draw(t, "digits")),
			Method:    rapid.SampledFrom([]method.Method{gd.Descent{}, gd.Descent{Eta: 0.9}, power.Iteration{}, subspace{2}}).Draw(t, "method"),
			SignLeft:  rapid.Bool().Draw(t, "sign left"),
			Left:      left,
			MaxPasses: 100_000,
		}
		if set.Stop == solver.StopPaper {
			set.MaxPasses = 3000
		}
		if set.Method.Traits(1).Name == "subspace" {
			set.Stop = solver.StopResidual // subspace has no other rule
		}
		if rapid.Bool().Draw(t, "limited") {
			set.MaxPasses = rapid.IntRange(1, 200).Draw(t, "limit")
		}
		res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
		checkResult(t, a, set, res, left.Dense)
		if res.Stats.Passes > set.MaxPasses {
			t.Errorf("%d passes, limit %d", res.Stats.Passes, set.MaxPasses)
		}
		// The paper's rule ends when the changes are small, which can take any time between nearly
		// equal values split by plain deflation.
		if set.MaxPasses == 100_000 && res.Status == solver.PassLimit && set.Stop == solver.StopResidual {
			t.Errorf("no end: residuals %.2g of values %.3g", res.Residuals, sigma)
		}
		// At a loose tolerance a random vector may happen to be good enough for
		// a value that is not the leading one.
		if res.Status == solver.Converged && set.MaxPasses == 100_000 && set.Stop == solver.StopResidual && set.Tol < 1e-5 {
			checkValues(t, res, sigma, set.Tol)
		}
	})
}

// TestTranspose checks that A and Aᵀ have the same values and swapped vectors.
func TestTranspose(t *testing.T) {
	for seed := range uint64(10) {
		a := solvertest.WithValues(14, 9, seed, 5, 4, 3, 2, 1)
		left, leftT := solver.NewDenseRows(14, 3), solver.NewDenseRows(9, 3)
		res := must.Get(solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 3, Left: left}))(t)
		resT := must.Get(solver.SVD(t.Context(), newDense(mat.DenseCopyOf(a.T())), solver.Settings{Rank: 3, Left: leftT, SignLeft: true}))(t)
		if !slices.EqualFunc(res.Sigma, resT.Sigma, func(x, y float64) bool { return math.Abs(x-y) < 1e-13 }) {
			t.Errorf("σ = %v and %v", res.Sigma, resT.Sigma)
		}
		if !mat.EqualApprox(res.Right, leftT.Dense, 1e-7) || !mat.EqualApprox(left.Dense, resT.Right, 1e-7) {
			t.Errorf("seed %d: vectors of the transpose differ", seed)
		}
	}
}
