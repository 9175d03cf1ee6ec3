package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// ErrScale is returned for an Operator, or a Matrix whose Exponent does nothing
// about it, when the numbers of the operator are so large or so
// small that their squares leave the range of a float64.
var ErrScale = errors.New("operator is scaled out of range")

// Norms of products outside of this range are refused: the iterations work
// with products of two of them.
const minNorm, maxNorm = 1e-140, 1e140

// mayPass returns NotTerminated if there may be one more pass besides the
// reserved ones, and why not otherwise.
func (r *run) mayPass(reserve int) Status {
	switch {
	case r.ctx.Err() != nil:
		return r.cancelled()
	case r.s.MaxPasses > 0 && r.stats.Passes+1+reserve > r.s.MaxPasses:
		return PassLimit
	case !r.s.Deadline.IsZero() && !r.s.Clock().Before(r.s.Deadline):
		return TimeLimit
	}
	return NotTerminated
}

func (r *run) cancelled() Status {
	r.cut = true
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return TimeLimit
	}
	return Cancelled
}

// fault turns the error of a pass into a status if it is that of the context.
func (r *run) fault(err error) (Status, error) {
	if cause := r.ctx.Err(); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Cause(r.ctx))) {
		return r.cancelled(), nil
	}
	return NotTerminated, err
}

// pass runs and counts one pass that multiplies l vectors by G and writes that number of
// columns where the arena has them.
func (r *run) pass(f func() error, l, written int) error {
	t := time.Now()
	err := tallskinny.UntilEnd(f)
	r.passes += time.Since(t)
	if err == nil && r.s.Space != nil {
		err = r.s.Space.Err()
	}
	if err != nil {
		return fmt.Errorf("pass %d: %w", r.stats.Passes+1, err)
	}
	r.arena.Moved(r.n, l, written)
	r.stats.Passes++
	r.stats.Products += int64(l)
	return nil
}

// scale refuses numbers that cannot be worked with and keeps track of λ₁.
func (r *run) scale(c method.RitzPair) error {
	size := math.Hypot(c.Value, c.Residual)
	switch {
	case math.IsNaN(size) || size > maxNorm:
		return fmt.Errorf("product of pass %d has norm %.3g, above %g: %w", r.stats.Passes, size, maxNorm, ErrScale)
	case size > 0 && size < minNorm && r.lambda1 == 0:
		return fmt.Errorf("product of pass %d has norm %.3g, below %g: %w", r.stats.Passes, size, minNorm, ErrScale)
	}
	r.lambda1 = max(r.lambda1, size)
	return nil
}

// cost returns the costs so far.
func (r *run) cost() Stats {
	s, total := r.stats, time.Since(r.began)
	s.Total += total
	s.VectorsRead += r.arena.Read.Load()
	s.VectorsWritten += r.arena.Written.Load()
	s.Finish += r.finish
	s.Checkpoint += r.saving
	s.Orthogonalise += max(0, total-r.finish-r.saving-(r.passes-r.inPass))
	if m, ok := matrixOf(r.op).(*metered); ok {
		s.BytesRead += m.cost.BytesRead
		s.Multiply += m.cost.Multiply
		s.Wait += m.cost.Wait
	} else {
		s.Multiply += r.passes
	}
	return s
}

// finishing runs f as part of finishing.
func (r *run) finishing(f func() error) error {
	t, p := time.Now(), r.passes
	err := f()
	r.finish += time.Since(t)
	r.inPass += r.passes - p
	return err
}
