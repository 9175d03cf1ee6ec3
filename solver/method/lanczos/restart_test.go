package lanczos

import (
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/method"
)

// TestReportsNothingLocked locks pairs while the recurrence waits before it computes Ritz pairs again: the pairs that it
// reports next are those of the basis that is left, and have vectors in it.
func TestReportsNothingLocked(t *testing.T) {
	const n, locked = 120, 6
	value := func(i int) float64 { return 1 / float64(i+1) }
	for _, resumed := range []bool{false, true} {
		r, y, missing := started(Krylov{Columns: 1, Basis: 60}, 60, n), mat.NewDense(n, 1, nil), 3.0
		wait := func([]method.RitzPair) float64 {
			missing -= 0.01 // at this pace the tolerance is many passes away
			return missing
		}
		product := func() {
			x := r.Next()
			for i := range n {
				y.Set(i, 0, value(i)*x.At(i, 0))
			}
		}
		r.Aim(wait)
		var pairs []method.RitzPair
		for r.size < cheapEigen+locked+4 || r.timing.passes == 0 {
			product()
			pairs = r.Absorb(y)
		}
		if !r.Lock(locked) || r.size <= cheapEigen {
			t.Fatal("the basis is too small for the recurrence to wait")
		}
		if resumed {
			var s method.State
			r.State(&s)
			next := Krylov{Columns: 1, Basis: 60}.New(method.Run{Rank: 60}).(*lanczos)
			must.Do(t, method.Restore(nil, n, s.Parts, next.State))
			r = next
		}
		r.Aim(wait)
		least := pairs[locked-1].Value
		product()
		pairs = r.Absorb(y)
		if pairs[0].Value >= least || len(pairs) > r.size {
			t.Errorf("resumed: %t: %d pairs of a basis of %d columns, the first of value %g, after pairs down to %g have been locked", resumed, len(pairs), r.size, pairs[0].Value, least)
			continue
		}
		r.Vectors()(blas64.General{Rows: n, Cols: len(pairs), Stride: len(pairs), Data: make([]float64, n*len(pairs))})
	}
}
