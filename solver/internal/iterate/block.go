package iterate

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/eigen"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// Block is the state of a recurrence that multiplies orthonormal blocks.
type Block struct {
	method.Alone
	Arena   *tallskinny.Arena
	X       *mat.Dense // to be multiplied next, orthonormal once it has been asked for
	QR      tallskinny.BlockQR
	Eigen   eigen.Solver
	started bool // X is orthonormal, no longer the start block
}

// NewBlock returns a block to be started or restored.
func NewBlock(a *tallskinny.Arena) Block {
	return Block{Arena: a, QR: tallskinny.BlockQR{Arena: a}, Eigen: eigen.Solver{Workers: a.Most()}}
}

func (b *Block) Start(z *mat.Dense) { b.X, b.QR.Key = z, z.At(0, 0) }

func (b *Block) Avoid(found method.Found) { b.QR.Found, _ = found.(*tallskinny.Basis) }

func (b *Block) Next() *mat.Dense {
	if !b.started {
		b.QR.Factor(b.X.RawMatrix(), nil, 0)
		b.started = true
	}
	return b.X
}

// State saves or restores the block, and reports whether there is one.
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
