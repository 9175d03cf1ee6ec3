package method

import "gonum.org/v1/gonum/mat"

// Evidence is what a block Lanczos recurrence M·V = V·T + X·(0 R) from a random
// block X₁, the first columns of V, knows about eigenvalues that it has not found.
//
// Let w be a unit vector with Mw = λw, orthogonal to the Ritz vectors that are
// taken as found. Multiplying the recurrence by wᵀ gives, for Ritz pairs (θ, s) of
// the others,
//
//	wᵀX₁ = (wᵀX)·H(λ),  H(λ) = Σ R·s_last·s_firstᵀ/(λ−θ),
//
// so ‖H(λ)‖ ≥ ‖wᵀX₁‖: were λ far above all θ, X₁ would have to be nearly
// orthogonal to w. For p random columns in d dimensions ‖wᵀX₁‖² has the
// distribution Beta(p/2, (d−p)/2), and below δ is with a known probability; then no
// λ with ‖H(λ)‖ < δ is left. For p = 1, ‖H‖ is Πβ/Π(λ−θ) (van Dorsselaer,
// Hochstenbach, van der Vorst 2001, "Computing probabilistic bounds for extreme
// eigenvalues of symmetric matrices with the Lanczos method"). It looks at the
// values that have been found, and falls to the largest θ as that converges; the
// bound 1.648·√n·exp(−√ε(2j−1)) on P[θ_j < (1−ε)λ] (Kuczyński, Woźniakowski 1992)
// holds before anything is known, and is for p = 1 its worst case.
//
// A restart with Ritz vectors does not end that. Those that are kept and X begin the next
// basis. Of those that are dropped the recurrence says yᵀw = (R·s_last)ᵀXᵀw/(λ−θ), so that
//
//	X₁ᵀw = Gᵀ·[kept X]ᵀw,  G = [s_first; Σ R·s_last·s_firstᵀ/(λ−θ)],
//
// the sum being that over the vectors dropped. For the next cycle s_first is what its Ritz vectors have in
// [kept X], times G: in exact arithmetic nothing is lost (the exact shifts of Sorensen 1992, "Implicit application of
// polynomial filters in a k-step Arnoldi method", and Wu, Simon 2000). A
// product carries errors F of the size ε‖M‖, and each term yᵀw one of at most ‖F‖/(λ−θ):
// that much is added to ‖H(λ)‖ after a restart.
type Evidence struct {
	Steps       int        // products
	Theta       []float64  // Ritz values, descending, without those found
	First, Last *mat.Dense // s_first and R·s_last of each, in rows
	Past        []Cycle    // before restarts
	Top         float64    // norm of M
	Leak        float64    // what M takes from the vectors found to others
}

// Cycle is a recurrence from one restart to the next: all its Ritz vectors, those of [From, To)
// being kept.
type Cycle struct {
	Theta       []float64
	First, Last *mat.Dense // as of Evidence; nil Last: what follows are Ritz vectors, too, all kept
	From, To    int
}

// Columns is the number of columns of the start block.
func (e Evidence) Columns() int {
	first := e.First
	if len(e.Past) > 0 {
		first = e.Past[0].First
	}
	_, columns := first.Dims()
	return columns
}
