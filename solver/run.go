package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/deflation"
	"github.com/gdsvd/gdsvd/solver/internal/found"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/outside"
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

// safety is how much better than the tolerance a vector has to look to the
// deflated operator, so that the certificate passes the first time.
const safety = 0.5

// run is a search for the leading eigenvectors of an operator. What has been found, what passes
// cost and may still cost, and what is known about the outside have an owner each.
type run struct {
	s     Settings
	about method.Traits // of Settings.Method
	asked Deflation     // Settings.Deflation: that in s may change
	op    Operator
	shape string // of the problem, for checkpoints
	key   uint64 // of all random numbers
	n     int
	arena *tallskinny.Arena

	found   *found.Pairs
	passes  passes
	outside outside.Watch

	deflated deflation.Deflated // op without what has been found
	starts   starts
	work     work
	cert     *certificate.Certificate // the last one; nil before the first
	saves    saves
}

// work is the recurrence at work.
type work struct {
	rec   method.Recurrence // nil between two
	block outside.Block     // that it was started with
	pairs []method.RitzPair // what it reported last
	judge judge.Judge
}

func newRun(ctx context.Context, arena *tallskinny.Arena, op Operator, shape string, s Settings) *run {
	r := &run{
		arena: arena, s: s, about: s.Method.Traits(s.Rank), asked: s.Deflation, op: op, shape: shape, n: op.Dim(),
		key:    randomKey(s.Seed, infoOf(op).ID),
		passes: newPasses(ctx, arena, op, s),
	}
	r.found = found.New(arena, r.n, s.Rank, func(i int) (seed, stream uint64) { return r.key, streamRight | uint64(i) })
	r.found.Tol = s.Tol
	if s.Stop == StopResidual {
		r.found.Tol *= safety
	}
	switch op := op.(type) {
	case *dilated:
		r.found.Linear, r.found.Basis.Cut = true, op.long()
	case *symmetric:
		r.found.Linear = true
		if op.which.shifted() {
			r.found.Norm = &op.seen
		}
	}
	r.outside = outside.Watch{Found: r.found, Rank: s.Rank, Tol: s.Tol}
	if r.about.Copies > 0 { // the space of a recurrence of blocks is in the complement of what has been found, or it is no recurrence
		r.asked, r.s.Deflation = Projected, Projected
	}
	r.deflated = deflation.Deflated{Operator: op, Found: r.found, Plain: r.s.Deflation == Plain}
	if s.Between != nil {
		arena.Told, arena.Watch = r.passes.began, func() { s.Between(r.passes.cost()) }
	}
	return r
}

// begin takes up the run that Settings.Resume has kept, or the vectors of Settings.Init. It
// reports whether there are any of those.
func (r *run) begin() (given bool, err error) {
	s := r.s
	switch {
	case s.Resume != nil:
		return false, r.resume(s.Resume)
	case s.Init == nil:
		return false, nil
	}
	_, columns := s.Init.Dims()
	useful := s.Rank
	if r.about.Copies == 0 {
		useful = max(useful, r.about.Width(s.Rank)-outside.Few(s.Rank))
	}
	for j := range min(columns, useful) {
		x := tallskinny.Column(r.arena.Dense(r.n, 1)) // zeros where Init has fewer rows
		init := s.Init.RawMatrix()
		r.arena.EachTile(init.Rows, tallskinny.Reads(init).Writing(x), func(from, to int) {
			for i := from; i < to; i++ {
				x[i] = init.Data[i*init.Stride+j]
			}
			if s.Space != nil {
				s.Space.Evict(init.Data[from*init.Stride : (to-1)*init.Stride+init.Cols])
			}
		})
		r.starts.warm = append(r.starts.warm, x)
	}
	r.s.Init = nil // its memory is not needed any more
	r.outside.Wanted = s.Stop == StopResidual
	return r.outside.Wanted, nil
}

func (r *run) project() {
	if r.s.Deflation == Plain {
		r.found.Orthonormalise()
	}
	r.s.Deflation, r.deflated.Plain = Projected, false
}

// step makes a pass with the recurrence at work and returns what that reports; y is a block
// to be used again. Without a report the search ends, with the status or the error.
func (r *run) step(y **mat.Dense, reserve func() int) (pairs []method.RitzPair, st Status, err error) {
	if err := r.boundary(); err != nil {
		return nil, NotTerminated, err
	}
	if st := r.passes.may(reserve()); st != NotTerminated {
		return nil, st, r.save()
	}
	*y, err = r.product(*y, r.work.rec.Next())
	if err != nil {
		st, err = r.abandon(err)
		return nil, st, err
	}
	if !r.about.Guarded || r.work.block.Scout {
		if !r.arena.Finite(*y) { // which costs a loop over y
			return nil, Breakdown, r.notFinite()
		}
		return r.work.rec.Absorb(*y), NotTerminated, nil
	}
	pairs = r.work.rec.Absorb(*y)
	if math.IsInf(pairs[0].Value, 1) && !r.arena.Finite(*y) {
		return nil, Breakdown, r.notFinite()
	}
	return pairs, NotTerminated, nil
}

func (r *run) notFinite() error {
	return fmt.Errorf("product of pass %d is not finite: %w", r.passes.stats.Passes, ErrBreakdown)
}

// product returns the product with x of the deflated operator, in y if y, that of an
// earlier pass, has the shape of x.
func (r *run) product(y, x *mat.Dense) (*mat.Dense, error) {
	n, l := x.Dims()
	if y == nil || tallskinny.Width(y) != l {
		r.arena.Free(y)
		y = r.arena.Dense(n, l)
	}
	return y, r.passes.make(func() error { return r.deflated.Apply(r.passes.ctx, y, x) }, n, l, l)
}

// release gives the blocks of the recurrence back and forgets it.
func (r *run) release() {
	if r.s.Space != nil && r.work.rec != nil {
		r.work.rec.Free()
	}
	r.work = work{}
}

// factorisation is a run on a Matrix with its finishing passes.
type factorisation struct {
	*run
	a Matrix
}

// starts are the start vectors to come.
type starts struct {
	warm  [][]float64 // given ones that are still to be used
	drawn uint64      // start blocks so far
}
