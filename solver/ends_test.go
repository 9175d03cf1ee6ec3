package solver_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// passLimit stops a run after every possible number of passes: the limit is kept, and the result is
// certified and passes checkResult.
func (s suite) passLimit(t *testing.T) {
	for _, a := range []*mat.Dense{solvertest.WithValues(15, 9, 5, 9, 3, 1), solvertest.WithValues(9, 15, 5, 9, 8.9, 3, 2, 1)} {
		for limit := 1; limit < 40; limit += longtest.Pick(1, 1+limit/6) {
			for _, d := range []solver.Deflation{solver.Projected, solver.Plain} {
				set := solver.Settings{Rank: 5, MaxPasses: limit, Deflation: d, Method: s.method}
				res, u := s.solve(t, a, set)
				if res.Stats.Passes > limit {
					t.Errorf("%d passes with a limit of %d", res.Stats.Passes, limit)
				}
				checkResult(t, a, set, res, u)
				if res.Status != solver.PassLimit && res.Status != solver.Converged {
					t.Errorf("limit %d: status %v", limit, res.Status)
				}
			}
		}
	}
}

// places returns the numbers from 1 to n; in the short form the first, the last two and a sample of the others.
func places(n int) (all []int) {
	for _, i := range sample(rand.New(rand.NewPCG(1, 1)), n, longtest.Pick(n, 10)) {
		all = append(all, i+1)
	}
	return all
}

// events checks that the observer gets one event per pass, that the events are consistent, and that its error ends the run.
func (s suite) events(t *testing.T) {
	var seen []solver.Event
	set := solver.Settings{Rank: 4, Observer: func(e solver.Event) error {
		seen = append(seen, e)
		return nil
	}}
	res, _ := s.solve(t, solvertest.WithValues(20, 10, 7, 4, 2, 1), set)
	if len(seen) != res.Stats.Passes {
		t.Fatalf("%d events for %d passes", len(seen), res.Stats.Passes)
	}
	for i, e := range seen {
		if e.Pass != i+1 || e.Rank != 4 || e.Tol != solver.DefaultTol || e.Locked < 0 || e.Locked > 4 ||
			e.Triplet < 0 || e.Triplet > 3 || e.Stats.Passes != e.Pass || math.IsNaN(e.Residual) || math.IsNaN(e.Sigma) {
			t.Errorf("event %d: %+v", i, e)
		}
	}
	last := seen[len(seen)-1]
	if last.Phase != solver.PhaseFinish || last.Residual != slices.Max(res.Residuals) {
		t.Errorf("last event %+v, residuals %g", last, res.Residuals)
	}
	stop := errors.New("enough")
	for _, at := range places(len(seen)) {
		set.Method, set.Operator, set.Left = s.method, s.o.operator, solver.NewDenseRows(20, 4)
		set.Observer = func(e solver.Event) error {
			if e.Pass == at {
				return stop
			}
			return nil
		}
		d := newDense(solvertest.WithValues(20, 10, 7, 4, 2, 1))
		if res, err := solver.SVD(t.Context(), d, set); !errors.Is(err, stop) || res != nil || d.Passes != at {
			t.Fatalf("observer's error at pass %d of %d: got %v after %d passes", at, len(seen), err, d.Passes)
		}
	}
}

// cancel cancels the run in every pass.
func (s suite) cancel(t *testing.T) {
	a := solvertest.WithValues(20, 10, 8, 4, 2, 1)
	full, _ := s.solve(t, a, solver.Settings{Rank: 5})
	for _, at := range places(full.Stats.Passes) {
		ctx, cancel := context.WithCancel(t.Context())
		d := newDense(a)
		d.Hook = cancelAt(at, cancel)
		set := solver.Settings{Rank: 5, Method: s.method, Operator: s.o.operator, Left: solver.NewDenseRows(20, 5)}
		res, err := solver.SVD(ctx, d, set)
		cancel()
		if err != nil {
			t.Fatalf("cancelled in pass %d: %v", at, err)
		}
		if res.Status != solver.Cancelled || res.Certified || d.Passes != at {
			t.Fatalf("cancelled in pass %d: %v, certified %t, %d passes", at, res.Status, res.Certified, d.Passes)
		}
		checkPartial(t, a, res)
	}
}

// checkPartial checks the result of a cancelled run: right vectors are
// orthonormal, values are finite and not above σ₁, residuals are estimates.
func checkPartial(t *testing.T, a *mat.Dense, res *solver.Result) {
	t.Helper()
	checkVectors(t, "right", res.Right, res.OrthRight, true)
	top := solvertest.Singular(a)[0]
	if len(res.Sigma) != 5 || len(res.Residuals) != 5 {
		t.Fatalf("%d values, %d residuals, want 5", len(res.Sigma), len(res.Residuals))
	}
	for i, v := range res.Sigma {
		if !(v >= 0 && v <= top*(1+1e-12)) || i > 0 && v > res.Sigma[i-1] || !(res.Residuals[i] >= 0) {
			t.Errorf("partial values %g, residuals %g", res.Sigma, res.Residuals)
			return
		}
	}
	if !math.IsNaN(res.OrthLeft) {
		t.Errorf("left vectors of a cancelled run are said to be orthonormal to %g", res.OrthLeft)
	}
}

// TestCancelledAfterLock cancels runs that find their vectors in groups right after a group has been locked: the values found
// are in the result once, and nothing is said to be known about the others.
func TestCancelledAfterLock(t *testing.T) {
	a := solvertest.WithValues(60, 40, 8, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
	for _, m := range []method.Method{block.Descent{Columns: 4}, block.Descent{Columns: 6}, lanczos.Krylov{Columns: 2, Basis: 8}} {
		for group := 1; ; group++ {
			ctx, cancel := context.WithCancel(t.Context())
			locked, groups := 0, 0
			res, err := solver.SVD(ctx, newDense(a), solver.Settings{Rank: 8, Method: m, Observer: func(e solver.Event) error {
				if e.Phase == solver.PhaseIterate && e.Locked > locked {
					locked = e.Locked
					if groups++; groups == group {
						cancel()
					}
				}
				return nil
			}})
			cancel()
			must.Do(t, err)
			if groups < group || locked == 8 {
				break
			}
			for i, v := range res.Sigma[:locked] {
				if math.Abs(v-float64(20-i)) > 1e-6 || res.Residuals[i] > solver.DefaultTol {
					t.Errorf("%+v, %d found: values %g, residuals %.1g", m, locked, res.Sigma, res.Residuals)
					break
				}
			}
			if res.Converged != locked || slices.Min(res.Residuals[locked:]) < 1-1e-12 {
				t.Errorf("%+v, %d found: %d converged, values %g, residuals %.1g", m, locked, res.Converged, res.Sigma, res.Residuals)
			}
		}
	}
}

func (s suite) deadline(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	d := newDense(solvertest.Random(20, 10, 1))
	res, err := solver.SVD(ctx, d, solver.Settings{Rank: 5, Method: s.method, Operator: s.o.operator})
	if err != nil || res.Status != solver.TimeLimit || d.Passes != 0 {
		t.Fatalf("past the deadline: %v, %v, %d passes", res, err, d.Passes)
	}
	checkPartial(t, d.A, res)
}

// faults makes every pass fail in turn, then every access to the left vectors.
func (s suite) faults(t *testing.T) {
	a := solvertest.WithValues(20, 10, 9, 4, 2, 1)
	fault := errors.New("disk on fire")
	full, _ := s.solve(t, a, solver.Settings{Rank: 5})
	for _, at := range places(full.Stats.Passes) {
		d := newDense(a)
		d.Hook = failAt(at, fault)
		set := solver.Settings{Rank: 5, Method: s.method, Operator: s.o.operator, Left: solver.NewDenseRows(20, 5)}
		if res, err := solver.SVD(t.Context(), d, set); !errors.Is(err, fault) || res != nil || d.Passes != at {
			t.Fatalf("fault in pass %d: got %v after %d passes", at, err, d.Passes)
		}
	}
	for at := 1; ; at++ {
		store := &failingRows{DenseRows: solver.NewDenseRows(20, 5), left: at, err: fault}
		set := solver.Settings{Rank: 5, Method: s.method, Operator: s.o.operator, Left: store}
		_, err := solver.SVD(t.Context(), newDense(a), set)
		if store.left > 0 {
			if err != nil {
				t.Errorf("without a fault: %v", err)
			}
			break
		}
		if !errors.Is(err, fault) {
			t.Fatalf("fault in access %d to the left vectors: got %v", at, err)
		}
	}
}

// failingRows is a RowStore whose left-th access fails.
type failingRows struct {
	*solver.DenseRows
	left int
	err  error
}

func (f *failingRows) access() error {
	if f.left--; f.left == 0 {
		return f.err
	}
	return nil
}

func (f *failingRows) WriteRows(first int64, rows *mat.Dense) error {
	if err := f.access(); err != nil {
		return err
	}
	return f.DenseRows.WriteRows(first, rows)
}

func (f *failingRows) ReadRows(first int64, rows *mat.Dense) error {
	if err := f.access(); err != nil {
		return err
	}
	return f.DenseRows.ReadRows(first, rows)
}

// breakdown runs on NaN and Inf, which end in ErrBreakdown, and on extreme finite numbers, which converge.
func (s suite) breakdown(t *testing.T) {
	for _, c := range []struct {
		entry float64
		want  error
	}{
		{math.NaN(), solver.ErrBreakdown},
		{math.Inf(1), solver.ErrBreakdown},
		{math.MaxFloat64, nil},
		{1e300, nil},
		{1e160, nil}, // its square is infinite
		{1e80, nil},
		{1e-80, nil},
		{1e-160, nil}, // its square is 0
		{1e-310, nil},
		{1e-320, nil},
		{math.SmallestNonzeroFloat64, nil},
	} {
		t.Run(fmt.Sprint(c.entry), func(t *testing.T) {
			d := newDense(solvertest.Diagonal(6, 6, c.entry))
			res, err := solver.SVD(t.Context(), d, solver.Settings{Rank: 1, Method: s.method, Operator: s.o.operator, MaxPasses: 100})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if err == nil && (math.Abs(res.Sigma[0]-c.entry) > 0x1p-50*c.entry || res.Status != solver.Converged) {
				t.Errorf("σ = %g, %v", res.Sigma[0], res.Status)
			}
		})
	}
}

// TestChosenMethodsConverge checks that runs without a given method converge to the k leading values, for both operators.
func TestChosenMethodsConverge(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 17, 40} {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1 / float64(1+i)
		}
		a := solvertest.WithValues(n+3, n, 7, values...)
		for _, k := range []int{1, (n + 1) / 2, n} {
			for _, operator := range []solver.OperatorKind{solver.Gram, solver.Dilation} {
				res, err := solver.SVD(t.Context(), newDense(a), solver.Settings{Rank: k, Operator: operator})
				if err != nil || res.Status != solver.Converged {
					t.Fatalf("n %d, k %d, %v: %v, %v", n, k, operator, res, err)
				}
				for i, s := range res.Sigma {
					if math.Abs(s-values[i]) > 1e-12 {
						t.Errorf("n %d, k %d, %v: value %d is %v, want %v", n, k, operator, i, s, values[i])
					}
				}
			}
		}
	}
}
