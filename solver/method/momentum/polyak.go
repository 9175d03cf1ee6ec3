package momentum

import (
	"errors"

	"github.com/gdsvd/gdsvd/solver/internal/iterate"
	"github.com/gdsvd/gdsvd/solver/method"
)

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
// large costs as much as one too small: the factor is then √β, whatever the
// gap. The best β is different for every vector, so leave β automatic unless a
// run of the paper is to be reproduced.
type Polyak struct {
	// Eta is the step size η in (0,1); 0 means ½.
	Eta float64
	// Beta is the momentum β in (0,1), used after the first 100β steps as the
	// paper does. 0 means automatic: β = (1−√(η·gap))², with a gap 1 − θ₂/θ₁
	// from Ritz values of successive vectors, which falls to the true gap.
	// β is less while the length of the iterate has not converged, and 0 where
	// ‖x‖² differs from its Rayleigh quotient by half.
	Beta float64
}

func (p Polyak) Traits(int) method.Traits {
	t := method.Single("polyak", 4, 85) // two iterates, a product kept for choosing β, and the product
	t.Settings = []method.Setting{iterate.Eta(p.Eta), betaSetting(p.Beta)}
	t.With = func(v []float64) method.Method { return Polyak{v[0], v[1]} }
	t.Indefinite = true
	return t
}

func (p Polyak) New(r method.Run) method.Recurrence {
	return momentumParams{eta: iterate.Eta(p.Eta).Value, beta: p.Beta}.recurrence(r)
}

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
// steps without momentum at the beginning, and loses less with a wrong β: prefer
// Nesterov to Polyak.
type Nesterov struct {
	// Eta is the step size η in (0,1); 0 means ½. Above ½ the length of the
	// iterates does not converge unless (2η−1)(1+2β) < 1.
	Eta float64
	// Beta is the momentum β in (0,1). 0 means automatic:
	// β = (1−√(η·gap))/(1+√(η·gap)), with a gap 1 − θ₂/θ₁ from Ritz values of
	// successive vectors, which falls to the true gap.
	Beta float64
}

func (n Nesterov) Traits(int) method.Traits {
	t := method.Single("nesterov", 5, 80) // as Polyak, and the point ahead of the iterate
	t.Settings = []method.Setting{iterate.Eta(n.Eta), betaSetting(n.Beta)}
	t.With = func(v []float64) method.Method { return Nesterov{v[0], v[1]} }
	if p := n.params(); p.beta >= p.limit() {
		t.Wrong = errors.New("too large together for nesterov, which needs (2η−1)(1+2β) < 1")
	}
	t.Indefinite = true
	t.Options = func(method.Workload) []method.Method { return []method.Method{Nesterov{}} }
	return t
}

func (n Nesterov) New(r method.Run) method.Recurrence { return n.params().recurrence(r) }

func (n Nesterov) params() momentumParams {
	return momentumParams{eta: iterate.Eta(n.Eta).Value, beta: n.Beta, ahead: true}
}
