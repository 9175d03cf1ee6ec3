package solver

import "gonum.org/v1/gonum/mat"

// Hasty is the power method in the dilation, with residuals reported far too
// small, so that certificates send the search on.
type Hasty struct{ Power }

func (Hasty) indefinite() Method { return hasty{} }

type hasty struct{ shiftedPower }

func (h hasty) Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence {
	return hastyRun{h.shiftedPower.Start(a, z, rule)}
}

func (h hasty) Restore(a *Arena, s State, rule StopRule) (Recurrence, error) {
	r, err := h.shiftedPower.Restore(a, s, rule)
	return hastyRun{r}, err
}

type hastyRun struct{ Recurrence }

func (h hastyRun) Absorb(y *mat.Dense) []Candidate {
	c := h.Recurrence.Absorb(y)
	c[0].Residual /= 300
	return c
}
