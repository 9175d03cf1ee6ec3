package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/outside"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
)

// search is find with evidence: residuals say that what has been found is singular, not
// that it is leading. It goes on until nothing larger can be hidden; what turns out to be is
// found from random vectors, and what has been found is forgotten. At a coarse tolerance those may
// mislead, too: then others have to do better.
func (r *run) search(reserve func() int) (Status, error) {
	for {
		st, err := r.find(reserve)
		if st != Converged || err != nil || !r.outside.Wanted {
			return st, err
		}
		misled, st, err := r.lookOutside(reserve)
		if st != Converged || err != nil || !misled {
			return st, err
		}
		if r.found.Tol < r.s.Tol/1e6 {
			r.found.Stalled = true
			return Stagnated, r.boundary()
		}
		r.forget()
		if err := r.boundary(); err != nil {
			return NotTerminated, err
		}
	}
}

// lookOutside multiplies random vectors orthogonal to those found until it is
// evident that nothing larger is there, or that something is.
func (r *run) lookOutside(reserve func() int) (misled bool, _ Status, err error) {
	room := r.n - r.found.Basis.Dimension()
	if room == 0 {
		r.outside.Bound = outside.Bound{Known: true}
	}
	least := r.found.Least()
	if r.work.rec == nil && (r.outside.Final || r.outside.Evident(least) || r.captured(least)) {
		return false, Converged, nil
	}
	if r.work.rec == nil {
		r.project()
		// Twice as many columns must fit into the space that is left, for the next block.
		columns := min(outside.Scouts(r.about.Width(r.s.Rank), r.s.Rank), room/2)
		z := r.arena.Dense(r.n, max(1, columns))
		r.arena.Gaussian(z, 0, r.key, streamOutside|r.starts.drawn)
		r.starts.drawn++
		r.found.Basis.ProjectAll(z.RawMatrix())
		r.work = work{rec: scout.New(r.arena), block: outside.Block{Before: r.found.Len(), Scout: true}}
		r.work.rec.Start(z)
	}
	s := r.work.rec.(*scout.Scout)
	s.Avoid(r.found.Basis)
	var y *mat.Dense
	defer func() { r.arena.Free(y) }()
	for {
		pairs, st, err := r.step(&y, reserve)
		if pairs == nil {
			return false, st, err
		}
		lead := pairs[0]
		r.found.Lambda1 = max(r.found.Lambda1, math.Hypot(lead.Value, lead.Residual))
		r.witness(0)
		misled = lead.Value > r.outside.Negligible(least)
		over := misled || s.Over() || r.outside.Evident(least)
		e := r.event(PhaseOutside, r.found.Len()-1, lead)
		evidence, _ := s.Evidence(0)
		e.Worst, e.Goal = r.outside.Hidden(evidence, r.work.block)
		e.Open, e.More = 0, misled || !over
		if err := r.observe(e); err != nil {
			return false, NotTerminated, err
		}
		if over {
			r.release()
			if !misled {
				r.outside.Final = true
				err = r.boundary()
			}
			return misled, Converged, err
		}
	}
}

// captured reports whether too little of ‖A‖²_F is left for an eigenvalue that counts beside the least one.
func (r *run) captured(least float64) bool {
	if matrixOf(r.op) == nil {
		return false
	}
	sigma := make([]float64, r.found.Len())
	for i, v := range r.found.Values {
		sigma[i] = r.found.Sigma(v)
	}
	return r.found.Eigenvalue(r.remainder(sigma, infoOf(r.op).Norm).Bound) <= r.outside.Negligible(least)
}

// forget begins the run anew from random vectors.
func (r *run) forget() {
	r.found.Reset()
	r.outside.Reset()
	r.outside.Doubt = false
	r.found.Tol /= 4
	r.passes.round = rounds{}
	r.starts.drop(r.arena)
	if r.cert != nil {
		r.arena.Free(r.cert.Right, r.cert.Product)
		r.cert = nil
	}
}
