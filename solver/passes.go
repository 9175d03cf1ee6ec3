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

// maxRounds bounds how often SVD goes on after a certificate that missed the
// tolerance.
const maxRounds = 6

// passes makes the passes of a run and counts what they cost. It says when a run stops: at a
// limit, when its context ends, when its numbers leave the range, or when certificates no
// longer improve. (That all has been found is said by run.missing and package judge.)
type passes struct {
	ctx      context.Context
	arena    *tallskinny.Arena
	most     int       // Settings.MaxPasses
	deadline time.Time // Settings.Deadline
	clock    func() time.Time
	space    Space
	meter    *metered // adds up what the matrix says, nil for an operator of no matrix

	cut   bool // the context has ended: there will be no other pass
	round rounds

	began  time.Time
	wall   time.Duration // of all passes
	finish time.Duration // wall time of finishing
	inPass time.Duration // that part of wall which belongs to finishing
	saving time.Duration // wall time of writing checkpoints
	stats  Stats         // counts; and the costs of the runs that this one continues
}

// rounds are the certificates that have sent the search on.
type rounds struct {
	count int
	worst float64 // largest residual of the last of them
}

func newPasses(ctx context.Context, arena *tallskinny.Arena, op Operator, s Settings) passes {
	p := passes{
		ctx: ctx, arena: arena, most: s.MaxPasses, deadline: s.Deadline, clock: s.Clock, space: s.Space, began: time.Now(),
	}
	p.meter, _ = matrixOf(op).(*metered)
	return p
}

// may returns NotTerminated if there may be one more pass besides the
// reserved ones, and why not otherwise.
func (p *passes) may(reserve int) Status {
	switch {
	case p.ctx.Err() != nil:
		return p.cancelled()
	case p.most > 0 && p.stats.Passes+1+reserve > p.most:
		return PassLimit
	case !p.deadline.IsZero() && !p.clock().Before(p.deadline):
		return TimeLimit
	}
	return NotTerminated
}

func (p *passes) cancelled() Status {
	p.cut = true
	if errors.Is(p.ctx.Err(), context.DeadlineExceeded) {
		return TimeLimit
	}
	return Cancelled
}

// fault turns the error of a pass into a status if it is that of the context.
func (p *passes) fault(err error) (Status, error) {
	if cause := p.ctx.Err(); cause != nil && (errors.Is(err, cause) || errors.Is(err, context.Cause(p.ctx))) {
		return p.cancelled(), nil
	}
	return NotTerminated, err
}

// make runs and counts one pass that multiplies l vectors of length n by G and writes that
// number of columns where the arena has them.
func (p *passes) make(f func() error, n, l, written int) error {
	t := time.Now()
	err := tallskinny.UntilEnd(f)
	p.wall += time.Since(t)
	if err == nil && p.space != nil {
		err = p.space.Err()
	}
	if err != nil {
		return fmt.Errorf("pass %d: %w", p.stats.Passes+1, err)
	}
	p.arena.Moved(n, l, written)
	p.stats.Passes++
	p.stats.Products += int64(l)
	return nil
}

// inRange returns the norm of the product of a Ritz pair, and refuses numbers that cannot be
// worked with, if known is the largest norm before.
func (p *passes) inRange(c method.RitzPair, known float64) (float64, error) {
	size := math.Hypot(c.Value, c.Residual)
	switch {
	case math.IsNaN(size) || size > maxNorm:
		return 0, fmt.Errorf("product of pass %d has norm %.3g, above %g: %w", p.stats.Passes, size, maxNorm, ErrScale)
	case size > 0 && size < minNorm && known == 0:
		return 0, fmt.Errorf("product of pass %d has norm %.3g, below %g: %w", p.stats.Passes, size, minNorm, ErrScale)
	}
	return size, nil
}

// another reports whether the search may go on after a certificate whose largest residual is
// worst: the last round has at least halved it.
func (r *rounds) another(worst float64) bool {
	if r.count == maxRounds {
		return false
	}
	improved := r.worst == 0 || worst <= r.worst/2
	r.worst = worst
	return improved
}

func (p *passes) cost() Stats {
	s, total := p.stats, time.Since(p.began)
	s.Total += total
	s.VectorsRead += p.arena.Read.Load()
	s.VectorsWritten += p.arena.Written.Load()
	s.Finish += p.finish
	s.Checkpoint += p.saving
	s.Orthogonalise += max(0, total-p.finish-p.saving-(p.wall-p.inPass))
	if p.meter != nil {
		s.BytesRead += p.meter.cost.BytesRead
		s.Multiply += p.meter.cost.Multiply
		s.Wait += p.meter.cost.Wait
	} else {
		s.Multiply += p.wall
	}
	return s
}

func (p *passes) finishing(f func() error) error {
	t, before := time.Now(), p.wall
	err := f()
	p.finish += time.Since(t)
	p.inPass += p.wall - before
	return err
}
