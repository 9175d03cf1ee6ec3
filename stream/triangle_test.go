package stream

import (
	"math"
	"testing"

	"github.com/gdsvd/gdsvd/internal/must"
	"gonum.org/v1/gonum/mat"
)

// TestCholesky checks that the Cholesky factor of WᵀW has all digits of small singular values if
// the columns of W are nearly orthogonal, and is refused otherwise.
func TestCholesky(t *testing.T) {
	const rows, k = 5000, 6
	w, g, r := randomDense(3, rows, k), new(mat.Dense), mat.NewDense(k, k, nil)
	for j := range k {
		for i := range rows {
			w.Set(i, j, w.At(i, j)*math.Pow(10, -2.4*float64(j)))
		}
	}
	g.Mul(w.T(), w)
	if !cholesky(r, g.RawMatrix().Data) {
		t.Fatal("columns that are nearly orthogonal are refused")
	}
	got, want := singularValues(t, r), singularValues(t, w)
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-13*want[i] {
			t.Errorf("σ_%d = %v, want %v", i, got[i], want[i])
		}
	}
	// A column close to the span of others: 1/‖S⁻¹‖ exceeds the bound.
	for _, tc := range []struct {
		sine float64
		good bool
	}{{1, true}, {0.8, true}, {0.3, false}, {1e-3, false}, {1e-9, false}, {0, false}} {
		h := mat.DenseCopyOf(w)
		for i := range rows {
			h.Set(i, 5, tc.sine*w.At(i, 5)/1e-12+math.Sqrt(1-tc.sine*tc.sine)*w.At(i, 0))
		}
		g.Mul(h.T(), h)
		if got := cholesky(r, g.RawMatrix().Data); got != tc.good {
			t.Errorf("sine %g: %v", tc.sine, got)
		}
	}
	if cholesky(r, make([]float64, k*k)) {
		t.Error("zero is good enough")
	}
	tiny := mat.NewDense(k, k, nil)
	for i := range k {
		tiny.Set(i, i, math.Pow(1e-160, 2)) // a subnormal number, of few bits
	}
	if cholesky(r, tiny.RawMatrix().Data) {
		t.Error("squares that have lost their bits are good enough")
	}
}

// TestAnyR checks that R has the singular values of A·X to 1e-14·‖A·X‖, also for dependent and zero columns.
func TestAnyR(t *testing.T) {
	const rows, n, k = 4000, 60, 5
	src := newDisk(randomCSR(6, rows, n, 0.2))
	m := mustNew(t, src, Options{Workers: 2, Width: k})
	for name, change := range map[string]func(x *mat.Dense){
		"random":    func(*mat.Dense) {},
		"dependent": func(x *mat.Dense) { x.Slice(0, n, 3, 4).(*mat.Dense).Copy(x.Slice(0, n, 1, 2)) },
		"zero":      func(x *mat.Dense) { x.Slice(0, n, 2, 3).(*mat.Dense).Zero() },
	} {
		x, w := randomDense(7, n, k), mat.NewDense(rows, k, nil)
		change(x)
		_, r, err := m.project(t.Context(), x, into(t, w))
		must.Do(t, err)
		got, want := singularValues(t, r), singularValues(t, w)
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-14*want[0] {
				t.Errorf("%s: σ_%d = %v, want %v", name, i, got[i], want[i])
			}
		}
	}
}
