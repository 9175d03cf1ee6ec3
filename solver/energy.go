package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Target is what a run with Settings.Energy has come to. Its k triplets, those of the
// Result, are the fewest that capture the share, as far as residuals can tell:
//
//	Σ_{i≤k} σ_i² ≥ Share·‖A‖²_F > Σ_{i<k} σ_i².
//
// The left half is a fact: for orthonormal V, ‖AV‖²_F is Σσ², whatever V is, and no k
// triplets capture less than the leading ones. The right half needs the errors of the
// values. With δ = σ₁·√Σr_i² there are k−1 singular values that differ from those measured
// by at most δ each (Kahan; Parlett, The Symmetric Eigenvalue Problem, theorem 11.5.1, for
// [0 A; Aᵀ 0]), and all others are at most b, the bound of Outside, so that k−1 triplets
// capture at most Before + Error,
//
//	Error = Σ_{i<k} (2σ_i·d_i + d_i²)/‖A‖²_F,  d_i = max(δ, b − σ_i).
type Target struct {
	Share    float64 // that was asked for
	Before   float64 // captured by all triplets but the last
	Error    float64 // how much more than Before as many triplets may capture
	Reached  bool    // Result.Energy is at least Share, but for rounding
	Smallest bool    // Before + Error is less than Share
}

// energyRounding is what rounding may do to a share of ‖A‖²_F. A target is taken to be
// reached as close to it, lest half of the energy of an even number of equal values need
// one more than half of them.
const energyRounding = 1e-12

// energyOf is the share of ‖A‖²_F that a triplet with this eigenvalue captures.
func (r *run) energyOf(value float64) float64 { return share(r.found.Sigma(value), infoOf(r.op).Norm) }

// share is (σ/‖A‖_F)², and all of it for A = 0.
func share(sigma, norm float64) float64 {
	if norm == 0 {
		return 1
	}
	return (sigma / norm) * (sigma / norm)
}

// missing is how many triplets are still to be found: all up to Rank, or as many of these
// Ritz pairs as reach Settings.Energy together with the triplets that have been found. The
// values of Ritz pairs approach from below, so it is too large rather than too small.
func (r *run) missing(pairs []method.RitzPair) int {
	most := r.s.Rank - r.found.Len()
	if r.s.Energy == 0 {
		return most
	}
	lacking := r.s.Energy - energyRounding
	for _, v := range r.found.Values {
		lacking -= r.energyOf(v)
	}
	if lacking <= 0 && r.found.Len() > 0 {
		return 0
	}
	for i, c := range pairs[:min(len(pairs), most)] {
		lacking -= r.energyOf(c.Value)
		if lacking <= 0 {
			return i + 1
		}
	}
	return most
}

func (r *run) enough() bool { return r.missing(nil) == 0 }

// sufficient is how many of the leading triplets of the certificate are asked for: all of
// them, but for those that a target does not need and for a completion.
func (f *factorisation) sufficient() int {
	c := f.cert
	if f.s.Energy == 0 {
		return len(c.Sigma)
	}
	sum := 0.0
	for i, s := range c.Sigma {
		sum += share(s, c.Frobenius)
		if sum >= f.s.Energy-energyRounding {
			return i + 1
		}
	}
	return max(1, c.Rank)
}

// reached reports whether the certificate reaches the target, as all triplets of A = 0 do.
// Twice the rounding makes sure that what search takes for enough is enough.
func (f *factorisation) reached() bool {
	return f.cert.Frobenius == 0 || f.cert.Energy() >= f.s.Energy-2*energyRounding
}

// short reports whether the certificate misses the target although there may be more
// triplets.
func (f *factorisation) short() bool {
	return f.s.Energy > 0 && len(f.cert.Sigma) < f.s.Rank && !f.reached()
}

// target says what has become of Settings.Energy.
func (f *factorisation) target() *Target {
	c := f.cert
	if f.s.Energy == 0 || c == nil {
		return nil
	}
	t := &Target{Share: f.s.Energy, Reached: f.reached()}
	delta := 0.0
	for i := range c.Sigma {
		delta = math.Hypot(delta, c.Doubt(i)*c.Norm)
	}
	bound := f.remainder(c.Sigma, c.Frobenius).Bound
	for _, s := range c.Sigma[:len(c.Sigma)-1] {
		t.Before += share(s, c.Frobenius)
		if c.Frobenius > 0 {
			more := max(delta, bound-s)
			t.Error += (2*s + more) / c.Frobenius * (more / c.Frobenius)
		}
	}
	t.Smallest = t.Reached && t.Before+t.Error < t.Share-energyRounding
	return t
}

// Resizer is a RowStore whose number of columns is not known before the triplets are.
type Resizer interface {
	RowStore
	// Resize gives it k columns. What was in it is lost.
	Resize(k int) error
}

func (d *DenseRows) Resize(k int) error {
	n, _ := d.Dense.Dims()
	d.Dense = NewDenseRows(n, k).Dense
	return nil
}
