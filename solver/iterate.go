package solver

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
)

// twoTerm is the state of a recurrence whose next iterate is made of the last one and
// its product alone.
type twoTerm struct {
	Alone
	arena   *Arena
	paper   bool
	x, prev *mat.Dense // next to be multiplied, and multiplied last
	started bool       // x is an iterate, no longer the start vector z
	pair    [1]RitzPair
}

func (t *twoTerm) Start(z *mat.Dense) {
	n, _ := z.Dims()
	t.x, t.prev = z, t.arena.Dense(n, 1)
}

func (t *twoTerm) State(s *State) {
	s.Tall("x", &t.x, 1)
	s.Tall("last", &t.prev, 1)
	s.Flag("started", &t.started)
}

func (t *twoTerm) Free() { t.arena.Free(t.x, t.prev) }

func (t *twoTerm) Next() *mat.Dense { return t.x }

// advance is Absorb for a step that sets next to the iterate after x, given mx = Mx, and
// completes c, the Ritz pair of x.
func (t *twoTerm) advance(y *mat.Dense, step func(c *RitzPair, x, mx, next []float64)) []RitzPair {
	x, mx, next := tallskinny.Column(t.x), tallskinny.Column(y), tallskinny.Column(t.prev)
	c := ritz(t.arena, x, mx)
	if t.started {
		step(&c, x, mx, next)
	} else {
		firstIterate(t.arena, next, mx, t.paper)
		t.started = true
	}
	t.x, t.prev = t.prev, t.x
	t.pair[0] = c
	return t.pair[:]
}

// ritz returns the Rayleigh quotient and the residual of the direction of x,
// given y = Mx. The difference is formed entry by entry: the difference of the
// squared norms would lose half of the digits.
func ritz(a *Arena, x, y []float64) RitzPair {
	c := RitzPair{DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
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
// gives λ̂ and its differences from x, xx = ‖x‖², decide.
func paperChanges(a *Arena, c *RitzPair, x []float64, xx float64, next []float64) {
	nn := a.Dot(next, next)
	c.PaperValue = nn
	c.DeltaValue = math.Abs(nn - xx)
	c.DeltaVector = a.Distance(next, 1/math.Sqrt(nn), x, 1/math.Sqrt(xx))
}

// randomState saves or restores where a block QR is in its random numbers.
func randomState(s *State, q *tallskinny.BlockQR) {
	s.Float("key", &q.Key)
	s.Int("drawn", &q.Drawn, 0, math.MaxInt32)
}
