package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/method"
)

// certifyPairs is certify for signed eigenpairs.
func (f *factorisation) certifyPairs(v *mat.Dense) (*certificate.Certificate, error) {
	n, k := v.Dims()
	norm := f.a.Info().Norm
	s := certificate.Search{
		Square: f.s.Which == LargestMagnitude, Order: f.s.Which.order, Tol: f.s.Tol, Skew: asymmetry * norm, Frobenius: norm,
	}
	s.Shift, s.Sign = f.shift()
	if op, ok := f.op.(*symmetric); ok {
		s.Seen = op.seen
	}
	p := Pass{X: v, RowsOut: Rows{Block: f.arena.Dense(n, k)}}
	if s.Square {
		p.Sum = f.arena.Dense(n, k)
		defer f.arena.Free(p.Sum)
	}
	if _, err := f.a.Run(f.ctx, p); err != nil {
		return nil, err
	}
	return certificate.NewPairs(f.arena, v, p.RowsOut.Block, p.Sum, s)
}

// reported is a value of the operator, or its root for the Gram operator, as one of A. Of
// the latter the sign is not known before the certificate.
func (r *run) reported(sigma float64) float64 {
	shift, sign := r.shift()
	return sign * (sigma - shift)
}

// signed makes a result that of signed eigenpairs.
func (f *factorisation) signed(res *Result) {
	c := f.cert
	res.Sigma, res.Lambda, res.Norm = make([]float64, len(c.Lambda)), c.Lambda, c.Norm
	res.Rank = 0
	for i, l := range c.Lambda {
		if res.Sigma[i] = math.Abs(l); l != 0 {
			res.Rank++
		}
	}
	least, copies := c.Sigma[len(c.Sigma)-1], 0
	for _, s := range c.Sigma {
		if s-least <= f.slack(f.eigenvalue(least)) {
			copies++
		}
	}
	bound := max(res.Outside.Bound, c.Next)
	switch {
	case len(c.Lambda) == f.n:
		bound = least // there are no others
	case f.about.Copies > 0 && copies >= f.about.Copies && bound < least:
		bound = least // there may be more copies of it
	}
	res.Outside.Bound = f.reported(bound)
}

// pairsState saves or restores what a run for signed eigenpairs has besides.
func (r *run) pairsState(s *method.State) {
	if op, ok := r.op.(*symmetric); ok && op.which.signed() {
		s.Float("norm of A", &op.seen)
	}
	if !r.s.Which.signed() || r.cert == nil {
		return
	}
	s.Float("next value", &r.cert.Next)
	if s.Floats("signed values", &r.cert.Lambda); len(r.cert.Lambda) != r.s.Rank {
		s.Refuse("has a certificate of %d signed values, want %d", len(r.cert.Lambda), r.s.Rank)
	}
}
