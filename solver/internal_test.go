package solver

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/gd"
)

func TestBasis(t *testing.T) {
	b := heap.NewBasis(4, 4)
	for i := range 4 {
		b.Random(b.Next(), 1, uint64(i))
		b.Push()
	}
	m := mat.NewDense(4, 4, b.Data)
	if o := tallskinny.Orthogonality(heap.GramOf(m)); o > 4*tallskinny.Epsilon {
		t.Errorf("full basis is orthonormal to %g", o)
	}
	b.Len = 3
	x := append([]float64(nil), b.Vector(1)...)
	if b.Orthonormalise(x) {
		t.Error("a vector of the basis is taken for independent of it")
	}
	// Nearly dependent: the remainder must still be orthogonal.
	for i, v := range b.Vector(3) {
		x[i] = b.Vector(1)[i] + 1e-9*v
	}
	if !b.Orthonormalise(x) {
		t.Fatal("an independent vector is taken for dependent")
	}
	for i := range 3 {
		if d := heap.Dot(x, b.Vector(i)); math.Abs(d) > 4*tallskinny.Epsilon {
			t.Errorf("product with vector %d is %g", i, d)
		}
	}
}

func TestStatus(t *testing.T) {
	for s := NotTerminated; s <= Breakdown; s++ {
		if s.String() == "" || (s.Err() == nil) != (s == Converged) || s.Early() != (s > Converged) {
			t.Errorf("%d: %q, early %t, %v", s, s, s.Early(), s.Err())
		}
	}
	if s := Breakdown + 1; s.String() != "status(7)" || s.Early() || s.Err() == nil {
		t.Errorf("unknown status: %q, %t, %v", s, s.Early(), s.Err())
	}
}

func TestSettingsPanic(t *testing.T) {
	good := Settings{Rank: 2}
	for name, change := range map[string]func(*Settings){
		"rank 0":             func(s *Settings) { s.Rank = 0 },
		"rank above":         func(s *Settings) { s.Rank = 4 },
		"negative tolerance": func(s *Settings) { s.Tol = -1 },
		"NaN tolerance":      func(s *Settings) { s.Tol = math.NaN() },
		"negative limit":     func(s *Settings) { s.MaxPasses = -1 },
		"deflation":          func(s *Settings) { s.Deflation = 2 },
		"stop rule":          func(s *Settings) { s.Stop = 2 },
		"init rows":          func(s *Settings) { s.Init = mat.NewDense(6, 1, nil) },
		"init empty":         func(s *Settings) { s.Init = new(mat.Dense) },
		"init NaN":           func(s *Settings) { s.Init = mat.NewDense(5, 1, []float64{0, 0, math.NaN(), 0, 0}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if msg, ok := recover().(string); !ok || !strings.HasPrefix(msg, "solver: ") {
					t.Errorf("panicked with %v", msg)
				}
			}()
			s := good
			change(&s)
			s.normalised(nothing5{}, 3)
		})
	}
	for _, eta := range []float64{-0.1, 1, 2, math.NaN()} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("step size %g is accepted", eta)
				}
			}()
			Settings{Rank: 2, Method: gd.Descent{Eta: eta}}.normalised(nothing5{}, 3)
		}()
	}
}

// nothing5 is an operator of order 5 that is never applied.
type nothing5 struct{ Operator }

func (nothing5) Dim() int { return 5 }

// scaled is a Matrix with an exponent only.
type scaled struct {
	Matrix
	e scale
}

func (s scaled) Info() Info { return Info{Exponent: int(s.e)} }

// TestPaperRuleOfScaled checks that the paper's tolerance for values applies to the unscaled matrix
// (σ² or σ), and that its tolerance for vectors does not depend on the scale.
func TestPaperRuleOfScaled(t *testing.T) {
	for _, c := range []struct {
		e      scale
		linear bool
		delta  float64 // change of a value of 2^−e·A
		met    bool
	}{
		{0, false, 1e-8, true},
		{0, false, 1.1e-8, false},
		{2, false, 1e-8 / 16, true},
		{2, false, 1.1e-8 / 16, false},
		{2, true, 1e-8 / 4, true},
		{2, true, 1.1e-8 / 4, false},
		{-1060, false, 1e300, true},
		{1000, false, 0, true},
		{1000, false, math.SmallestNonzeroFloat64, false},
	} {
		r := &run{op: gram{scaled{e: c.e}}, about: gd.Descent{}.Traits(1), s: Settings{Stop: StopPaper}, found: &found.Pairs{Tol: 1e-8, Linear: c.linear}}
		j := r.newJudge(false)
		if got := j.Verdict(0, method.RitzPair{Value: 1, DeltaVector: 1e-9, DeltaValue: c.delta}, 1, 0) == judge.Found; got != c.met {
			t.Errorf("2^%d, linear %t, a change of %g: %t", c.e, c.linear, c.delta, got)
		}
		if j.Verdict(0, method.RitzPair{Value: 1, DeltaVector: 1.1e-8}, 1, 0) == judge.Found {
			t.Errorf("2^%d: a change of the vector by more than the tolerance is met", c.e)
		}
	}
}

// TestResultString checks the table of a result, also of one without triplets.
func TestResultString(t *testing.T) {
	r := &Result{Sigma: []float64{3, 0.5}, Residuals: []float64{1e-9, 2e-3}, Converged: 1, Status: PassLimit, Stats: Stats{Passes: 7}}
	const table = "   i  sigma             residual\n   1  3                 1.0e-09\n   2  0.5               2.0e-03\npass-limit: 1 of 2 within the tolerance, 7 passes"
	if got := r.String(); got != table {
		t.Errorf("got\n%s\nwant\n%s", got, table)
	}
	r.Lambda = []float64{-3, 0.5}
	if got := r.String(); !strings.Contains(got, "lambda") || !strings.Contains(got, "   1  -3 ") {
		t.Errorf("eigenpairs print as\n%s", got)
	}
	if got := (&Result{Status: Cancelled}).String(); !strings.HasSuffix(got, "cancelled: 0 of 0 within the tolerance, 0 passes") {
		t.Errorf("an empty result prints as\n%s", got)
	}
}
