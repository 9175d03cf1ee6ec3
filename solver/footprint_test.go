package solver_test

import (
	"reflect"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver"
)

// TestFootprint weighs recurrences: what is reachable after some passes, and
// what those have allocated besides, may not exceed what the method says, nor
// be far below it.
func TestFootprint(t *testing.T) {
	const n, k = 20000, 10
	for _, m := range []solver.Method{
		solver.GradientDescent{}, solver.Power{}, solver.Polyak{}, solver.Nesterov{}, solver.NesterovGeneral{},
		solver.Block{}, solver.Block{Columns: 40}, solver.Krylov{Columns: 4, Basis: 40}, solver.Krylov{Columns: 10, Basis: 100},
	} {
		before := heap()
		z := mat.NewDense(n, m.Width(k), nil)
		solver.Gaussian(z, 0, 1, 1)
		r := m.Start(z, solver.StopResidual)
		y := mat.DenseCopyOf(z)
		for range 15 {
			x := r.Next()
			if c, _ := y.Dims(); c != n || !sameShape(x, y) {
				y = mat.DenseCopyOf(x)
			}
			for i := range n {
				for j, v := range x.RawRowView(i) {
					y.Set(i, j, v/float64(i+1))
				}
			}
			r.Absorb(y)
		}
		held := heap() - before
		runtime.KeepAlive([]any{r, y})
		said := m.(solver.Footprinter).Footprint(n, k)
		if held > said+64<<10 || held < said/2 {
			t.Errorf("%v %+v holds %d bytes, says %d", reflect.TypeOf(m), m, held, said)
		}
	}
}

func sameShape(x, y *mat.Dense) bool {
	r, c := x.Dims()
	s, d := y.Dims()
	return r == s && c == d
}

// heap returns the bytes that are reachable.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
