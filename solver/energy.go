package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/method"
)

// Target reports whether a run with Settings.Energy has captured the share that was asked for. The k triplets of
// the Result are the fewest that capture it, as far as residuals can tell:
//
//	Σ_{i≤k} σ_i² ≥ Share·‖A‖²_F > Σ_{i<k} σ_i².
//
// The left inequality is certain: ‖AV‖²_F = Σσ² for every orthonormal V, and the k leading triplets capture no
// less. The right one depends on the errors of the values. With δ = σ₁·√Σr_i² there are k−1 singular values that
// differ from the measured ones by at most δ each (Kahan; Parlett, The Symmetric Eigenvalue Problem, theorem
// 11.5.1, for [0 A; Aᵀ 0]), and all others are at most b, the bound of Outside. So k−1 triplets capture at most
// Before + Error,
//
//	Error = Σ_{i<k} (2σ_i·d_i + d_i²)/‖A‖²_F,  d_i = max(δ, b − σ_i).
type Target struct {
	Share    float64 // share that was asked for
	Before   float64 // share captured by all triplets but the last
	Error    float64 // bound on what any k−1 triplets may capture beyond Before
	Reached  bool    // Result.Energy is at least Share, up to rounding
	Smallest bool    // Reached, and Before + Error is less than Share
}

// energyRounding bounds the rounding error of a share of ‖A‖²_F. A target this close counts as reached: otherwise
// half of the energy of an even number of equal values could take one value more than half of them.
const energyRounding = 1e-12

// energyOf returns the share of ‖A‖²_F that a triplet with the given eigenvalue captures.
func (r *run) energyOf(value float64) float64 { return share(r.found.Sigma(value), infoOf(r.op).Norm) }

// share returns (σ/‖A‖_F)², and 1 for A = 0.
func share(sigma, norm float64) float64 {
	if norm == 0 {
		return 1
	}
	return (sigma / norm) * (sigma / norm)
}

// missing returns the number of triplets still to be found: all up to Rank or, with Settings.Energy, as many of
// the given Ritz pairs as reach the target together with the triplets found. Ritz values approach from below, so
// the number is too large rather than too small.
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

// sufficient returns how many of the leading triplets of the certificate are asked for: all or, with
// Settings.Energy, as many as reach the target. If the target is not reached the completion is not asked for.
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

// reached reports whether the certificate reaches the target; for A = 0 it always does. The margin is twice that
// of missing, so that a certificate of as many triplets as missing asks for reaches the target.
func (f *factorisation) reached() bool {
	return f.cert.Frobenius == 0 || f.cert.Energy() >= f.s.Energy-2*energyRounding
}

// short reports whether the certificate misses the target and has fewer than Rank triplets.
func (f *factorisation) short() bool {
	return f.s.Energy > 0 && len(f.cert.Sigma) < f.s.Rank && !f.reached()
}

// target returns Result.Target: nil without Settings.Energy or without a certificate.
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

// Resizer is a RowStore whose number of columns can be set when the number of triplets is known.
type Resizer interface {
	RowStore
	// Resize sets the number of columns to k. The contents are lost.
	Resize(k int) error
}

func (d *DenseRows) Resize(k int) error {
	n, _ := d.Dense.Dims()
	d.Dense = NewDenseRows(n, k).Dense
	return nil
}
