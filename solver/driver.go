package solver

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/gdsvd/gdsvd/solver/internal/place"
)

// ErrScale is returned when the numbers of the operator are so large or so
// small that their squares leave the range of a float64.
var ErrScale = errors.New("operator is scaled out of range")

// Norms of products outside of this range are refused: the iterations work
// with products of two of them.
const minNorm, maxNorm = 1e-140, 1e140

// safety is how much better than the tolerance a vector has to look to the
// deflated operator, so that the certificate passes the first time.
const safety = 0.5

// jointSafety is the same for vectors that are accepted together before any
// other: no deflation has hidden anything, what is seen is true.
const jointSafety = 0.9

// run is the state of the search for the leading eigenvectors of an operator.
// It owns passes, limits, deflation, locking, cancellation, and the observer.
type run struct {
	ctx   context.Context
	s     Settings
	asked Deflation // Settings.Deflation: that in s may change
	op    Operator
	shape string // of the problem, for checkpoints
	n     int

	deflated Operator
	linear   bool // eigenvalues of the operator are σ, not σ²
	locked   *basis
	values   []float64 // eigenvalues of the locked vectors
	seen     []float64 // their residuals relative to σ₁ as seen when locked
	nulls    int       // locked vectors at the end whose λ is roundoff
	noise    float64   // bound on the negative eigenvalues plain deflation makes
	lambda1  float64   // largest ‖Gv‖ of a unit vector seen
	stalled  bool      // a vector was locked that will never meet the paper's rule

	tol    float64     // internal tolerance
	warm   [][]float64 // start vectors still to be used
	given  bool        // those of Settings.Init, not looked at yet
	starts uint64      // recurrences started
	rec    Recurrence  // the one at work, nil between two
	doubt  bool        // more copies of a value may be hidden from it
	first  int         // vectors that were locked when it was started
	cands  []Candidate // what it reported last
	judge  judge       // of rec

	round     int     // certificates that sent the search on
	lastWorst float64 // largest residual of the last of them
	cert      *certificate
	cut       bool // the context has ended: there will be no other pass
	mark      mark // at the last point the run can go on from
	saved     int  // passes at the last checkpoint

	begin  time.Time
	passes time.Duration // wall time of all passes
	finish time.Duration // wall time of finishing
	inPass time.Duration // that part of passes which belongs to finishing
	saving time.Duration // wall time of writing checkpoints
	base   usage         // of the Meter at the beginning
	stats  Stats         // counts; and the costs of the runs that this one continues
}

type usage struct {
	bytes          int64
	multiply, wait time.Duration
}

// newRun begins a run on op, or takes up the one that Settings.Resume has kept.
func newRun(ctx context.Context, op Operator, shape string, s Settings) (*run, error) {
	n := op.Dim()
	r := &run{
		ctx: ctx, s: s, asked: s.Deflation, op: op, shape: shape, n: n,
		locked: newBasis(s.Space, n, s.Rank),
		values: make([]float64, 0, s.Rank),
		seen:   make([]float64, 0, s.Rank),
		tol:    s.Tol,
		begin:  time.Now(),
	}
	if s.Stop == StopResidual {
		r.tol *= safety
	}
	switch op := op.(type) {
	case *dilated:
		r.linear, r.locked.cut = true, op.long()
	case *symmetric:
		r.linear = true
	}
	r.base = r.usage()
	r.deflate(s.Deflation)
	if s.Resume != nil {
		return r, r.resume(s.Resume)
	}
	if s.Init != nil {
		_, given := s.Init.Dims()
		for j := range min(given, max(s.Rank, s.Method.Width(s.Rank))) {
			x := column(r.dense(n, 1)) // zeros where Init has fewer rows
			init := s.Init.RawMatrix()
			eachTile(init.Rows, func(from, to int) {
				for i := from; i < to; i++ {
					x[i] = init.Data[i*init.Stride+j]
				}
				if s.Space != nil {
					s.Space.Drop(init.Data[from*init.Stride : (to-1)*init.Stride+init.Cols])
				}
			})
			r.warm = append(r.warm, x)
		}
		r.given, r.s.Init = true, nil // its memory is not needed any more
	}
	return r, nil
}

// deflate chooses the operator the recurrences see.
func (r *run) deflate(d Deflation) {
	if h, ok := r.op.(*dilated); ok {
		r.deflated = &deflatedDilation{op: h, w: r.locked, values: r.values[:cap(r.values)], rule: d}
		return
	}
	if d == Plain {
		r.deflated = &plain{op: r.op, v: r.locked, values: r.values[:cap(r.values)]}
		return
	}
	r.deflated = &projected{op: r.op, v: r.locked}
}

// find runs recurrences until all vectors are locked. reserve is the number of
// passes that must be left for what comes after. The status is Converged if
// all are locked, Stagnated if some of them will never meet the paper's rule;
// the error is for faults only.
func (r *run) find(reserve func() int) (Status, error) {
	// A recurrence that is at work although all are locked was confirming that.
	for r.locked.len < r.s.Rank || r.doubt || r.rec != nil {
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
	confirming := r.locked.len == r.s.Rank
	if r.rec == nil {
		if confirming {
			r.warm = nil // random vectors only
		}
		z, warm := r.start()
		r.rec, r.cands, r.first = r.s.Method.Start(z, r.s.Stop), nil, r.locked.len
		r.judge = newJudge(r.s.Stop, r.tol, r.linear, warm)
	}
	if a, ok := r.rec.(avoider); ok {
		a.avoid(r.locked)
	}
	if a, ok := r.rec.(aimer); ok && !confirming && r.s.Stop == StopResidual {
		a.aim(func(c Candidate) float64 { return r.relative(c) / r.tol })
	}
	var y *mat.Dense
	defer func() { free(y) }()
	for {
		if err := r.boundary(); err != nil {
			return NotTerminated, err
		}
		if st := r.mayPass(reserve()); st != NotTerminated {
			return st, r.save()
		}
		x := r.rec.Next()
		y = r.like(y, x)
		if err := r.pass(func() error { return r.deflated.Apply(r.ctx, y, x) }, width(x)); err != nil {
			return r.abandon(err)
		}
		if !finite(y) {
			return Breakdown, fmt.Errorf("product of pass %d is not finite: %w", r.stats.Passes, ErrBreakdown)
		}
		cands := r.rec.Absorb(y)
		index, lead := min(r.locked.len, r.s.Rank-1), cands[0]
		if err := r.scale(lead); err != nil {
			return Breakdown, err
		}
		r.cands = cands
		open, worst := r.outlook(cands)
		var accepted int
		var over bool
		if confirming {
			over, r.doubt = r.confirm(cands)
		} else {
			accepted, over = r.accept(&r.judge, cands)
			r.doubt = r.locked.len == r.s.Rank && r.doubtful()
		}
		e := r.event(PhaseIterate, index, lead)
		e.Open, e.Worst = open, worst
		if err := r.observe(e); err != nil {
			return NotTerminated, err
		}
		if over || accepted > 0 && (r.locked.len == r.s.Rank || !r.rec.Lock(accepted)) {
			r.release()
			return Converged, nil
		}
		if accepted > 0 {
			r.judge = newJudge(r.s.Stop, r.tol, r.linear, r.judge.warm)
		}
	}
}

func width(x *mat.Dense) int { _, l := x.Dims(); return l }

// like returns y if it has the shape of x, or else a new block that has.
func (r *run) like(y, x *mat.Dense) *mat.Dense {
	if n, l := x.Dims(); y == nil || width(y) != l {
		free(y)
		y = r.dense(n, l)
	}
	return y
}

// accept decides about the candidates of a pass jointly: those that are wanted
// are locked, in order, when the last of them is good enough. Waiting for it
// costs no pass that would not be needed anyway, every pass improves the others
// too, and what is locked together has been rotated together. Candidates whose
// values are roundoff end the list. If nothing is left to be found accept locks
// an arbitrary completion, provided that the recurrence is fresh: what one that
// has gone on after a lock does not see may still be there. If a given start
// vector turns out to lie in the null space it asks for another.
func (r *run) accept(j *judge, cands []Candidate) (accepted int, restart bool) {
	j.products++
	if j.tol = r.tol; r.locked.len == 0 && len(cands) > 1 && r.s.Stop == StopResidual {
		j.tol *= jointSafety / safety
	}
	verdicts := make([]verdict, 0, min(len(cands), r.s.Rank-r.locked.len))
	null, wait := false, false
	for i := range cap(verdicts) {
		v := j.verdict(i, cands[i], r.lambda1, r.noise)
		if null = v == nothing; null {
			break
		}
		wait = wait || v == goOn
		verdicts = append(verdicts, v)
	}
	if wait {
		return 0, false
	}
	for _, v := range verdicts {
		r.stalled = r.stalled || v == floor && r.s.Stop == StopPaper
	}
	r.lockAll(cands, verdicts)
	if null && r.locked.len == r.first && !j.warm {
		r.complete()
	}
	return len(verdicts), null
}

// lock makes the vector in the next place of the basis a found one. The value
// the paper computes is one only where its rule has been met.
func (r *run) lock(c Candidate, v verdict) {
	x := r.locked.next()
	value := c.Value
	if r.s.Stop == StopPaper && v == found {
		value = c.PaperValue
	}
	if r.s.Deflation == Plain {
		r.locked.normalise(x)
		r.noise += c.Residual + math.Abs(value-c.Value)
	} else if !r.locked.orthonormalise(x) {
		r.locked.random(x, r.s.Seed, streamRight|uint64(r.locked.len))
	}
	r.push(value, r.relative(c))
}

func (r *run) push(value, seen float64) {
	r.values = append(r.values, value)
	r.seen = append(r.seen, seen)
	r.locked.push()
}

// complete fills the basis with random vectors orthogonal to it: what is left
// of the operator is zero to working precision, so any will do.
func (r *run) complete() {
	for r.locked.len < r.s.Rank {
		r.locked.random(r.locked.next(), r.s.Seed, streamRight|uint64(r.locked.len))
		r.push(0, 0)
		r.nulls++
	}
}

// start returns the next start block, of unit columns. warm says that all of
// them were given.
func (r *run) start() (z *mat.Dense, warm bool) {
	l := r.startWidth()
	z = r.dense(r.n, l)
	Gaussian(z, 0, r.s.Seed, streamStart|r.starts)
	r.starts++
	warm = true
	block, x := z.RawMatrix(), column(r.dense(r.n, 1))
	defer place.Free(x)
	for j := range l {
		if !r.takeWarm(x) {
			warm = false
			columnOf(x, block, j)
			r.prepare(x, streamStart|1<<31|r.starts)
		}
		setColumn(block, j, x)
	}
	return z, warm
}

// takeWarm stores the next usable given vector in x.
func (r *run) takeWarm(x []float64) bool {
	for len(r.warm) > 0 {
		copyVector(x, r.warm[0])
		place.Free(r.warm[0])
		r.warm[0], r.warm = nil, r.warm[1:] // its memory is free
		if norm2(x) > 0 && r.locked.orthonormalise(x) {
			return true
		}
	}
	return false
}

// prepare makes a random vector a start vector. Algorithms 1 and 2 start from
// any unit vector; the projected operator wants one in its domain.
func (r *run) prepare(x []float64, stream uint64) {
	if r.s.Deflation == Plain {
		r.locked.normalise(x)
	} else if !r.locked.orthonormalise(x) {
		r.locked.random(x, r.s.Seed, stream)
	}
}

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

// pass runs and counts one pass that multiplies l vectors by G.
func (r *run) pass(f func() error, l int) error {
	t := time.Now()
	err := f()
	r.passes += time.Since(t)
	if err == nil && r.s.Space != nil {
		err = r.s.Space.Err()
	}
	if err != nil {
		return fmt.Errorf("pass %d: %w", r.stats.Passes+1, err)
	}
	r.stats.Passes++
	r.stats.Products += int64(l)
	return nil
}

// finite reports whether all entries of a block that owns its storage are. The
// sum of a NaN or an infinity with anything is not.
func finite(y *mat.Dense) bool {
	g := y.RawMatrix()
	var s sums
	s.reset(g.Rows, 1, 1)
	eachChunk(g.Rows, func(seg, first, rows int) {
		s.of(seg).Data[0] += floats.Sum(g.Data[first*g.Cols : (first+rows)*g.Cols])
	})
	return allFinite(s.total().Data)
}

// scale refuses numbers that cannot be worked with and keeps track of λ₁.
func (r *run) scale(c Candidate) error {
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

func (r *run) event(phase string, triplet int, c Candidate) Event {
	return Event{
		Phase: phase, Pass: r.stats.Passes, Triplet: triplet, Locked: r.locked.len, Rank: r.s.Rank,
		Sigma: r.sigma(c.Value), Residual: r.relative(c), Tol: r.s.Tol, Stats: r.cost(),
	}
}

// outlook is Event.Open and Event.Worst of a pass that has these candidates.
func (r *run) outlook(cands []Candidate) (open int, worst float64) {
	missing := r.s.Rank - r.locked.len
	open = min(len(cands), missing)
	if _, ok := r.s.Method.(oneSpace); ok {
		open = missing // the space grows until it has them all
	}
	if open > len(cands) {
		return open, 1
	}
	for _, c := range cands[:open] {
		worst = max(worst, r.relative(c))
	}
	return open, min(worst, 1)
}

// sigma returns the singular value that belongs to an eigenvalue.
func (r *run) sigma(value float64) float64 {
	if r.linear {
		return max(value, 0)
	}
	return math.Sqrt(max(value, 0))
}

// eigenvalue is the inverse of sigma.
func (r *run) eigenvalue(sigma float64) float64 {
	if r.linear {
		return sigma
	}
	return sigma * sigma
}

// relative returns the residual of the triplet that belongs to a candidate,
// relative to σ₁.
func (r *run) relative(c Candidate) float64 {
	if r.linear {
		return relativeLinear(c, r.lambda1)
	}
	return relative(c, r.lambda1)
}

func (r *run) observe(e Event) error {
	if err := r.s.Observer.Observe(e); err != nil {
		return fmt.Errorf("observe pass %d: %w", e.Pass, err)
	}
	return nil
}

// meter returns the Meter of the operator, nil if it has none.
func (r *run) meter() Meter {
	op := r.op
	if w, ok := op.(interface{ matrix() Matrix }); ok {
		op = w.matrix()
	}
	m, _ := op.(Meter)
	return m
}

func (r *run) usage() usage {
	if m := r.meter(); m != nil {
		b, mul, wait := m.Usage()
		return usage{b, mul, wait}
	}
	return usage{}
}

// cost returns the costs so far.
func (r *run) cost() Stats {
	s, total := r.stats, time.Since(r.begin)
	s.Total += total
	s.Finish += r.finish
	s.Checkpoint += r.saving
	s.Orthogonalise += max(0, total-r.finish-r.saving-(r.passes-r.inPass))
	if r.meter() == nil {
		s.Multiply += r.passes
		return s
	}
	u := r.usage()
	s.BytesRead += u.bytes - r.base.bytes
	s.Multiply += u.multiply - r.base.multiply
	s.Wait += u.wait - r.base.wait
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

// estimates completes the basis with what the interrupted recurrence had, then
// with given start vectors not used yet, then with random ones, so that it has
// k orthonormal vectors, and returns how many of them mean something. The run
// cannot iterate after that.
func (r *run) estimates() int {
	known := r.locked.len
	for j, c := range r.cands {
		if r.locked.len == r.s.Rank {
			break
		}
		x := r.locked.next()
		r.rec.Vector(x, j)
		if r.locked.orthonormalise(x) {
			r.push(c.Value, r.relative(c))
			known++
		}
	}
	for r.locked.len < r.s.Rank && r.takeWarm(r.locked.next()) {
		r.push(0, 1)
	}
	for r.locked.len < r.s.Rank {
		r.locked.random(r.locked.next(), r.s.Seed, streamRight|uint64(r.locked.len))
		r.push(0, 1)
	}
	r.release()
	return known
}
