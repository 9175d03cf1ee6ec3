package solver

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/certificate"
	"github.com/gdsvd/gdsvd/solver/internal/deflation"
	"github.com/gdsvd/gdsvd/solver/internal/judge"
	"github.com/gdsvd/gdsvd/solver/internal/tallskinny"
	"github.com/gdsvd/gdsvd/solver/method"
)

// safety is how much better than the tolerance a vector has to look to the
// deflated operator, so that the certificate passes the first time.
const safety = 0.5

// blockSafety is the same for vectors that are accepted together before any
// other: no deflation has hidden anything, what is seen is true.
const blockSafety = 0.9

// run is the state of the search for the leading eigenvectors of an operator.
// It owns passes, limits, deflation, locking, cancellation, and the observer.
type run struct {
	ctx   context.Context
	arena *tallskinny.Arena
	s     Settings
	about method.Traits // of Settings.Method
	asked Deflation     // Settings.Deflation: that in s may change
	op    Operator
	shape string // of the problem, for checkpoints
	n     int

	deflated Operator
	linear   bool // eigenvalues of the operator are σ, not σ²
	locked   *tallskinny.Basis
	values   []float64 // eigenvalues of the locked vectors
	seen     []float64 // their residuals relative to σ₁ as seen when locked
	nulls    int       // locked vectors at the end whose λ is roundoff
	noise    float64   // bound on the negative eigenvalues plain deflation makes
	lambda1  float64   // largest ‖Gv‖ of a unit vector seen
	stalled  bool      // a vector was locked that will never meet the paper's rule

	tol    float64           // internal tolerance
	warm   [][]float64       // start vectors still to be used
	given  bool              // those of Settings.Init, not looked at yet
	told   bool              // where to search was given: what is found may not be leading
	taken  int               // given vectors in the start block of rec
	starts uint64            // recurrences started
	rec    method.Recurrence // the one at work, nil between two
	doubt  bool              // more copies of a value may be hidden from it
	first  int               // vectors that were locked when it was started
	pairs  []method.RitzPair // what it reported last
	judge  judge.Judge       // of rec

	scouting bool    // rec is a scout
	outside  lookout // what is known about values beyond those found

	round     int     // certificates that sent the search on
	lastWorst float64 // largest residual of the last of them
	cert      *certificate.Certificate
	cut       bool // the context has ended: there will be no other pass
	mark      mark // at the last point the run can go on from
	saved     int  // passes at the last checkpoint

	began  time.Time
	passes time.Duration // wall time of all passes
	finish time.Duration // wall time of finishing
	inPass time.Duration // that part of passes which belongs to finishing
	saving time.Duration // wall time of writing checkpoints
	stats  Stats         // counts; and the costs of the runs that this one continues
}

// newRun returns a run on op that has not begun.
func newRun(ctx context.Context, arena *tallskinny.Arena, op Operator, shape string, s Settings) *run {
	n := op.Dim()
	r := &run{
		ctx: ctx, arena: arena, s: s, about: s.Method.Traits(s.Rank), asked: s.Deflation, op: op, shape: shape, n: n,
		locked: arena.NewBasis(n, s.Rank),
		values: make([]float64, 0, s.Rank),
		seen:   make([]float64, 0, s.Rank),
		tol:    s.Tol,
		began:  time.Now(),
	}
	if s.Stop == StopResidual {
		r.tol *= safety
	}
	switch op := op.(type) {
	case *dilated:
		r.linear, r.locked.Cut = true, op.long()
	case *symmetric:
		r.linear = true
	}
	if s.Between != nil {
		arena.Told, arena.Watch = r.began, func() { s.Between(r.cost()) }
	}
	r.deflate(s.Deflation)
	return r
}

// begin takes up the run that Settings.Resume has kept, or the vectors of Settings.Init.
func (r *run) begin() error {
	s := r.s
	if s.Resume != nil {
		return r.resume(s.Resume)
	}
	if s.Init != nil {
		_, given := s.Init.Dims()
		useful := s.Rank
		if r.about.Copies == 0 {
			useful = max(useful, r.about.Width(s.Rank)-few(s.Rank))
		}
		for j := range min(given, useful) {
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
			r.warm = append(r.warm, x)
		}
		r.given, r.told, r.s.Init = true, s.Stop == StopResidual, nil // its memory is not needed any more
	}
	return nil
}

// deflate chooses the operator the recurrences see.
func (r *run) deflate(rule Deflation) {
	r.deflated = &deflation.Deflated{Operator: r.op, V: r.locked, Values: r.values[:cap(r.values)], Plain: rule == Plain}
}

// find runs recurrences until all vectors are locked. reserve is the number of
// passes that must be left for what comes after. The status is Converged if
// all are locked, Stagnated if some of them will never meet the paper's rule;
// the error is for faults only.
func (r *run) find(reserve func() int) (Status, error) {
	// A recurrence that is at work although all are locked was confirming that.
	for !r.enough() || r.doubt || r.rec != nil && !r.scouting {
		if st, err := r.findNext(reserve); st != Converged || err != nil {
			return st, err
		}
	}
	if err := r.boundary(); err != nil {
		return NotTerminated, err
	}
	if r.stalled {
		return Stagnated, nil
	}
	return Converged, nil
}

// findNext runs one recurrence to its end, locking what it finds; if a
// checkpoint has brought one back, that one.
func (r *run) findNext(reserve func() int) (Status, error) {
	confirming := r.enough()
	if r.rec == nil {
		if confirming {
			r.warm = nil // random vectors only
		}
		z, warm := r.start()
		r.rec, r.pairs, r.first = r.s.Method.New(r.terms()), nil, r.locked.Len
		r.rec.Start(z)
		r.judge = r.newJudge(warm)
	}
	r.rec.Avoid(r.locked)
	if !confirming && r.s.Stop == StopResidual {
		r.rec.Aim(func(pairs []method.RitzPair) float64 {
			if r.s.Energy > 0 {
				pairs = pairs[:min(len(pairs), r.missing(pairs))]
			}
			worst := 0.0
			for _, c := range pairs {
				worst = max(worst, r.relative(c))
			}
			return worst / r.tol
		})
	}
	var y *mat.Dense
	defer func() { r.arena.Free(y) }()
	for {
		pairs, st, err := r.step(&y, reserve)
		if pairs == nil {
			return st, err
		}
		index, lead := min(r.locked.Len, r.s.Rank-1), pairs[0]
		if err := r.scale(lead); err != nil {
			return Breakdown, err
		}
		r.pairs = pairs
		open, worst := r.outlook(pairs)
		wanted := r.locked.Len + r.missing(pairs)
		var accepted int
		var over bool
		if confirming {
			over, r.doubt = r.checkMultiplicity(pairs)
		} else {
			accepted, over = r.accept(&r.judge, pairs)
			if r.doubt = r.enough() && r.doubtful(); r.doubt {
				r.outside = lookout{} // of copies it knows nothing
			}
		}
		e := r.event(PhaseIterate, index, lead)
		e.Rank, e.Open, e.Worst = wanted, open, worst
		if confirming {
			e.Phase = PhaseConfirm
			e.Worst, e.Goal = r.uncertain(lead)
		}
		e.More = r.doubt || !over && confirming || r.enough() && r.told && !r.evident(slices.Min(r.values))
		if err := r.observe(e); err != nil {
			return NotTerminated, err
		}
		if over || accepted > 0 && (r.enough() || !r.rec.Lock(accepted)) {
			r.release()
			return Converged, nil
		}
		if accepted > 0 {
			r.judge = r.newJudge(r.judge.Warm)
		}
	}
}

// newJudge returns the judge of a recurrence. The tolerance of the paper's rule for values
// is that of A, not of the 2^−e·A that the run sees.
func (r *run) newJudge(warm bool) judge.Judge {
	e := int(scaleOf(r.op))
	if !r.linear {
		e *= 2
	}
	return judge.Judge{Paper: r.s.Stop == StopPaper, Tol: r.tol, Exponent: e, Linear: r.linear, Warm: warm}
}

// terms are what the next recurrence is told.
func (r *run) terms() method.Run {
	return method.Run{
		Arena: r.arena, Rank: r.s.Rank, Paper: r.s.Stop == StopPaper,
		Indefinite: r.s.Operator == Dilation, Given: r.told && r.starts == 1,
	}
}

// step makes a pass with the recurrence at work and returns what that reports; y is a block
// to be used again. Without a report the search ends, with the status or the error.
func (r *run) step(y **mat.Dense, reserve func() int) (pairs []method.RitzPair, st Status, err error) {
	if err := r.boundary(); err != nil {
		return nil, NotTerminated, err
	}
	if st := r.mayPass(reserve()); st != NotTerminated {
		return nil, st, r.save()
	}
	if *y, err = r.product(*y, r.rec.Next()); err != nil {
		st, err = r.abandon(err)
		return nil, st, err
	}
	guarded := r.about.Guarded && !r.scouting
	finite := guarded || r.arena.Finite(*y) // which costs a loop over y
	if finite {
		pairs = r.rec.Absorb(*y)
		finite = !guarded || !math.IsInf(pairs[0].Value, 1) || r.arena.Finite(*y)
	}
	if !finite {
		return nil, Breakdown, fmt.Errorf("product of pass %d is not finite: %w", r.stats.Passes, ErrBreakdown)
	}
	return pairs, NotTerminated, nil
}

// product returns the product with x of the deflated operator, in y if y, that of an
// earlier pass, has the shape of x. The block is the matrix's own where it lends one.
func (r *run) product(y, x *mat.Dense) (*mat.Dense, error) {
	n, l := x.Dims()
	g, ok := r.op.(gram)
	written := l
	switch {
	case ok && g.a.Info().lends(l):
		y, written = &mat.Dense{}, 0
	case y == nil || tallskinny.Width(y) != l:
		r.arena.Free(y)
		y = r.arena.Dense(n, l)
	}
	return y, r.pass(func() error { return r.deflated.Apply(r.ctx, y, x) }, l, written)
}

// release gives the blocks of the recurrence back and forgets it.
func (r *run) release() {
	if r.s.Space != nil && r.rec != nil {
		r.rec.Free()
	}
	r.rec, r.pairs = nil, nil
}
