package found

import (
	"math"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"

	"gonum.org/v1/gonum/mat"
)

// heap is an arena whose blocks lie in ordinary memory.
var heap *tallskinny.Arena

func fresh(n, most int) *Pairs {
	return New(heap, n, most, func(i int) (seed, stream uint64) { return 1, uint64(i) })
}

// orthogonality returns max|VᵀV − I| of the vectors of p.
func orthogonality(p *Pairs) float64 {
	v := mat.NewDense(p.Basis.N, p.Len(), nil)
	for i := range p.Len() {
		v.SetCol(i, p.Basis.Vector(i))
	}
	return tallskinny.Orthogonality(heap.GramOf(v))
}

// TestResetForgetsPairsAlone checks that Reset makes a set as New does, except for Lambda1 and Tol.
func TestResetForgetsPairsAlone(t *testing.T) {
	p := fresh(6, 4)
	p.Lambda1, p.Tol, p.Noise, p.Stalled = 5, 1e-3, 0.1, true
	p.AddRandom(3, 1e-9)
	p.AddNull()
	p.Reset()
	if p.Len() != 0 || len(p.Values) != 0 || len(p.Seen) != 0 || p.Nulls != 0 || p.Noise != 0 || p.Stalled {
		t.Errorf("after Reset: %+v", p)
	}
	if p.Lambda1 != 5 || p.Tol != 1e-3 {
		t.Errorf("Reset has forgotten the size of the operator: %+v", p)
	}
}

// TestRemove removes each pair in turn: the others keep their order.
func TestRemove(t *testing.T) {
	for gone := range 4 {
		p := fresh(6, 4)
		p.AddRandom(3, 0.3)
		p.AddRandom(2, 0.2)
		p.AddNull()
		p.AddNull()
		var values []float64
		for i, v := range p.Values {
			if i != gone {
				values = append(values, v)
			}
		}
		kept := append([]float64(nil), p.Basis.Vector((gone+1)%4)...)
		p.Remove(gone)
		want := 2
		if gone >= 2 {
			want = 1
		}
		if p.Nulls != want || p.Len() != 3 || orthogonality(p) > 1e-14 {
			t.Errorf("without pair %d: %d nulls, %d pairs", gone, p.Nulls, p.Len())
		}
		for i, v := range values {
			if p.Values[i] != v {
				t.Errorf("without pair %d the values are %v, want %v", gone, p.Values, values)
			}
		}
		at := (gone + 1) % 4
		if at > gone {
			at--
		}
		if heap.Distance(kept, 1, p.Basis.Vector(at), 1) != 0 {
			t.Errorf("without pair %d another vector has changed", gone)
		}
	}
}

// TestHalve checks the pairs that Halve makes from those of a dilation.
func TestHalve(t *testing.T) {
	p := fresh(5+3, 3)
	p.Basis.Cut, p.Linear, p.Lambda1, p.Noise = 5, true, 3, 0.5
	for _, v := range []float64{3, -2} {
		p.AddRandom(v, 0.1)
	}
	second := append([]float64(nil), p.Basis.Vector(1)[5:]...)
	p.Halve(5)
	if p.Linear || p.Lambda1 != 9 || p.Noise != 0 || p.Values[0] != 9 || p.Values[1] != -4 || p.Basis.N != 3 || p.Basis.Cut != 0 {
		t.Errorf("halved: %+v", p)
	}
	if d := heap.Distance(p.Basis.Vector(1), 1, second, math.Sqrt2); d > 1e-14 || orthogonality(p) > 1e-14 {
		t.Errorf("the second half is %g from what it was, the halves orthonormal to %g", d, orthogonality(p))
	}
}

// TestState restores a set, and checks that inconsistent states are refused.
func TestState(t *testing.T) {
	p := fresh(6, 4)
	p.Lambda1, p.Tol = 5, 1e-3
	p.AddRandom(3, 1e-9)
	p.AddNull()
	both := func(p *Pairs) func(*method.State) {
		return func(s *method.State) {
			p.State(s)
			p.Vectors(s)
		}
	}
	var s method.State
	both(p)(&s)
	for name, change := range map[string]func(*Pairs){
		"":               func(*Pairs) {},
		"a value":        func(q *Pairs) { q.Values = q.Values[:1] },
		"a length":       func(q *Pairs) { q.Basis.Vector(1)[0] += 0.5 },
		"nulls of three": func(q *Pairs) { q.Nulls = 3 },
	} {
		q := fresh(6, 4)
		q.Basis.Len = 2
		must.Do(t, method.Restore(heap, 6, s.Parts, both(q)))
		if q.Nulls != 1 || q.Lambda1 != 5 || q.Values[0] != 3 || heap.Distance(q.Basis.Vector(0), 1, p.Basis.Vector(0), 1) != 0 {
			t.Errorf("restored as %+v", q)
		}
		change(q)
		var other method.State
		both(q)(&other)
		again := fresh(6, 4)
		again.Basis.Len = 2
		if err := method.Restore(heap, 6, other.Parts, both(again)); (err == nil) != (name == "") {
			t.Errorf("%q wrong: %v", name, err)
		}
	}
}
