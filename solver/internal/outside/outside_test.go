package outside

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// watch returns a Watch on pairs with the given values in a space of dimension 50.
func watch(values ...float64) *Watch {
	f := found.New((*tallskinny.Arena)(nil), 50, len(values)+1, func(i int) (seed, stream uint64) { return 1, uint64(i) })
	f.Lambda1, f.Tol = 10, 1e-9
	for _, v := range values {
		f.AddRandom(v, 1e-10)
	}
	return &Watch{Found: f, Rank: len(values), Tol: 1e-8}
}

// evidence returns the Evidence of a space with one Ritz value theta, of a block of p columns, with last as its Last entry.
func evidence(p int, theta, last float64) method.Evidence {
	first := mat.NewDense(1, p, nil)
	first.Set(0, 0, 1)
	return method.Evidence{Steps: 7, Theta: []float64{theta}, First: first, Last: mat.NewDense(1, 1, []float64{last}), Top: 10}
}

func TestWitness(t *testing.T) {
	w := watch(10, 5, 4)
	if w.Witness(evidence(2, 3, 1e-12), Block{Given: 2}, nil) || w.Known {
		t.Error("given columns say something")
	}
	leak := evidence(2, 3, 1e-12)
	leak.Leak = 1
	if !w.Witness(leak, Block{}, nil) || w.Known {
		t.Error("of vectors that a recurrence mixes with those found it says something, or it is not worth waiting for")
	}
	leak = evidence(2, 1e-9, 1e-12)
	leak.Leak = 1e-12
	if w.Witness(leak, Block{}, nil) || w.Known {
		t.Error("what rounding mixes is waited for")
	}
	if !w.Witness(evidence(2, 3, 1e-12), Block{Before: 3, Scout: true}, nil) || !w.Evident(4) || w.Value < 3 || w.Evident(2.9) {
		t.Errorf("what a scout says is not what is known: %+v", w.Bound)
	}
	better := w.Bound
	w.Witness(evidence(2, 3.5, 1e-3), Block{Before: 3, Scout: true}, nil)
	if w.Bound != better {
		t.Errorf("a worse bound takes the place of a better one: %+v", w.Bound)
	}
	w.Reset()
	if w.Known || w.Evident(4) {
		t.Errorf("after Reset: %+v", w.Bound)
	}
}

// TestCopies checks that a block gives no evidence about more copies of the least value than it has columns.
func TestCopies(t *testing.T) {
	for copies, want := range []bool{0: false, 1: false, 2: true} {
		values := []float64{10, 8, 6}
		for i := range copies {
			values[2-i] = 6
		}
		w := watch(values...)
		w.Witness(evidence(2, 1, 1e-12), Block{}, nil)
		if (w.Value >= 6) != want {
			t.Errorf("of %v a block of two columns says that nothing is above %g", values, w.Value)
		}
	}
	for _, c := range []struct {
		values []float64
		want   bool
	}{{[]float64{10, 8, 6}, false}, {[]float64{10, 10, 6}, true}, {[]float64{10, 10 + 1e-10, 6}, true}, {[]float64{10, 6, 6}, false}} {
		if got := watch(c.values...).Doubtful(Block{}, 2, false); got != c.want {
			t.Errorf("doubtful of %v: %v", c.values, got)
		}
	}
}
