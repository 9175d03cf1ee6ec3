package solver

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
)

// Space is where the tall blocks of a run lie, the vectors of n numbers, when
// memory is too small for them: in files that are mapped into memory. The solver
// goes through them from the first row to the last and says which stretch it has
// passed, so that a window of some MiB is all that need be in memory. The bits of
// the results are those of a run without. When the context of a run ends it leaves off
// at the end of a window; its last checkpoint is what is known then.
//
// A Space is safe for concurrent use, also by several runs at once.
type Space interface {
	// Make returns room for that many float64s, zeros at first.
	Make(numbers int) ([]float64, error)
	// Holds tells whether x is a part of what Make has returned.
	Holds(x []float64) bool
	// Fetch says that x, a part of what Make has returned, is gone through next: it
	// may be brought into memory meanwhile.
	Fetch(x []float64)
	// Drop says that x, a part of what Make has returned, need not stay in
	// memory. Its contents stay.
	Drop(x []float64)
	// Free gives back what Make has returned. It is not touched any more.
	Free(x []float64)
	// Err returns the error that may have cost contents, if there was one.
	Err() error
}

// ErrFault is wrapped by the error of a run whose Space could not deliver what
// was in it.
var ErrFault = fmt.Errorf("memory fault in the vectors of the run")

// tileRows is the number of rows that one loop over vectors covers before it says
// that it has passed them. Sums are formed tile by tile.
const tileRows = 1 << 14

// eachTile calls f with the tiles of n rows in order, a loop that goes over what u says.
func (a *Arena) eachTile(n int, u uses, f func(from, to int)) {
	over := a.over(n, u)
	over.fetch(0, min(n, tileRows))
	for from := 0; from < n; from += tileRows {
		if len(over.planes) > 0 {
			a.endEarly()
		}
		to := min(n, from+tileRows)
		over.fetch(to, min(n, to+tileRows))
		f(from, to)
		over.passed(from, to)
		a.tell()
	}
}

func width(x *mat.Dense) int { _, l := x.Dims(); return l }

// like returns y if it has the shape of x, or else a new block that has.
func (r *run) like(y, x *mat.Dense) *mat.Dense {
	if n, l := x.Dims(); y == nil || width(y) != l {
		r.arena.free(y)
		y = r.arena.Dense(n, l)
	}
	return y
}

// release gives the blocks of the recurrence back and forgets it.
func (r *run) release() {
	if r.s.Space != nil && r.rec != nil {
		r.rec.Free()
	}
	r.rec, r.cands = nil, nil
}

// guarded runs f, which returns the vectors that are to stay, and makes errors of
// what a run panics with: breakdowns, and with a Space no room, and faults of memory
// that is mapped.
func (a *Arena) guarded(f func() (*mat.Dense, error)) (err error) {
	var keep *mat.Dense
	attempt := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = broken(p)
			}
		}()
		keep, err = f()
		return err
	}
	if !a.outside() {
		return attempt()
	}
	defer func() {
		var stays []float64
		if keep != nil && err == nil {
			stays = keep.RawMatrix().Data
		}
		a.close(stays)
	}()
	err = fault.Guard(attempt)
	if bad := (*fault.Error)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%w: %w", ErrFault, bad.Err)
	}
	if err == nil {
		err = a.space.Err()
	}
	return err
}

// broken returns the error of a breakdown or of a Space without room, and panics again
// with anything else.
func broken(p any) error {
	switch p := p.(type) {
	case *spaceError:
		return p
	case breakdown:
		return fmt.Errorf("%s: %w", string(p), ErrBreakdown)
	case eigen.Failure:
		return fmt.Errorf("%w: %w", p, ErrBreakdown)
	}
	panic(p)
}
