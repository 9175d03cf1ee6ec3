package solver_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/solvertest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
)

// hidden returns an N×n matrix in whose leading singular vectors start vectors have a small
// part or none: random values, some of them repeated or close together, and in every second
// one vectors that are confined to a few columns.
func hidden(r *rand.Rand, rows, n int) *mat.Dense {
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Pow(0.5+0.5*r.Float64(), float64(r.IntN(12)))
		if i > 0 && r.IntN(3) == 0 {
			values[i] = values[i-1] * []float64{1, 1 - 1e-9, 1 - 1e-4}[r.IntN(3)]
		}
	}
	slices.SortFunc(values, func(a, b float64) int { return int(math.Copysign(1, b-a)) })
	if r.IntN(4) == 0 {
		clear(values[n/2:])
	}
	a := solvertest.WithValues(rows, n, r.Uint64(), values...)
	if r.IntN(2) == 0 {
		return a
	}
	b := mat.NewDense(2*rows, n+8, nil)
	b.Slice(0, rows, 0, n).(*mat.Dense).Copy(a)
	for i := range 8 { // orthogonal to all the rest
		b.Set(rows+i, n+i, 2*r.Float64()*values[0])
	}
	return b
}

// missed says what is wrong with what a result says about values that it has not found, if
// all are as given, descending: "" if nothing is.
func missed(res *solver.Result, all []float64, tol float64) string {
	rest, allowed := slices.Clone(all), (tol+1e-9)*all[0]
	for _, s := range res.Sigma {
		at := 0
		for i, v := range rest {
			if math.Abs(v-s) < math.Abs(rest[at]-s) {
				at = i
			}
		}
		rest = slices.Delete(rest, at, at+1)
	}
	o := res.Outside
	if len(rest) > 0 && rest[0] > o.Bound+allowed {
		return "there is a value above the bound"
	}
	if o.Leading && len(rest) > 0 && rest[0] > res.Sigma[len(res.Sigma)-1]+3*allowed {
		return "a leading value is missing"
	}
	return ""
}

// TestNothingIsMissing compares what results say about values that they lack with all singular
// values of small matrices. GDSVD_TRIALS is the number of these.
func TestNothingIsMissing(t *testing.T) {
	trials, shown := 40, 0
	if n, err := strconv.Atoi(os.Getenv("GDSVD_TRIALS")); err == nil {
		trials = n
	}
	for i := range trials {
		r := rand.New(rand.NewPCG(uint64(i), 23))
		n := 24 + r.IntN(50)
		a := hidden(r, n+r.IntN(20), n)
		var svd mat.SVD
		if !svd.Factorize(a, mat.SVDNone) {
			t.Fatal("no oracle")
		}
		k := 1 + r.IntN(8)
		b := 1 + r.IntN(4)
		s := solver.Settings{Rank: k, Seed: uint64(i), Tol: []float64{1e-3, 1e-6, 1e-8, 1e-11}[r.IntN(4)], MaxPasses: 3000}
		s.Method = []method.Method{
			lanczos.Krylov{}, lanczos.Krylov{Columns: b, Basis: k + 2*b + r.IntN(8)}, lanczos.Krylov{Columns: b, Basis: k + 3*b + r.IntN(20)},
			block.Descent{}, momentum.Polyak{},
		}[min(r.IntN(12), 11)%5]
		_, width := a.Dims()
		if r.IntN(4) == 0 { // from vectors that have no part in the leading one
			var full mat.SVD
			full.Factorize(a, mat.SVDThin)
			var v mat.Dense
			full.VTo(&v)
			s.Init = mat.DenseCopyOf(v.Slice(0, width, 1, 1+min(k, width-1)))
		}
		if _, polyak := s.Method.(momentum.Polyak); polyak {
			s.Tol, s.MaxPasses = 1e-3, 300
		}
		res, err := solver.SVD(t.Context(), solvertest.NewDense(a), s)
		if err != nil {
			t.Fatalf("trial %d: %v", i, err)
		}
		if wrong := missed(res, svd.Values(nil), s.Tol); wrong != "" {
			t.Errorf("trial %d, %d triplets of %d columns by %+v, tolerance %g, given %t: %s: %+v, found %v, of %v", i, k, width, s.Method, s.Tol, s.Init != nil, wrong, res.Outside, res.Sigma, svd.Values(nil)[:k+4])
		}
		if res.Outside.Leading {
			shown++
		}
	}
	t.Logf("%d of %d results are shown to lack nothing", shown, trials)
	if shown < trials/4 {
		t.Errorf("%d of %d results are shown to lack nothing", shown, trials)
	}
}
