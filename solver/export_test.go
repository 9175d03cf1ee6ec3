package solver

import (
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/method"
	"github.com/gdsvd/gdsvd/solver/method/power"
)

// Started returns a recurrence of m for the run r at the start block z.
func Started(m method.Method, r method.Run, z *mat.Dense) method.Recurrence {
	rec := m.New(r)
	rec.Start(z)
	return rec
}

// Saved returns the parts of a recurrence.
func Saved(r method.Recurrence) []method.Part {
	var s method.State
	r.State(&s)
	return s.Parts
}

// Hasty is the power method with residuals reported far too small, so that the search continues
// after finishing passes.
type Hasty struct{ power.Iteration }

// New implements Method.
func (h Hasty) New(r method.Run) method.Recurrence { return hastyRun{h.Iteration.New(r)} }

type hastyRun struct{ method.Recurrence }

func (h hastyRun) Absorb(y *mat.Dense) []method.RitzPair {
	c := h.Recurrence.Absorb(y)
	c[0].Residual /= 300
	return c
}
