package solver

import "gonum.org/v1/gonum/mat"

// Started returns a recurrence at its start block, for any run.
func Started(m Method, r Run, z *mat.Dense) Recurrence {
	rec := m.New(r)
	rec.Start(z)
	return rec
}

// Saved returns the parts of a recurrence.
func Saved(r Recurrence) []Part {
	var s State
	r.State(&s)
	return s.Parts
}

// Hasty is the power method in the dilation, with residuals reported far too
// small, so that certificates send the search on.
type Hasty struct{ Power }

// New implements Method.
func (h Hasty) New(r Run) Recurrence { return hastyRun{h.Power.New(r)} }

type hastyRun struct{ Recurrence }

func (h hastyRun) Absorb(y *mat.Dense) []RitzPair {
	c := h.Recurrence.Absorb(y)
	c[0].Residual /= 300
	return c
}
