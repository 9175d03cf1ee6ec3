package scout

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// TestEvidenceSurvivesRestarts has Lanczos spaces of few columns that restart again and again:
// after each step no eigenvalue is above the bound, except with about the probability that it
// claims, and the bound falls to the largest eigenvalue.
func TestEvidenceSurvivesRestarts(t *testing.T) {
	const n = 40
	runs := longtest.Pick[uint64](12, 6)
	for name, f := range map[string]func(i int) float64{
		"harmonic": func(i int) float64 { return 1 / float64(i+1) },
		"close":    func(i int) float64 { return 1 - 1e-3*float64(i) },
		"one":      func(i int) float64 { return math.Pow(0.01, float64(min(i, 1))) },
		"pairs":    func(i int) float64 { return 1 / float64(1+i/2) },
	} {
		op := make(diagonal, n)
		for i := range op {
			op[i] = f(i)
		}
		for _, m := range []lanczos.Krylov{{Columns: 1, Basis: 6}, {Columns: 2, Basis: 9}, {Columns: 4, Basis: 16}} {
			wrong, likely, claims, last := 0, 0, 0, math.Inf(1)
			for seed := range runs {
				z, y := mat.NewDense(n, m.Columns, nil), mat.NewDense(n, m.Columns, nil)
				arena.Gaussian(z, 0, seed, 4<<32)
				rec := m.New(method.Run{Rank: 2})
				rec.Start(z)
				early := false
				for step := range 24 {
					op.apply(y, rec.Next())
					rec.Absorb(y)
					y = mat.NewDense(n, m.Columns, nil)
					if step%3 > 0 {
						continue
					}
					e, ok := rec.Evidence(0)
					if !ok {
						break
					}
					claims++
					last = UpperBound(e, LeastShare(m.Columns, n, probability))
					if last < 1-1e-12 {
						wrong++
					}
					early = early || UpperBound(e, LeastShare(m.Columns, n, 0.5)) < 1-1e-12
				}
				if early {
					likely++
				}
			}
			if wrong > 0 || likely > int(runs)*7/10 {
				t.Errorf("%s, %+v: %d of %d bounds are wrong, those of %d of %d runs at a probability of a half", name, m, wrong, claims, likely, runs)
			}
			if name != "close" && last > 1.02 {
				t.Errorf("%s, %+v: the bound ends at %g", name, m, last)
			}
		}
	}
}
