package solver

import "gonum.org/v1/gonum/mat"

// Nesterov is gradient descent with Nesterov's momentum (the paper,
// "Accelerated gradient descent for k-SVD", with α = β): a step of gradient
// descent from a point ahead of the iterate,
//
//	y = x + β(x−x⁻),  x⁺ = y − η/‖y‖² ∇g(y),  ∇g(y) = −My + ‖y‖²y,
//
// from the first step on.
//
// The paper's display reads x⁺ = x + β(x−x⁻) − η/‖y‖² ∇g(y). That looks like a
// step from x with the gradient of another point, but for α = β its first terms
// are y, so there is one reading only. Where the text on implementation has
// "Nesterov's momentum, i.e., the scheme with β = 0" it must be α = β.
//
// With the best β the passes grow with the inverse root of the gap, as for
// Polyak. Nesterov damps components with small eigenvalues as well, needs no
// steps without momentum at the beginning, and bears a wrong β better: prefer it
// of the two.
type Nesterov struct {
	// Eta is the step size η in (0,1); 0 means ½. Above ½ the length of the
	// iterates does not settle unless (2η−1)(1+2β) < 1.
	Eta float64
	// Beta is the momentum β in (0,1). 0 means automatic:
	// β = (1−√(η·gap))/(1+√(η·gap)), with a gap 1 − θ₂/θ₁ from Ritz values of
	// successive vectors, which comes down to the true one.
	Beta float64
}

var _ Method = Nesterov{}

// Name returns "nesterov".
func (Nesterov) Name() string { return "nesterov" }

// Width returns 1: one vector at a time.
func (Nesterov) Width(int) int { return 1 }

// Start implements Method.
func (n Nesterov) Start(a *Arena, z *mat.Dense, rule StopRule) Recurrence {
	return n.params().start(a, z, rule)
}

// Restore implements Method.
func (n Nesterov) Restore(a *Arena, s State, rule StopRule) (Recurrence, error) {
	return n.params().restore(a, s, rule)
}

// fit implements fitter.
func (n Nesterov) fit(int) Method {
	n.Eta = n.params().eta
	return n
}

func (n Nesterov) params() momentumParams {
	checkBeta(n.Beta)
	p := momentumParams{eta: GradientDescent{n.Eta}.step(), beta: n.Beta, ahead: true}
	if p.beta >= p.limit() {
		panic("solver: step size and momentum of Nesterov's method must satisfy (2η−1)(1+2β) < 1")
	}
	return p
}
