package solver_test

import (
	"context"
	"math"
	"reflect"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/longtest"
	"github.com/gdsvd/gdsvd/internal/must"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/block"
	"github.com/gdsvd/gdsvd/solver/method/gd"
	"github.com/gdsvd/gdsvd/solver/method/lanczos"
	"github.com/gdsvd/gdsvd/solver/method/momentum"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// TestFootprint checks that the bytes that recurrences hold after some passes, and those that the
// passes allocate besides, are at most the Footprint of the method and not far below it.
func TestFootprint(t *testing.T) {
	const n, k = 20000, 10
	methods := []method.Method{
		lanczos.Krylov{Columns: 4, Basis: 40}, momentum.Nesterov{}, block.Descent{},
		block.Descent{Columns: 40}, gd.Descent{}, power.Iteration{}, momentum.Polyak{}, momentum.NesterovGeneral{}, lanczos.Krylov{Columns: 10, Basis: 100},
	}
	for _, m := range methods[:longtest.Pick(9, 3)] {
		before := heap()
		z := mat.NewDense(n, m.Traits(k).Width(k), nil)
		solver.Gaussian(z, 0, 1, 1)
		r := solver.Started(m, method.Run{Rank: k}, z)
		y := mat.DenseCopyOf(z)
		for range 15 {
			x := r.Next()
			if c, _ := y.Dims(); c != n || !sameShape(x, y) {
				y = mat.DenseCopyOf(x)
			}
			for i := range n {
				floats.ScaleTo(y.RawRowView(i), 1/float64(i+1), x.RawRowView(i))
			}
			r.Absorb(y)
		}
		held := heap() - before
		runtime.KeepAlive([]any{r, y})
		said := m.Traits(k).Footprint(n)
		if held > said+64<<10 || held < said/2 {
			t.Errorf("%v %+v holds %d bytes, says %d", reflect.TypeOf(m), m, held, said)
		}
	}
}

// weighed is a diagonal matrix that records the largest number of bytes reachable during its
// products, without the product itself.
type weighed struct {
	n     int
	most  int64
	blind bool // record nothing: recording collects garbage four times a pass
}

func (w *weighed) Info() solver.Info {
	return solver.Info{Rows: int64(w.n), Cols: w.n, NNZ: int64(w.n) * int64(w.n), Norm: math.Pi / math.Sqrt(6)}
}

func (w *weighed) value(i int) float64 { return 1 / float64(i+1) }
func (w *weighed) weigh() {
	if !w.blind {
		w.most = max(w.most, heap())
	}
}

func (w *weighed) scale(dst, x *mat.Dense, power float64) {
	r, _ := x.Dims()
	for i := range r {
		floats.ScaleTo(dst.RawRowView(i), math.Pow(w.value(i), power), x.RawRowView(i))
	}
}

func (w *weighed) Run(_ context.Context, p solver.Pass) (solver.Cost, error) {
	w.weigh()
	if p.R != nil {
		var qr mat.QR
		var r mat.Dense
		k := p.Columns(w.Info())
		w.scale(p.Sum, p.X, 1)
		qr.Factorize(p.Sum)
		qr.RTo(&r)
		p.R.Copy(r.Slice(0, k, 0, k))
	}
	if p.RowsOut.Block != nil {
		w.scale(p.RowsOut.Block, p.X, 1)
	}
	switch {
	case p.RowsOut.Func != nil:
		y := mat.NewDense(w.n, p.Columns(w.Info()), nil)
		w.scale(y, p.X, 1)
		return solver.Cost{}, p.RowsOut.Func(0, y)
	case p.RowsIn.Block != nil:
		w.scale(p.Sum, p.RowsIn.Block, 1)
	case p.Sum != nil:
		w.scale(p.Sum, p.X, 2)
	}
	w.weigh()
	return solver.Cost{}, nil
}

// TestRunFootprint checks the bytes that whole runs hold during their passes against RunFootprint.
func TestRunFootprint(t *testing.T) {
	const n, k = 8000, 10
	methods := []method.Method{lanczos.Krylov{}, power.Iteration{}, block.Descent{}, lanczos.Krylov{Columns: 1}}
	for _, m := range methods[:longtest.Pick(4, 1)] {
		before, a := heap(), &weighed{n: n}
		must.Get(solver.SVD(t.Context(), a, solver.Settings{Rank: k, Method: m, MaxPasses: 60}))(t)
		said := solver.RunFootprint(m, n, k)
		if held := a.most - before; held > said || held < said/4 { // a basis grows with the passes
			t.Errorf("a run with %v %+v holds %d bytes, said to be %d", reflect.TypeOf(m), m, held, said)
		}
		for _, which := range []solver.Which{solver.LargestMagnitude, solver.SmallestAlgebraic} {
			before, a := heap(), &weighed{n: n}
			must.Get(solver.SVD(t.Context(), a, solver.Settings{Rank: k, Method: m, Operator: solver.Symmetric, Which: which, MaxPasses: 20}))(t)
			pairs := said + solver.PairsFootprint(m, n, k) + 8*n*k // the pass of this test has a block of its own
			if held := a.most - before; held > pairs {
				t.Errorf("a run for %v with %v %+v holds %d bytes, said to be %d", which, reflect.TypeOf(m), m, held, pairs)
			}
		}
	}
}

func sameShape(x, y *mat.Dense) bool {
	r, c := x.Dims()
	s, d := y.Dims()
	return r == s && c == d
}

// heap returns the number of reachable bytes on the heap.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
