package scout

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

var arena *tallskinny.Arena

// probability is the probability with which a bound may be wrong.
const probability = 1e-6

// TestLeastShare compares LeastShare, a bound on a random component, with the distribution of such
// components.
func TestLeastShare(t *testing.T) {
	for _, p := range []int{1, 2, 3, 8, 20} {
		for _, d := range []int{p, p + 1, p + 2, p + 5, 50 + p, 3706, 10_000_000} {
			for _, probability := range []float64{1e-2, 1e-6, 1e-9} {
				delta := LeastShare(p, d, probability)
				if p == d {
					if delta != 1 {
						t.Errorf("%d of %d columns: δ = %g, want 1", p, d, delta)
					}
					continue
				}
				got := mathext.RegIncBeta(float64(p)/2, float64(d-p)/2, delta*delta)
				// The bound is close where δ is small.
				if got > probability*(1+1e-6) || d > 40*p && probability < 1e-5 && got < 0.2*probability {
					t.Errorf("%d of %d columns: components below %g have probability %g, want about %g", p, d, delta, got, probability)
				}
			}
		}
	}
}

// TestLeastNormal compares LeastNormal, a bound on the length of a normal vector, with the chi-squared distribution.
func TestLeastNormal(t *testing.T) {
	for _, p := range []int{1, 2, 3, 8, 20} {
		for _, probability := range []float64{1e-2, 1e-6, 1e-9} {
			least := LeastNormal(p, probability)
			got := mathext.GammaIncReg(float64(p)/2, least*least/2)
			if got > probability*(1+1e-6) || p < 4 && got < 0.2*probability || !(got > 0) {
				t.Errorf("%d numbers: lengths below %g have probability %g, want about %g", p, least, got, probability)
			}
		}
	}
}

// diagonal is the operator of a diagonal matrix.
type diagonal []float64

func (d diagonal) apply(dst, x *mat.Dense) {
	for i, v := range d {
		for j, y := range x.RawRowView(i) {
			dst.Set(i, j, v*y)
		}
	}
}

// saved returns the parts of a scout.
func saved(s *Scout) []method.Part {
	var st method.State
	s.State(&st)
	return st.Parts
}

// scouted returns a scout that has multiplied p random vectors in the given number of steps.
func scouted(op diagonal, p, steps int, seed uint64) *Scout {
	z := mat.NewDense(len(op), p, nil)
	arena.Gaussian(z, 0, seed, 4<<32)
	s := New(nil)
	s.Start(z)
	y := mat.NewDense(len(op), p, nil)
	for range steps {
		op.apply(y, s.Next())
		s.Absorb(y)
	}
	return s
}

// TestScoutBound checks that the bound is wrong at most with about the probability that
// it claims, from the first step on, and that it falls to the largest value.
func TestScoutBound(t *testing.T) {
	spectra := map[string]func(i int) float64{
		"harmonic": func(i int) float64 { return 1 / float64(i+1) },
		"close":    func(i int) float64 { return 1 - 1e-3*float64(i) },
		"one":      func(i int) float64 { return math.Pow(0.01, float64(min(i, 1))) },
		"equal":    func(int) float64 { return 1 },
		"steps":    func(i int) float64 { return 1 / float64(1+i/7) },
	}
	const n = 300
	runs := longtest.Pick(100, 10)
	for name, f := range spectra {
		op := make(diagonal, n)
		for i := range op {
			op[i] = f(i)
		}
		for _, p := range []int{1, 2, 4} {
			for _, steps := range []int{1, 2, 5, 12, 40} {
				wrong, likely := 0, 0
				for seed := range uint64(runs) {
					e, _ := scouted(op, p, steps, seed).Evidence(0)
					if e.Theta[0] > 1+1e-12 {
						t.Fatalf("%s: Ritz value %g", name, e.Theta[0])
					}
					if UpperBound(e, LeastShare(p, n, probability)) < 1-1e-12 {
						wrong++
					}
					if UpperBound(e, LeastShare(p, n, 0.5)) < 1-1e-12 {
						likely++
					}
				}
				if wrong > 0 || likely > runs*7/10 {
					t.Errorf("%s, %d columns, %d steps: %d of %d bounds are wrong, %d at a probability of a half", name, p, steps, wrong, runs, likely)
				}
			}
			e, _ := scouted(op, p, 40, 1).Evidence(0)
			if b := UpperBound(e, LeastShare(p, n, probability)); name != "close" && b > 1.05 || b > 1.4 {
				t.Errorf("%s, %d columns: the bound is %g after 40 steps", name, p, b)
			}
		}
	}
}

// TestScoutResumes saves and restores a scout after every step and compares its bits with an uninterrupted one.
func TestScoutResumes(t *testing.T) {
	op := make(diagonal, 60)
	for i := range op {
		op[i] = 1 / float64(1+i*i)
	}
	want := scouted(op, 2, 9, 1)
	s, y := scouted(op, 2, 0, 1), mat.NewDense(60, 2, nil)
	for range 9 {
		parts := saved(s)
		for i, p := range parts {
			parts[i].Block = mat.DenseCopyOf(p.Block)
		}
		s = New(nil)
		must.Do(t, method.Restore(nil, len(op), parts, s.State))
		op.apply(y, s.Next())
		s.Absorb(y)
	}
	if !mat.Equal(s.t, want.t) || !mat.Equal(s.X, want.X) || s.steps != 9 {
		t.Error("a scout that was saved goes on differently")
	}
	for i, p := range saved(s) {
		bad := saved(s)
		bad[i].Block = mat.DenseCopyOf(p.Block)
		bad[i].Block.Set(0, 0, math.NaN())
		if err := method.Restore(nil, len(op), bad, New(nil).State); err == nil {
			t.Errorf("a NaN in the %s is accepted", p.Name)
		}
	}
}
