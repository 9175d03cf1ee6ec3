package stream_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/james-bowman/sparse"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/csrtest"
	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
	"github.com/gdsvd/gdsvd/stream"
)

// integers returns a symmetric matrix of small integers, mostly zeros, with a heavy diagonal.
func integers(n, distinct int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, uint64(distinct)))
	a := mat.NewDense(n, n, nil)
	for i := range n {
		for range 3 {
			j, v := rng.IntN(n), float64(1+rng.IntN(distinct))
			a.Set(i, j, v)
			a.Set(j, i, v)
		}
	}
	for i := range n {
		a.Set(i, i, float64(distinct*(10+n-i)))
	}
	return a
}

// inMemory returns a times 2^p as a matrix in memory.
func inMemory(t *testing.T, a *mat.Dense, p int, o stream.Options) *stream.Matrix {
	t.Helper()
	rows, cols := a.Dims()
	dok := sparse.NewDOK(rows, cols)
	for i := range rows {
		for j := range cols {
			if v := a.At(i, j); v != 0 {
				dok.Set(i, j, math.Ldexp(v, p))
			}
		}
	}
	return must.Get(stream.FromSparse(dok.ToCSR(), o))(t)
}

// limited returns the matrix of a store with a budget in which no block stays decoded.
func limited(t *testing.T, s *csr.Store, o stream.Options) *stream.Matrix {
	t.Helper()
	o.Memory = 1
	budget := new(stream.BudgetError)
	if _, err := stream.New(s, o); !errors.As(err, &budget) {
		t.Fatal(err)
	}
	o.Memory = budget.Need
	m, err := stream.New(s, o)
	if err != nil || m.Plan().Resident > 0 {
		t.Fatal(err, m)
	}
	return m
}

// nameless is a matrix without an ID, so that the seed alone determines its start vectors.
type nameless struct{ *stream.Matrix }

func (m nameless) Info() solver.Info {
	i := m.Matrix.Info()
	i.ID = ""
	return i
}

// TestScale solves a matrix times powers of two, down to subnormal values and up to the largest, by
// every method and operator, from memory and from stores with and without a table of values, with
// blocks kept and decoded again: all values scale exactly, and vectors and residuals are the same
// from the same start vectors.
func TestScale(t *testing.T) {
	const k = 3
	o := stream.Options{Width: 16, Rank: k}
	for _, distinct := range longtest.Pick([]int{2, 100}, []int{2}) {
		a := integers(30, distinct)
		plain, err := stream.New(csrtest.FromDense(t, a, csr.CreateOptions{}), o)
		must.Do(t, err)
		unscaled := map[bool]*stream.Matrix{true: inMemory(t, a, 0, o), false: plain} // their norms are summed in different orders
		for _, p := range longtest.Pick([]int{-1074, -700, -102, 510, 1008}, []int{1008}) {
			var b mat.Dense
			b.Apply(func(_, _ int, v float64) float64 { return math.Ldexp(v, p) }, a)
			table, floats := csrtest.FromDense(t, &b, csr.CreateOptions{}), csrtest.FromDense(t, &b, csr.CreateOptions{Values: csr.Values{Coding: csr.Float64}})
			fromTable, err1 := stream.New(table, o)
			fromFloats, err2 := stream.New(floats, o)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			sources := map[string]*stream.Matrix{
				"memory": inMemory(t, a, p, o), "table": fromTable, "floats": fromFloats,
				"table, reread": limited(t, table, o), "floats, reread": limited(t, floats, o),
			}
			for _, method := range []method.Method{
				gd.Descent{}, power.Iteration{}, momentum.Polyak{}, momentum.Nesterov{}, momentum.NesterovGeneral{}, block.Descent{Columns: 8}, lanczos.Krylov{Columns: 2},
			} {
				for _, form := range []solver.OperatorKind{solver.Gram, solver.Dilation, solver.Symmetric} {
					if form == solver.Dilation && !method.Traits(1).Indefinite {
						continue
					}
					set := solver.Settings{Rank: k, Method: method, Operator: form, Tol: 1e-6, MaxPasses: 10_000}
					wants := map[bool]*solver.Result{}
					for inMemory, m := range unscaled {
						wants[inMemory] = must.Get(solver.SVD(t.Context(), nameless{m}, set))(t)
					}
					for name, m := range sources {
						want := wants[name == "memory"]
						left := solver.NewDenseRows(30, k)
						set.Left = left
						got, err := solver.SVD(t.Context(), nameless{m}, set)
						if err != nil {
							t.Fatalf("2^%d, %s, %s, %v: %v", p, name, method.Traits(1).Name, form, err)
						}
						for i, s := range got.Sigma {
							if s != math.Ldexp(want.Sigma[i], p) {
								t.Errorf("2^%d, %s, %s, %v: σ[%d] = %g, want %g", p, name, method.Traits(1).Name, form, i, s, math.Ldexp(want.Sigma[i], p))
							}
						}
						if got.Status != solver.Converged || got.Energy != want.Energy || !mat.Equal(got.Right, want.Right) || !slices.Equal(got.Residuals, want.Residuals) {
							t.Errorf("2^%d, %s, %s, %v: %v, energy %v, residuals %g, want %v and %g", p, name, method.Traits(1).Name, form, got.Status, got.Energy, got.Residuals, want.Energy, want.Residuals)
						}
						if u := mat.Norm(left.Dense, 2); !(math.Abs(u-math.Sqrt(k)) < 1e-10) {
							t.Errorf("2^%d, %s, %s, %v: ‖U‖ = %v", p, name, method.Traits(1).Name, form, u)
						}
					}
				}
			}
		}
	}
}

// TestExponent checks that matrices with moderate norms have exponent 0 and that others are scaled to a norm near 1.
func TestExponent(t *testing.T) {
	for _, c := range []struct {
		value    float64
		exponent int
		norm     float64
	}{
		{0, 0, 0}, {1, 0, 1}, {0x1p-101, 0, 0x1p-101}, {0x1.8p99, 0, 0x1.8p99},
		{0x1p-102, -102, 1}, {-0x1p-103, -102, 0.5}, {0x1p100, 100, 1}, {0x1p101, 102, 0.5},
		{0x1p-1074, -1074, 1}, {math.MaxFloat64, 1024, math.Nextafter(1, 0)},
	} {
		m := must.Get(stream.FromSparse(sparse.NewCSR(1, 1, []int{0, 1}, []int{0}, []float64{c.value}), stream.Options{}))(t)
		if m.Info().Exponent != c.exponent || m.Info().Norm != c.norm {
			t.Errorf("%g: exponent %d, norm %g, want %d, %g", c.value, m.Info().Exponent, m.Info().Norm, c.exponent, c.norm)
		}
	}
	for _, v := range []float64{math.Inf(1), math.NaN(), math.MaxFloat64} {
		if _, err := stream.FromSparse(sparse.NewCSR(1, 2, []int{0, 2}, []int{0, 1}, []float64{v, v}), stream.Options{}); err == nil {
			t.Errorf("values %g: no error", v)
		}
	}
}
