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

// ErrScale is wrapped by the error of a run if the numbers of its Operator, or of a Matrix whose Exponent does
// not prevent that, are so large or so small that their squares leave the range of a float64.
var ErrScale = errors.New("operator is scaled out of range")

// Norms of products outside of this range are refused: the iterations multiply
// two of them.
const minNorm, maxNorm = 1e-140, 1e140

// maxRounds bounds how often SVD goes on after a certificate that missed the
// tolerance.
const maxRounds = 6

// passes makes the passes of a run and adds up their costs. It says when a run stops: at a limit, when its
// context ends, when its numbers leave the range, or when certificates no longer improve. (run.missing and
// package judge say when everything is found.)
type passes struct {
	ctx      context.Context
	arena    *tallskinny.Arena
	most     int       // Settings.MaxPasses
	deadline time.Time // Settings.Deadline
	clock    func() time.Time
	space    Space
	meter    *metered // adds up the costs that the matrix reports; nil for an operator without a matrix

	cut   bool // the context has ended: there will be no other pass
	round rounds

	began  time.Time
	wall   time.Duration // of all passes
	finish time.Duration // wall time of finishing
	inPass time.Duration // part of wall that belongs to finishing
	saving time.Duration // wall time of writing checkpoints
	stats  Stats         // counts; and the costs of the runs that this one continues
}

// rounds describes the certificates after which the search went on.
type rounds struct {
	count int
	worst float64 // largest residual of the last of these certificates; 0: none
}

func newPasses(ctx context.Context, arena *tallskinny.Arena, op Operator, s Settings) passes {
	p := passes{
		ctx: ctx, arena: arena, most: s.MaxPasses, deadline: s.Deadline, clock: s.Clock, space: s.Space, began: time.Now(),
	}
	p.meter, _ = matrixOf(op).(*metered)
	return p
}

// may returns NotTerminated if one more pass besides the reserved ones is allowed, and otherwise the status that
// says why not.
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

// make runs and counts one pass f, which multiplies l vectors of length n by G and writes the given number of
// columns to blocks of the arena.
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

// inRange returns the norm of the product of a Ritz pair. It returns an error that wraps ErrScale if the norm is
// too large, or if it is too small and known, the largest norm before, is 0.
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

// another reports whether the search may go on after a certificate whose largest residual is worst: rounds are
// left, and the last round has at least halved the residual.
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

// safety is the share of the tolerance that a residual seen by the deflated operator must reach, so that the
// first certificate passes.
const safety = 0.5

// run is a search for the leading eigenvectors of an operator. Three of its fields own a part of the state each:
// found the pairs found, passes the costs and the limits of passes, outside the bounds on eigenvalues not found.
type run struct {
	s     Settings
	about method.Traits // of Settings.Method
	asked Deflation     // Settings.Deflation as asked for; s.Deflation may change
	op    Operator
	shape string // description of the problem, for checkpoints
	key   uint64 // seed of all random numbers
	n     int
	arena *tallskinny.Arena

	found   *found.Pairs
	passes  passes
	outside outside.Watch

	deflated deflation.Deflated // op deflated by the pairs found
	starts   starts
	work     work
	cert     *certificate.Certificate // the last one; nil before the first
	saves    saves
}

// work is the recurrence at work.
type work struct {
	rec   method.Recurrence // nil between two recurrences
	block outside.Block     // describes the start block of rec
	pairs []method.RitzPair // Ritz pairs that rec reported last
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
	if r.about.Copies > 0 { // the recurrence of a growing space holds in the complement of the vectors found only
		r.asked, r.s.Deflation = Projected, Projected
	}
	r.deflated = deflation.Deflated{Operator: op, Found: r.found, Plain: r.s.Deflation == Plain}
	if s.Between != nil {
		arena.Told, arena.Watch = r.passes.began, func() { s.Between(r.passes.cost()) }
	}
	return r
}

// begin restores the run saved in Settings.Resume, or takes up the vectors of Settings.Init. given reports
// whether start vectors are given under StopResidual.
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

// step makes a pass with the recurrence at work and returns the Ritz pairs that it reports. *y is the block for
// the product, reused between steps. If pairs is nil the search ends, with the status or the error.
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

// product returns the product of the deflated operator with x. It is stored in y, the product of an earlier pass,
// if y has the shape of x.
func (r *run) product(y, x *mat.Dense) (*mat.Dense, error) {
	n, l := x.Dims()
	if y == nil || tallskinny.Width(y) != l {
		r.arena.Free(y)
		y = r.arena.Dense(n, l)
	}
	return y, r.passes.make(func() error { return r.deflated.Apply(r.passes.ctx, y, x) }, n, l, l)
}

// release frees the blocks of the recurrence at work and drops the recurrence.
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

// starts holds the start vectors still to be used.
type starts struct {
	warm  [][]float64 // given vectors not used yet
	drawn uint64      // number of start blocks drawn so far
}
