package solver_test

import (
	"context"
	"errors"
	"math"
	"slices"
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

// gramless is a Matrix whose Gram operator must not be applied.
type gramless struct {
	*denseMatrix
	t testing.TB
}

func (g gramless) Run(ctx context.Context, p solver.Pass) (solver.Cost, error) {
	if p.Sum != nil && p.RowsIn.None() && p.R == nil {
		g.t.Error("the Gram operator is used")
	}
	return g.denseMatrix.Run(ctx, p)
}

// TestSmallValues checks values over twelve decades, most of them too small for the Gram operator,
// to working precision.
func TestSmallValues(t *testing.T) {
	want := make([]float64, 13)
	for i := range want {
		want[i] = math.Pow10(-i)
	}
	square := mat.NewDense(13, 13, nil)
	for i := range 13 {
		square.Set(i, i, want[i])
	}
	for _, c := range []struct {
		operator solver.OperatorKind
		a        *mat.Dense
	}{{solver.Dilation, solvertest.WithValues(30, 13, 13, want...)}, {solver.Symmetric, rotated(square, 3)}} {
		for _, m := range []method.Method{gd.Descent{}, power.Iteration{}, momentum.Nesterov{}, momentum.Polyak{}} {
			rows, _ := c.a.Dims()
			left := solver.NewDenseRows(rows, 13)
			set := solver.Settings{Rank: 13, Method: m, Operator: c.operator, Left: left, MaxPasses: 100_000}
			res := must.Get(solver.SVD(t.Context(), gramless{newDense(c.a), t}, set))(t)
			checkResult(t, c.a, set, res, left.Dense)
			for i, s := range res.Sigma {
				if math.Abs(s-want[i]) > 1e-14 {
					t.Errorf("%v, %s: σ[%d] = %.17g, want %g", c.operator, m.Traits(1).Name, i, s, want[i])
				}
			}
			if res.Status != solver.Converged || res.Rank != 13 {
				t.Errorf("%v, %s: %v, rank %d", c.operator, m.Traits(1).Name, res.Status, res.Rank)
			}
		}
	}
}

// rotated returns QᵀdQ with a random product Q of reflections, made exactly symmetric.
func rotated(d *mat.Dense, seed uint64) *mat.Dense {
	n, _ := d.Dims()
	s := mat.DenseCopyOf(d)
	for i := range uint64(3) {
		w := mat.NewDense(n, 1, nil)
		solver.Gaussian(w, 0, seed, i)
		v := mat.NewVecDense(n, w.RawMatrix().Data)
		h := mat.NewDense(n, n, nil)
		for j := range n {
			h.Set(j, j, 1)
		}
		h.RankOne(h, -2/mat.Dot(v, v), v, v)
		s.Product(h, s, h)
	}
	for i := range n {
		for j := range i {
			s.Set(i, j, s.At(j, i))
		}
	}
	return s
}

// TestOperatorsAgree compares the results of all operators on a semidefinite matrix.
func TestOperatorsAgree(t *testing.T) {
	s := rotated(solvertest.Diagonal(12, 12, 5, 4, 4, 2, 1, 0.5, 0.01), 7)
	want := []float64{5, 4, 4, 2, 1, 0.5, 0.01, 0}
	for _, m := range []method.Method{
		gd.Descent{}, power.Iteration{}, momentum.Nesterov{}, momentum.Polyak{}, momentum.NesterovGeneral{},
		block.Descent{}, lanczos.Krylov{},
	} {
		for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation, solver.Symmetric} {
			if operator == solver.Dilation && !m.Traits(1).Indefinite {
				continue
			}
			for _, deflation := range []solver.Deflation{solver.Projected, solver.Plain} {
				left := solver.NewDenseRows(12, 8)
				set := solver.Settings{Rank: 8, Method: m, Operator: operator, Deflation: deflation, Left: left, MaxPasses: 100_000}
				res := must.Get(solver.SVD(t.Context(), newDense(s), set))(t)
				checkResult(t, s, set, res, left.Dense)
				checkValues(t, res, want, 0)
				if res.Status != solver.Converged || res.Rank != 7 {
					t.Errorf("%s, %v, %v: %v, rank %d", m.Traits(1).Name, operator, deflation, res.Status, res.Rank)
				}
			}
		}
	}
}

// TestOperatorsResume checks that runs resumed from checkpoints have the same bits with every operator.
func TestOperatorsResume(t *testing.T) {
	s := rotated(solvertest.Diagonal(9, 9, 5, 4, 3, 2, 1), 2)
	for _, operator := range []solver.OperatorKind{solver.Dilation, solver.Symmetric} {
		for _, m := range []method.Method{power.Iteration{}, momentum.Nesterov{}, momentum.Polyak{Beta: 0.5}, momentum.NesterovGeneral{}} {
			for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
				set := solver.Settings{Rank: 4, Method: m, Operator: operator, Deflation: d, Tol: 1e-6}
				checkResume(t, s, set, longtest.Pick(4, 1))
				if set.Init = solvertest.Random(9, 2, 5); longtest.On() {
					checkResume(t, s, set, 4)
				}
			}
		}
	}
	// The run continues with the Gram operator after a finishing pass.
	set := solver.Settings{Rank: 4, Method: optimist{power.Iteration{}}, Operator: solver.Dilation, Tol: 1e-5}
	a := solvertest.WithValues(30, 12, 3, 5, 4, 3, 2, 1.5, 1)
	certificates := 0
	set.Observer = func(e solver.Event) error {
		if e.Phase == solver.PhaseFinish {
			certificates++
		}
		return nil
	}
	if res, err := solver.SVD(t.Context(), newDense(a), set); err != nil || res.Status != solver.Converged || certificates < 2 {
		t.Errorf("%d certificates, %v: not the case to test", certificates, err)
	}
	set.Observer = nil
	checkResume(t, a, set, longtest.Pick(30, 6))
	// A checkpoint of another operator is refused.
	all := new(checkpoints)
	set.Checkpointer = all
	must.Get(solver.SVD(t.Context(), newDense(s), set))(t)
	set.Operator, set.Checkpointer = solver.Gram, nil
	_, err := solver.SVD(t.Context(), newDense(s), resumedFrom(t, set, all.Saved[0]))
	if mismatch := new(solver.MismatchError); !errors.As(err, &mismatch) {
		t.Errorf("a checkpoint of the dilation is continued with the Gram operator: %v", err)
	}
}

func TestSymmetricRefuses(t *testing.T) {
	skew := rotated(solvertest.Diagonal(30, 30, 3, 2, 1), 1)
	skew.Set(3, 5, skew.At(3, 5)+1e-6)
	for name, c := range map[string]struct {
		a    *mat.Dense
		want error
	}{
		"not square":       {solvertest.Random(5, 4, 1), solver.ErrNotSymmetric},
		"skew":             {mat.NewDense(2, 2, []float64{0, 1, -1, 0}), solver.ErrNotSymmetric},
		"one entry is off": {skew, solver.ErrNotSymmetric},
		"negative":         {rotated(solvertest.Diagonal(9, 9, -3, -2, -1), 1), solver.ErrNotDefinite},
		"not finite":       {solvertest.Diagonal(3, 3, math.NaN()), solver.ErrBreakdown},
	} {
		for _, m := range []method.Method{gd.Descent{}, momentum.Nesterov{}, lanczos.Krylov{}} {
			res, err := solver.SVD(t.Context(), newDense(c.a), solver.Settings{Rank: 1, Method: m, Operator: solver.Symmetric})
			if !errors.Is(err, c.want) || res != nil {
				t.Errorf("%s, %s: %v", name, m.Traits(1).Name, err)
			}
		}
	}
	// An asymmetry of the size of rounding is accepted at any scale.
	for _, f := range []float64{1e-100, 1, 1e100} {
		near := rotated(solvertest.Diagonal(30, 30, 3*f, 2*f, f), 1)
		for i := range 30 {
			near.Set(i, 7, near.At(i, 7)*(1+1e-15))
		}
		if _, err := solver.SVD(t.Context(), newDense(near), solver.Settings{Rank: 3, Operator: solver.Symmetric}); err != nil {
			t.Errorf("scaled by %g: %v", f, err)
		}
	}
}

// endless is a matrix of MaxInt64 rows: the order of its dilation, rows plus columns, overflows an int.
type endless struct{ *denseMatrix }

func (e endless) Info() solver.Info {
	i := e.denseMatrix.Info()
	i.Rows = math.MaxInt
	return i
}

// TestOperatorsRefuse checks that a matrix without a dilation gives ErrOperator and that methods that cannot use a
// dilation panic.
func TestOperatorsRefuse(t *testing.T) {
	a := solvertest.Diagonal(3, 3, 2, 1)
	if _, err := solver.SVD(t.Context(), endless{newDense(a)}, solver.Settings{Rank: 1, Operator: solver.Dilation}); !errors.Is(err, solver.ErrOperator) {
		t.Errorf("dilation of an order beyond int: %v", err)
	}
	for _, m := range []method.Method{subspace{}, block.Descent{}, lanczos.Krylov{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s does not panic", m.Traits(1).Name)
				}
			}()
			_, _ = solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: 1, Method: m, Operator: solver.Dilation})
		}()
	}
	if f := solver.OperatorKind(3); f.String() != "gram" && f.String() == solver.Dilation.String() {
		t.Errorf("%v", f)
	}
}

// TestInspection checks the events of the pass that checks symmetry, and its place in pass limits.
func TestInspection(t *testing.T) {
	a := rotated(solvertest.Diagonal(9, 9, 3, 2, 1), 1)
	var phases []string
	set := solver.Settings{Rank: 2, Operator: solver.Symmetric, Observer: func(e solver.Event) error {
		if e.Pass != len(phases)+1 {
			t.Errorf("event of pass %d after %d others", e.Pass, len(phases))
		}
		phases = append(phases, e.Phase)
		return nil
	}}
	d := newDense(a)
	res, err := solver.SVD(t.Context(), d, set)
	if err != nil || res.Stats.Passes != len(phases) || d.Passes != len(phases) {
		t.Fatalf("%v: %d events", err, len(phases))
	}
	if phases[0] != solver.PhaseInspect || slices.Contains(phases[1:], solver.PhaseInspect) {
		t.Errorf("phases %v", phases)
	}
	set.Observer = nil
	for limit := 1; limit < 6; limit++ {
		set.MaxPasses = limit
		res, err := solver.SVD(t.Context(), newDense(a), set)
		if err != nil || !res.Certified || res.Stats.Passes > limit {
			t.Errorf("limit %d: %v, %+v", limit, err, res)
		}
	}
	for at := 1; at <= len(phases); at++ {
		ctx, cancel := context.WithCancel(t.Context())
		d := newDense(a)
		d.Hook = cancelAt(at, cancel)
		set.MaxPasses = 0
		if res, err := solver.SVD(ctx, d, set); err != nil || res.Status != solver.Cancelled || res.Certified {
			t.Errorf("cancelled in pass %d: %v", at, err)
		}
		cancel()
		fault := errors.New("disk on fire")
		d = newDense(a)
		d.Hook = failAt(at, fault)
		if _, err := solver.SVD(t.Context(), d, set); !errors.Is(err, fault) {
			t.Errorf("fault in pass %d: %v", at, err)
		}
	}
}

// TestBoundOfCoarseDilation checks that the bound, of the right vectors alone, allows for their residuals: the evidence
// covers both sides.
func TestBoundOfCoarseDilation(t *testing.T) {
	sigma := append([]float64{1001, 1001, 1000}, slices.Repeat([]float64{1}, 10)...)
	for range 20 {
		sigma = append(sigma, 0.01)
	}
	for seed := range longtest.Pick(uint64(60), 20) {
		for name, m := range map[string]method.Method{"nesterov": momentum.Nesterov{}, "gd": gd.Descent{}} {
			a := solvertest.WithValues(37, 39, seed, sigma...)
			set := solver.Settings{Rank: 12, Seed: seed, Tol: 1e-3, Method: m, Operator: solver.Dilation}
			res := must.Get(solver.SVD(t.Context(), newDense(a), set))(t)
			if res.Outside.Bound < 1-1e-9 {
				t.Errorf("%s, seed %d: %+v, next is 1, found %g", name, seed, res.Outside, res.Sigma)
			}
		}
	}
}
