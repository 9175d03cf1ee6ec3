// Package iterate provides the state that recurrences keep between two passes: TwoTerm for a method that finds one vector,
// Block for one that multiplies orthonormal blocks.
package iterate

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// TwoTerm is the state of a recurrence that makes the next iterate of the last two iterates and the product of the last one.
type TwoTerm struct {
	method.Alone
	Arena   *tallskinny.Arena
	Paper   bool
	X, Last *mat.Dense // to be multiplied next; multiplied last
	T       int        // products absorbed; the one with x₀, the first iterate, has T = 1
	pair    [1]method.RitzPair
}

// Arena returns the arena of a run; nil, which is ordinary memory, if a driver outside this module has made the run.
func Arena(r method.Run) *tallskinny.Arena {
	a, _ := r.Memory.(*tallskinny.Arena)
	return a
}

func (t *TwoTerm) Start(z *mat.Dense) {
	n, _ := z.Dims()
	t.X, t.Last = z, t.Arena.Dense(n, 1)
}

func (t *TwoTerm) State(s *method.State) {
	s.Tall("x", &t.X, 1)
	s.Tall("last", &t.Last, 1)
	s.Int("products", &t.T, 0, math.MaxInt32)
}

func (t *TwoTerm) Free()            { t.Arena.Free(t.X, t.Last) }
func (t *TwoTerm) Next() *mat.Dense { return t.X }

// Vector stores the unit vector whose residual is known, or under the paper's rule the next iterate, as in Algorithm 1.
func (t *TwoTerm) Vector(dst []float64, _ int) {
	from := t.Last
	if t.Paper {
		from = t.X
	}
	t.Arena.Normalise(dst, tallskinny.Column(from))
}

// Advance implements Absorb with a step that replaces next, which holds the iterate before x, by the iterate after x, given
// mx = Mx, and completes c, the Ritz pair of x.
func (t *TwoTerm) Advance(y *mat.Dense, step func(c *method.RitzPair, x, mx, next []float64)) []method.RitzPair {
	x, mx, next := tallskinny.Column(t.X), tallskinny.Column(y), tallskinny.Column(t.Last)
	c := Ritz(t.Arena, x, mx)
	if t.T > 0 {
		step(&c, x, mx, next)
	} else {
		First(t.Arena, next, mx, t.Paper)
	}
	t.X, t.Last = t.Last, t.X
	t.T++
	t.pair[0] = c
	return t.pair[:]
}

// Ritz returns the Rayleigh quotient and the residual of the direction of x,
// given y = Mx. The difference is formed entry by entry: the difference of the
// squared norms would lose half of the digits.
func Ritz(a *tallskinny.Arena, x, y []float64) method.RitzPair {
	c := method.RitzPair{DeltaVector: math.Inf(1), DeltaValue: math.Inf(1)}
	xx := a.Dot(x, x)
	if xx == 0 {
		return c
	}
	c.Value = a.Dot(x, y) / xx
	c.Residual = a.Distance(y, 1, x, c.Value) / math.Sqrt(xx)
	c.PaperValue = c.Value
	return c
}

// First sets x0, given mz = Mz, to the start of the paper's methods or a multiple of it. Algorithms 1 and 2 take Mz itself;
// otherwise it is scaled such that ‖x0‖² = ‖Mz‖, an estimate of the value sought, which makes every iterate of gradient
// descent scale with √λ and hence the run independent of the scale of the matrix.
func First(a *tallskinny.Arena, x0, mz []float64, paper bool) {
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

// PaperChanges sets the fields of c that the rule of Algorithm 1 tests: λ̂ of the iterate next, and its differences from x,
// with xx = ‖x‖².
func PaperChanges(a *tallskinny.Arena, c *method.RitzPair, x []float64, xx float64, next []float64) {
	nn := a.Dot(next, next)
	c.PaperValue = nn
	c.DeltaValue = math.Abs(nn - xx)
	c.DeltaVector = a.Distance(next, 1/math.Sqrt(nn), x, 1/math.Sqrt(xx))
}

// Eta returns the setting of the step size of gradient descent and of the methods that build on it.
func Eta(eta float64) method.Setting {
	const preset = 0.5 // 0 means preset: the same method, so the same setting
	return method.Setting{Name: "eta", Help: "step size", Default: preset, High: 1, Value: cmp.Or(eta, preset)}
}

// Block is the state of a recurrence that multiplies orthonormal blocks.
type Block struct {
	method.Alone
	Arena   *tallskinny.Arena
	X       *mat.Dense // to be multiplied next; orthonormal after the first call of Next
	QR      tallskinny.BlockQR
	Eigen   eigen.Solver
	started bool // X is orthonormal, no longer the start block
}

// NewBlock returns a block to be started or restored.
func NewBlock(a *tallskinny.Arena) Block {
	return Block{Arena: a, QR: tallskinny.BlockQR{Arena: a}, Eigen: eigen.Solver{Workers: a.Most()}}
}

func (b *Block) Start(z *mat.Dense)       { b.X, b.QR.Key = z, z.At(0, 0) }
func (b *Block) Avoid(found method.Found) { b.QR.Found, _ = found.(*tallskinny.Basis) }

func (b *Block) Next() *mat.Dense {
	if !b.started {
		b.QR.Factor(b.X.RawMatrix(), nil, 0)
		b.started = true
	}
	return b.X
}

// State saves or restores the block, and reports whether that succeeded.
func (b *Block) State(s *method.State) bool {
	if !s.Tall("next", &b.X, -1) {
		return false
	}
	s.Float("key", &b.QR.Key)
	s.Int("drawn", &b.QR.Drawn, 0, math.MaxInt32)
	s.Flag("started", &b.started)
	if !tallskinny.AllFinite([]float64{b.QR.Key}) {
		s.Refuse("has a key that is not finite")
	}
	return s.OK()
}
