package solver_test

import (
	"context"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// subspace is block power iteration with Rayleigh–Ritz: a method with several Ritz pairs a pass
// that continues after some of them have been locked.
type subspace struct{ guard int }

func (s subspace) Traits(int) method.Traits {
	t := method.Single("subspace", 3, 100)
	t.Width = func(missing int) int { return missing + s.guard }
	return t
}

// orthonormalColumns returns an orthonormal basis of the columns of x, dropping
// directions that are roundoff.
func orthonormalColumns(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	var svd mat.SVD
	var u mat.Dense
	svd.Factorize(x, mat.SVDThin)
	svd.UTo(&u)
	values, l := svd.Values(nil), 1
	for l < len(values) && values[l] > 1e-13*values[0] {
		l++
	}
	return mat.DenseCopyOf(u.Slice(0, n, 0, l))
}

func (subspace) New(method.Run) method.Recurrence { return new(subspaceRun) }

type subspaceRun struct {
	method.Alone
	x, ritz *mat.Dense
	y       *mat.Dense
	pairs   []method.RitzPair
}

func (r *subspaceRun) Next() *mat.Dense { return r.x }

func (r *subspaceRun) Absorb(y *mat.Dense) []method.RitzPair {
	_, l := r.x.Dims()
	var h mat.Dense
	h.Mul(r.x.T(), y)
	sym := mat.NewSymDense(l, nil)
	for i := range l {
		for j := i; j < l; j++ {
			sym.SetSym(i, j, (h.At(i, j)+h.At(j, i))/2)
		}
	}
	var e mat.EigenSym
	var q mat.Dense
	e.Factorize(sym, true)
	e.VectorsTo(&q)
	flip := mat.NewDense(l, l, nil) // descending
	for i := range l {
		flip.SetCol(i, mat.Col(nil, l-1-i, &q))
	}
	r.ritz, r.y = new(mat.Dense), new(mat.Dense)
	r.ritz.Mul(r.x, flip)
	r.y.Mul(y, flip)
	values := e.Values(nil)
	r.pairs = r.pairs[:0]
	for i := range l {
		c := method.RitzPair{Value: values[l-1-i], DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
		var d mat.VecDense
		d.AddScaledVec(r.y.ColView(i), -c.Value, r.ritz.ColView(i))
		c.Residual = mat.Norm(&d, 2)
		r.pairs = append(r.pairs, c)
	}
	r.x = orthonormalColumns(r.y)
	return r.pairs
}

func (r *subspaceRun) State(s *method.State) {
	s.Tall("x", &r.x, -1)
	s.Small("ritz", &r.ritz, -1, -1) // nil before the first product
	s.Small("y", &r.y, -1, -1)
}

func (r *subspaceRun) Start(z *mat.Dense) { r.x = orthonormalColumns(z) }

func (r *subspaceRun) Vector(dst []float64, j int) { mat.Col(dst, j, r.ritz) }

func (r *subspaceRun) Lock(j int) bool {
	n, l := r.y.Dims()
	if j >= l {
		return false
	}
	r.x = orthonormalColumns(mat.DenseCopyOf(r.y.Slice(0, n, j, l)))
	return true
}

// TestBlockMethod runs the suite on a block method, which shows that neither the driver nor the
// suite relies on one vector at a time.
func TestBlockMethod(t *testing.T) {
	conform(t, subspace{guard: 2}, options{narrow: true})
}

// optimist is a method that reports 1/300 of its residuals.
type optimist struct{ method.Method }

type optimistRun struct{ method.Recurrence }

func (o optimist) New(r method.Run) method.Recurrence { return optimistRun{o.Method.New(r)} }

func (o optimistRun) Absorb(y *mat.Dense) []method.RitzPair {
	c := o.Recurrence.Absorb(y)
	for i := range c {
		c[i].Residual /= 300
	}
	return c
}

// TestGoesOn checks that a run whose finishing pass misses the tolerance continues, and that its
// result passes the same checks as others.
func TestGoesOn(t *testing.T) {
	rounds := 0
	for seed := range uint64(10) {
		a := solvertest.WithValues(30, 12, seed, 5, 4, 3, 2, 1.5, 1)
		for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
			left := solver.NewDenseRows(30, 4)
			finishes := 0
			set := solver.Settings{Rank: 4, Seed: seed, Deflation: d, Method: optimist{power.Iteration{}}, Left: left}
			set.Observer = func(e solver.Event) error {
				if e.Phase == solver.PhaseFinish {
					finishes++
				}
				return nil
			}
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
			checkResult(t, a, set, res, left.Dense)
			checkValues(t, res, []float64{5, 4, 3, 2}, set.Tol)
			if res.Status != solver.Converged {
				t.Errorf("seed %d, %v: %v, residuals %.2g", seed, d, res.Status, res.Residuals)
			}
			rounds += finishes - 1
		}
	}
	if rounds < 10 {
		t.Errorf("went on %d times in 20 runs: the test does not test", rounds)
	}
}

// TestGoingOnWithinLimits limits and cancels runs that continue after a missed tolerance, near every one of their last passes.
func TestGoingOnWithinLimits(t *testing.T) {
	a := solvertest.WithValues(30, 12, 1, 5, 4, 3, 2, 1.5, 1)
	set := solver.Settings{Rank: 4, Method: optimist{power.Iteration{}}}
	full := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
	for limit := full.Stats.Passes - 40; limit < full.Stats.Passes+3; limit++ {
		left := solver.NewDenseRows(30, 4)
		set.MaxPasses, set.Left = limit, left
		res, err := solver.SVD(t.Context(), newDense(a), set)
		must.Do(t, err)
		checkResult(t, a, set, res, left.Dense)
		if res.Stats.Passes > limit {
			t.Errorf("%d passes with a limit of %d", res.Stats.Passes, limit)
		}
		// A run with a few passes less may converge too.
		short := full.Stats.Passes - limit
		if short <= 0 && res.Status != solver.Converged || short > 5 && res.Status != solver.PassLimit {
			t.Errorf("limit %d of %d: %v", limit, full.Stats.Passes, res.Status)
		}

		ctx, cancel := context.WithCancel(t.Context())
		d := newDense(a)
		d.Hook = cancelAt(limit, cancel)
		set.MaxPasses = 0
		res, err = solver.SVD(ctx, d, set)
		cancel()
		must.Do(t, err)
		if limit <= full.Stats.Passes && (res.Status != solver.Cancelled || res.Certified || len(res.Sigma) != 4) {
			t.Errorf("cancelled at %d of %d: %v", limit, full.Stats.Passes, res.Status)
		}
	}
}

// hopeless is a method that reports a residual of 0 for its first Ritz pair.
type hopeless struct{ method.Method }

type hopelessRun struct{ method.Recurrence }

func (h hopeless) New(r method.Run) method.Recurrence { return hopelessRun{h.Method.New(r)} }

func (h hopelessRun) Absorb(y *mat.Dense) []method.RitzPair {
	c := h.Recurrence.Absorb(y)
	c[0].Residual = 0
	return c
}

// TestNeverBelievesTheMethod checks that a run does not end as converged because the method claims
// it at once.
func TestNeverBelievesTheMethod(t *testing.T) {
	a := solvertest.WithValues(30, 12, 1, 5, 4.9, 4.8, 4.7, 4.6, 4.5)
	left := solver.NewDenseRows(30, 4)
	set := solver.Settings{Rank: 4, Method: hopeless{power.Iteration{}}, Left: left}
	res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
	checkResult(t, a, set, res, left.Dense)
	if res.Status != solver.Stagnated {
		t.Errorf("status %v with residuals %.2g", res.Status, res.Residuals)
	}
}

// TestHonest compares reported with true residuals over many matrices and stages of convergence.
func TestHonest(t *testing.T) {
	for seed := range longtest.Pick(uint64(60), 9) {
		rows, cols := 5+int(seed*11%40), 5+int(seed*5%13)
		sigma := make([]float64, min(rows, cols))
		for i := range sigma {
			sigma[i] = math.Pow10(-i * int(seed%4))
		}
		a := solvertest.WithValues(rows, cols, seed, sigma...)
		k := 1 + int(seed)%len(sigma)
		for _, limit := range []int{1, 2, 3, 5, 8, 13, 21, 34, 55, 1000} {
			for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
				left := solver.NewDenseRows(rows, k)
				set := solver.Settings{Rank: k, Method: gd.Descent{}, Seed: seed, MaxPasses: limit, Deflation: d, Left: left, Tol: math.Pow10(-int(seed%9) - 2)}
				res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
				checkResult(t, a, set, res, left.Dense)
			}
		}
	}
}

// metered is a matrix that reports costs.
type metered struct{ *denseMatrix }

func (m metered) Run(ctx context.Context, p solver.Pass) (solver.Cost, error) {
	_, err := m.denseMatrix.Run(ctx, p)
	return solver.Cost{BytesRead: 10, Multiply: time.Second, Wait: time.Minute}, err
}

func TestStats(t *testing.T) {
	m := metered{newDense(solvertest.WithValues(20, 10, 1, 4, 2, 1))}
	m.Passes = 7 // by an earlier run
	res := must.Get(solver.SVD(t.Context(), m, solver.Settings{Rank: 2, Method: gd.Descent{}}))(t)
	s := res.Stats
	p := time.Duration(s.Passes)
	if s.Passes != m.Passes-7 || s.BytesRead != int64(10*s.Passes) || s.Multiply != p*time.Second || s.Wait != p*time.Minute {
		t.Errorf("stats %+v after %d passes", s, m.Passes-7)
	}
	if s.Products != int64(s.Passes-1+2) {
		t.Errorf("%d products in %d passes, the last with 2 vectors", s.Products, s.Passes)
	}
}
