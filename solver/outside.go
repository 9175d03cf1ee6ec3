package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/outside"
	"github.com/gdsvd/gdsvd/solver/internal/scout"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// search is find with evidence: residuals show that a pair is an eigenpair, not that it is a leading one. search
// goes on until no larger eigenvalue can be hidden. If it finds a larger one, it forgets the pairs found and
// starts again from random vectors with a smaller tolerance, since at a coarse tolerance a new search may miss it
// again. It returns Stagnated when the tolerance has become smaller than Tol/10⁶.
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

// lookOutside multiplies random vectors orthogonal to those found until there is evidence that no larger
// eigenvalue is hidden, or until a larger one shows; misled reports the latter.
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

// captured reports whether so little of ‖A‖²_F is left that no other eigenvalue can exceed the least one by more
// than outside.Negligible allows.
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

// forget drops the pairs found, so that the run begins again from random vectors, with a quarter of the
// tolerance.
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

// Outside bounds the values that a result may have missed: ‖A − AVVᵀ‖ ≤ Bound for the right vectors V found, so no
// other singular value is larger than Bound. Leading reports that Bound is no larger than the least value found:
// the values found are the leading ones. Otherwise a value between the two could be hidden.
//
// The bound is wrong with at most the given Probability, which is taken over the random vectors of the seed and not
// over matrices. It treats the vectors found as singular vectors, which they are to within their residuals.
//
// A residual shows that a triplet is singular, never that it is among the k leading ones: given vectors may span a
// space of singular vectors without any of the leading ones. The evidence comes from random vectors. Suppose that a
// space has grown from a random block, with enough products for its largest Ritz values to have settled. It can
// have missed a larger eigenvalue only if the block was nearly orthogonal to the eigenvector, and the probability
// of that is known (method.Evidence).
//
// If √(‖A‖²_F − Σσ²), which is never wrong, is smaller, it is the bound. If the evidence does not rule out further
// copies of the least value, the bound is no less than that value. The evidence never rules them out if the number
// of copies found is the number of columns of the block.
//
// Under StopResidual a run is Converged only with evidence. The one exception is a run from random vectors with
// Plain deflation and a method other than Krylov: Plain deflation does not keep the vectors found out of the space.
//
// For Krylov its own space is the evidence, through a few restarts, and at no cost at fine tolerances; Krylov goes
// on for a few passes if its residuals are too large. Krylov mixes given vectors with random ones in its first
// block, and Block has at least max(2, k/10) random columns in its first block. For other methods, and if the space
// of Krylov was restarted more often, the deflated operator is multiplied with random vectors orthogonal to those
// found until there is evidence (PhaseOutside). Their number is that of the columns of the method, but at most 32
// and at least max(2, k/10). If a larger value turns up, the run forgets the vectors found and begins again from
// random vectors. If a limit ends the run before that, its status is that of the limit.
//
// Values at roundoff are set to exactly 0, and their left vectors, which A does not determine, complete the others
// to an orthonormal set.
type Outside struct {
	// Steps is the number of products of the operator with random vectors, outside of the given and the found
	// vectors, that the bound is derived from; 0 if the bound is √(‖A‖²_F − Σσ²), which is never wrong.
	Steps       int
	Bound       float64
	Probability float64
	// Leading allows for 2·Tol·σ₁, since the least value may have moved by its residual after the search compared
	// it, and for rounding errors of the operator.
	Leading bool
}

// WidestBlock returns the largest number of columns that a run for k triplets with a method multiplies in one
// pass.
func WidestBlock(m method.Method, k int) int {
	w := m.Traits(k).Width(k)
	return max(w, outside.Scouts(w, k))
}

// beyond returns the Outside of a result with the given values, descending, of a matrix with the given Frobenius
// norm.
func (r *run) beyond(sigma []float64, frobenius float64) Outside {
	o := r.remainder(sigma, frobenius)
	least := r.found.Eigenvalue(sigma[len(sigma)-1] + r.s.Tol*r.found.Share()*sigma[0])
	o.Leading = r.found.Eigenvalue(o.Bound) <= r.outside.Negligible(least)
	return o
}

// remainder is beyond without Leading. The bound allows for rounding of the sums.
func (r *run) remainder(sigma []float64, frobenius float64) Outside {
	rest := 1.0
	shift, _ := r.shift()
	switch {
	case len(sigma) == r.n:
		return Outside{}
	case frobenius == 0:
		return Outside{Bound: shift}
	}
	for _, s := range sigma {
		rest -= ((s - shift) / frobenius) * ((s - shift) / frobenius)
	}
	// Values have errors of at most 4ε·T (package certificate), T the norm that rounding errors of products are relative to, and
	// the rounding of the shift: an error of at most 8ε·√k·T/‖A‖_F in Σσ²/‖A‖²_F. The bound allows for twice that, and for 1e-12.
	terms := infoOf(r.op).terms() + math.Abs(shift)
	rest = max(rest, 0) + max(1e-12, 16*tallskinny.Epsilon*math.Sqrt(float64(len(sigma)))*terms/frobenius)
	all := Outside{Bound: frobenius*math.Sqrt(rest) + shift}
	if o := r.outside.Bound; o.Known && r.found.Sigma(o.Value) < all.Bound {
		return Outside{Steps: o.Steps, Bound: r.found.Sigma(o.Value), Probability: o.Probability}
	}
	return all
}
