package solver

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
)

// order60 is an operator of order 60 that is never applied.
type order60 struct{ Operator }

func (order60) Dim() int { return 60 }

// TestMixedBlock draws start blocks with given vectors mixed in. It compares how often the component of a vector
// orthogonal to the given ones falls below the bound that evidence relies on with the stated probability.
func TestMixedBlock(t *testing.T) {
	const n, k, trials, probability = 60, 6, 1000, 0.2
	s := Settings{Rank: k, Method: lanczos.Krylov{}}.normalised(order60{}, n)
	unit := mat.NewDense(n, k, nil)
	for j := range k {
		unit.Set(j, j, 1)
	}
	below, before := 0, []float64(nil)
	for seed := range uint64(trials) {
		s.Seed = seed
		r := newRun(t.Context(), heap, order60{}, "", s)
		for j := range k {
			r.starts.warm = append(r.starts.warm, mat.Col(nil, j, unit))
		}
		if seed == trials-1 {
			r.key, r.starts.warm[0][n-1] = trials-2, 1e-15 // the key of the seed before, and given vectors that differ in a bit
		}
		z, from := r.start()
		if _, l := z.Dims(); from.Given != 0 || l != 4 || len(r.starts.warm) != 0 || !(from.Part > 0) {
			t.Fatalf("a block of %d columns, %+v, %d vectors are left", l, from, len(r.starts.warm))
		}
		row := slices.Clone(z.RawRowView(n - 2))
		if seed == trials-1 && slices.Equal(row, before) {
			t.Error("the random part does not depend on the vectors given")
		}
		before = row
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(z)
		qr.QTo(&q)
		share := mat.Norm(mat.NewVecDense(4, q.RawRowView(n - 1)[:4]), 2)
		if share < from.Part*scout.LeastNormal(4, probability)/math.Sqrt(n) {
			below++
		}
	}
	// Five standard deviations.
	if most := probability*trials + 5*math.Sqrt(probability*trials); float64(below) > most || below == 0 {
		t.Errorf("%d of %d are below what %g of them may be", below, trials, probability)
	}
	t.Logf("%d of %d are below what %g of them may be", below, trials, probability)
}
