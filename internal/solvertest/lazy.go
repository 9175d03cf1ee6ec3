package solvertest

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Lazy is the power method with a part of the old vector, x⁺ ∝ Mx + part·‖Mx‖x: a method made of what solver/method exports.
type Lazy struct{ Part float64 }

// Traits implements method.Method.
func (l Lazy) Traits(int) method.Traits {
	t := method.Single("lazy", 3, 250)
	t.Settings = []method.Setting{{Name: "part", Help: "part of the old vector", High: 1, Value: l.Part}}
	t.With = func(v []float64) method.Method { return Lazy{v[0]} }
	return t
}

// New implements method.Method.
func (l Lazy) New(method.Run) method.Recurrence { return &lazyRun{part: l.Part} }

type lazyRun struct {
	method.Alone
	part    float64
	x, last *mat.Dense
}

func (r *lazyRun) Start(z *mat.Dense) { r.x, r.last = z, mat.DenseCopyOf(z) }

func (r *lazyRun) State(s *method.State) {
	s.Tall("x", &r.x, 1)
	s.Tall("last", &r.last, 1)
}

func (r *lazyRun) Next() *mat.Dense { return r.x }

func (r *lazyRun) Absorb(y *mat.Dense) []method.RitzPair {
	x, mx, next := r.x.RawMatrix().Data, y.RawMatrix().Data, r.last.RawMatrix().Data
	value := floats.Dot(x, mx)
	floats.AddScaledTo(next, mx, -value, x)
	pair := method.NewRitzPair(value, floats.Norm(next, 2))
	floats.AddScaledTo(next, mx, r.part*floats.Norm(mx, 2), x)
	if norm := floats.Norm(next, 2); norm > 0 {
		floats.Scale(1/norm, next)
	}
	r.x, r.last = r.last, r.x
	return []method.RitzPair{pair}
}

func (r *lazyRun) Vector(dst []float64, _ int) { copy(dst, r.last.RawMatrix().Data) }
