package solver

import (
	"math"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// ritz returns the Rayleigh quotient and the residual of the direction of x,
// given y = Mx. The difference is formed entry by entry: the difference of the
// squared norms would lose half of the digits.
func ritz(a *Arena, x, y []float64) Candidate {
	c := Candidate{DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	xx := a.Dot(x, x)
	if xx == 0 {
		return c
	}
	c.Value = a.Dot(x, y) / xx
	c.Residual = a.Distance(y, 1, x, c.Value) / math.Sqrt(xx)
	c.PaperValue = c.Value
	return c
}

// firstIterate sets x0 = Mz, given mz, in the direction the paper starts in.
// Algorithms 1 and 2 take Mz itself; otherwise it is scaled such that
// ‖x0‖² = ‖Mz‖, an estimate of the value sought, which makes every iterate of
// gradient descent scale with √λ and hence the run independent of the scale of
// the matrix.
func firstIterate(a *Arena, x0, mz []float64, paper bool) {
	f := 1.0
	if norm := a.Norm2(mz); !paper && norm > 0 {
		f = 1 / math.Sqrt(norm)
	}
	a.EachTile(len(mz), tallskinny.Reading(mz).Writing(x0), func(from, to int) {
		for i := from; i < to; i++ {
			x0[i] = f * mz[i]
		}
	})
}

// paperChanges fills in what the rule of Algorithm 1 looks at: the iterate next
// gives λ̂ and its differences from x decide.
func paperChanges(a *Arena, c *Candidate, x, next []float64) {
	xx, nn := a.Dot(x, x), a.Dot(next, next)
	c.PaperValue = nn
	c.DeltaValue = math.Abs(nn - xx)
	c.DeltaVector = a.Distance(next, 1/math.Sqrt(nn), x, 1/math.Sqrt(xx))
}

// ritzCandidate is a Ritz pair with the changes that the rule of the paper
// would look at: those of one step of Algorithm 2 from the Ritz vector.
func ritzCandidate(value, residual float64) Candidate {
	c := Candidate{Value: value, Residual: residual, PaperValue: value, DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	if value > 0 {
		size := math.Hypot(value, residual)
		c.DeltaVector = residual / size
		c.DeltaValue = size - value
	}
	return c
}

// randomState saves or restores where a block QR is in its random numbers.
func randomState(s *State, q *tallskinny.BlockQR) {
	s.Float("key", &q.Key)
	s.Int("drawn", &q.Drawn, 0, math.MaxInt32)
}
