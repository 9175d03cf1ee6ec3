package tallskinny

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/solver/internal/eigen"
)

// What a run that has panicked returns.
var (
	ErrFault     = errors.New("memory fault in the vectors of the run")
	ErrBreakdown = errors.New("numerical breakdown")
)

// Breakdown is what algorithms panic with that numbers have defeated: it becomes an
// error of the run, which wraps errBreakdown.
type Breakdown string

// Guarded runs f, which returns the vectors that are to stay, and makes errors of
// what a run panics with: breakdowns, and with a Space no room, and faults of memory
// that is mapped.
func (a *Arena) Guarded(f func() (*mat.Dense, error)) (err error) {
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
	if !a.Outside() {
		return attempt()
	}
	defer func() {
		var stays []float64
		if keep != nil && err == nil {
			stays = keep.RawMatrix().Data
		}
		a.Close(stays)
	}()
	err = fault.Guard(attempt)
	if bad := (*fault.Error)(nil); errors.As(err, &bad) {
		return fmt.Errorf("%w: %w", ErrFault, bad)
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
	case *SpaceError:
		return p
	case Breakdown:
		return fmt.Errorf("%s: %w", string(p), ErrBreakdown)
	case eigen.Failure:
		return fmt.Errorf("%w: %w", p, ErrBreakdown)
	}
	panic(p)
}
