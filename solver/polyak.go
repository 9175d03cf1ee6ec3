package solver

import "gonum.org/v1/gonum/mat"

// Polyak is gradient descent with heavy-ball momentum (Polyak 1964; the paper,
// "Accelerated gradient descent for k-SVD", with α = 0):
//
//	x⁺ = x + β(x−x⁻) − η/‖x‖² ∇g(x),  ∇g(x) = −Mx + ‖x‖²x.
//
// The paper's display writes ∇g(y)/‖y‖² with y = x + α(x−x⁻), which is x here.
//
// With the best β components along other eigenvectors shrink by the factor
// 1 − √(η(1−λ₂/λ₁)) a pass, against 1 − η(1−λ₂/λ₁) without momentum: passes
// grow with the inverse root of the gap instead of its inverse. A β that is too
// large costs as much as one too small: the factor is √β then, whatever the
// gap. It is different for every vector, so leave it to be found automatically
// unless a run of the paper is to be reproduced.
type Polyak struct {
	// Eta is the step size η in (0,1); 0 means ½.
	Eta float64
	// Beta is the momentum β in (0,1), used after the first 100β steps as the
	// paper does. 0 means automatic: β = (1−√(η·gap))², with a gap 1 − θ₂/θ₁
	// from Ritz values of successive vectors, which comes down to the true one.
	// It is less while the length of the iterate has not settled, and 0 where
	// ‖x‖² is off its Rayleigh quotient by half.
	Beta float64
}

var _ Method = Polyak{}

// Name returns "polyak".
func (Polyak) Name() string { return "polyak" }

// Width returns 1: one vector at a time.
func (Polyak) Width(int) int { return 1 }

// Start implements Method.
func (p Polyak) Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence {
	return p.params().start(a, z, rule)
}

// Restore implements Method.
func (p Polyak) Restore(a *Arena, s State, rule StopRule) (Recurrence, error) {
	return p.params().restore(a, s, rule)
}

// fit implements fitter.
func (p Polyak) fit(int) Method {
	p.Eta = p.params().eta
	return p
}

func (p Polyak) params() momentumParams {
	checkBeta(p.Beta)
	return momentumParams{eta: GradientDescent{p.Eta}.step(), beta: p.Beta}
}

func checkBeta(beta float64) {
	if !(beta >= 0 && beta < 1) {
		panic("solver: momentum must lie in (0,1), or be 0 to be chosen automatically")
	}
}
