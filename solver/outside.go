package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/outside"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/method"
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

// Outside bounds what a result may have missed: ‖A − AVVᵀ‖ ≤ Bound for the right
// vectors V that were found, so no singular value beyond those is larger. Leading says
// that Bound is no larger than the least value found: the values found are the leading
// ones. Otherwise one between the two could be hidden.
//
// The statement is wrong with at most the given Probability, which is one over the
// random vectors of the seed and not over matrices. It takes the vectors that were
// found for singular vectors, which they are to within their residuals.
//
// A residual says that a triplet is singular, never that it is among the k leading ones: in the span of given vectors
// everything may be singular, and nothing leading. The evidence comes from random vectors. A space that has grown from a
// random block, after enough products for its largest Ritz values to have settled, can have overlooked a larger
// eigenvalue only if the block was nearly orthogonal to its eigenvector, and how probable that is is known (method.Evidence). Or the
// bound is √(‖A‖²_F − Σσ²), which is never wrong, where that is small enough. Where the evidence does not rule
// out further copies of the least value, and with as many copies found as the block has columns it never does, the bound is no less than that value.
//
// No run under StopResidual is Converged without evidence, but one of another method than Krylov with the Plain deflation that began at random vectors, in
// which nothing can be told apart from what has been found. Krylov's own space is the evidence, through a few restarts and at no
// cost at fine tolerances; it goes on for a few passes if its residuals are too large. Given vectors it mixes with random ones
// in its first block, and Block has at least max(2, k/10) random columns in its own. For other methods, and where Krylov's space was restarted more
// often, the deflated operator is multiplied with random vectors orthogonal to those found, as many as the method has columns and
// at least max(2, k/10), as long as it takes (PhaseOutside). Should something larger turn up, what has been found is
// forgotten and the search begins from random vectors. A limit that ends the run before that makes its status that of the limit.
//
// Values at roundoff are set to exactly 0, and their left vectors, which A does
// not determine, complete the others to an orthonormal set.
type Outside struct {
	// Steps is how many products of the operator with random vectors outside of
	// what was given and found the bound is made of; 0 if it is that of the
	// remaining energy, √(‖A‖²_F − Σσ²), which is never wrong.
	Steps       int
	Bound       float64
	Probability float64
	// Leading allows for 2·Tol·σ₁, as the least value may have moved by its residual
	// since the search compared it, and for what the operator cannot see.
	Leading bool
}

// WidestBlock is the number of columns of the widest block that a run for k triplets
// with a method multiplies.
func WidestBlock(m method.Method, k int) int {
	w := m.Traits(k).Width(k)
	return max(w, outside.Scouts(w, k))
}

// beyond returns the Outside of a result with the given values, descending, of a
// matrix with a known Frobenius norm.
func (r *run) beyond(sigma []float64, frobenius float64) Outside {
	o := r.remainder(sigma, frobenius)
	least := r.found.Eigenvalue(sigma[len(sigma)-1] + r.s.Tol*r.found.Share()*sigma[0])
	o.Leading = r.found.Eigenvalue(o.Bound) <= r.outside.Negligible(least)
	return o
}

// remainder is beyond without Leading. Rounding of the sums is allowed for.
func (r *run) remainder(sigma []float64, frobenius float64) Outside {
	if frobenius == 0 || len(sigma) == r.n {
		return Outside{}
	}
	rest := 1.0
	shift, _ := r.shift()
	for _, s := range sigma {
		rest -= ((s - shift) / frobenius) * ((s - shift) / frobenius)
	}
	const rounding = 1e-12
	rest = max(rest, 0) + rounding
	all := Outside{Bound: frobenius*math.Sqrt(rest) + shift}
	if o := r.outside.Bound; o.Known && r.found.Sigma(o.Value) < all.Bound {
		return Outside{Steps: o.Steps, Bound: r.found.Sigma(o.Value), Probability: o.Probability}
	}
	return all
}
