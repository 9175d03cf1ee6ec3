package solver

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// State is all that a Recurrence needs to go on with the same bits. What the
// blocks and scalars are is the method's own affair; integers and flags are
// stored as the scalars they convert to exactly.
//
// A block may be empty (mat.Dense{}). Blocks need not have the same shape.
type State struct {
	Blocks  []*mat.Dense
	Scalars []float64
}

// shape returns an error unless s has so many blocks and scalars. Restore
// checks the shapes of the blocks themselves with column or block.
func (s State) shape(blocks, scalars int) error {
	if len(s.Blocks) != blocks || len(s.Scalars) != scalars {
		return fmt.Errorf("state has %d blocks and %d scalars, want %d and %d", len(s.Blocks), len(s.Scalars), blocks, scalars)
	}
	return nil
}

// block returns block i, which must own its storage and have r rows and c
// columns. A negative r or c asks for any number but 0.
func (s State) block(i, r, c int) (*mat.Dense, error) {
	rows, cols := s.Blocks[i].Dims()
	if rows == 0 || r >= 0 && rows != r || c >= 0 && cols != c || s.Blocks[i].RawMatrix().Stride != cols {
		return nil, fmt.Errorf("block %d of state is %d×%d, want %d×%d", i, rows, cols, r, c)
	}
	return s.Blocks[i], nil
}

// flag returns scalar i, which must be 0 or 1.
func (s State) flag(i int) (bool, error) {
	n, err := s.count(i, 1)
	return n == 1, err
}

// count returns scalar i, which must be an integer from 0 to limit.
func (s State) count(i, limit int) (int, error) {
	v := s.Scalars[i]
	if !(v >= 0 && v <= float64(limit)) || v != float64(int(v)) {
		return 0, fmt.Errorf("scalar %d of state is %g, want an integer from 0 to %d", i, v, limit)
	}
	return int(v), nil
}

// scalar returns 1 for true and 0 for false, as flag reads it.
func scalar(flag bool) float64 {
	if flag {
		return 1
	}
	return 0
}

// pair returns the blocks of a state that consists of the next vector to be
// multiplied, the one multiplied last, and scalars of which the first is a
// flag. It is what methods of one vector have in common.
func (s State) pair(scalars int) (x, prev *mat.Dense, started bool, err error) {
	if err = s.shape(2, scalars); err != nil {
		return
	}
	if x, err = s.block(0, -1, 1); err != nil {
		return
	}
	n, _ := x.Dims()
	if prev, err = s.block(1, n, 1); err != nil {
		return
	}
	started, err = s.flag(0)
	return
}
