// Package factor computes the leading singular triplets of a stored matrix into a directory, and opens and explains such
// directories.
//
// [Run] is a whole factorisation: it chooses the method, plans memory, finds the triplets with package solver, certifies them,
// saves checkpoints meanwhile and writes a [Result]. [Open] opens a result, [Explain] says how a run would go. [Complete] fits
// a matrix whose entries are missing where the store has none. Packages below this one do the rest: look shows the contents
// of a store or a view, check verifies the files of a result and measures its triplets on the matrix again, and recommend,
// foldin, export and others use a result. The command gdsvd consists of calls of these packages.
//
// # Contract
//
// The same store, rank, tolerance, seed and method give the same bits in sigma.npy, U.npy and V.npy, for any number of workers,
// any budget, and after any number of interruptions. If no method is given, the choice is a function of these and of the
// budget: see cost.Choose.
//
// The directory appears in one step when it is complete (RESULT.md describes its files). Only the files of a checkpoint come
// earlier, each replaced in one step. While a run is under way its files are in the directory of the same name that ends in
// ".partial". A run replaces nothing but results, and these only with Options.Replace.
//
// A cancelled context ends a run after the current step: the result holds estimates, and Options.Resume goes on from its
// checkpoint. A limit of passes or of time ends the run with a certified result. In both cases Run returns the result and an
// [Error], which says with the names of Options how to go on.
//
// # Using a result
//
// [Result.OpenU] and [Result.OpenV] read the vectors by windows of rows, [Result.Values] returns the singular values.
// [Result.RowNames] and [Result.ColNames] open the ids and titles of the rows of U and V, to look up ids by index and
// indices by id. None of them needs the store.
//
// # Memory
//
// Options.Memory is for the whole process. The vectors of the method come first; if they do not fit, a window of them is in
// memory and the rest in unnamed files beside the result. The remaining memory keeps blocks of the matrix decoded between
// passes. A budget that is too small is refused with the least one that works (stream.BudgetError).
//
// The package sets nothing that belongs to the process: no limits of the garbage collector, no signals. A program that wants
// to hold the heap to the plan sets its limit when Run calls Options.Planned (see Memory.Heap). Runs at the same time in one
// process, each with its own budget, are independent.
//
// # Orientation
//
// U and V, rows and columns are those of the user's matrix everywhere in this package. A store keeps the longer side as its
// rows; only [csr.Orient] translates.
package factor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/internal/layout"
	"github.com/gdsvd/gdsvd/factor/internal/spill"
	"github.com/gdsvd/gdsvd/internal/fault"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/percent"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// begin checks the options and returns the task and the state of its directory.
func begin(store *csr.Store, o Options) (t *task, before outState, err error) {
	most := min(store.Rows(), store.Cols())
	if o.Energy != 0 {
		if !(o.Energy > 0 && o.Energy < 1) {
			return nil, before, fmt.Errorf("a share of %v of the energy: want one between 0 and 1, both excluded", o.Energy)
		}
		if o.Which != solver.Semidefinite {
			return nil, before, errors.New("a share of the energy is captured by singular values, not by signed eigenvalues: give the number of eigenpairs")
		}
		o.Rank = int(min(most, int64(cmp.Or(o.Rank, DefaultMaxRank))))
	}
	if o.Rank < 1 || int64(o.Rank) > most {
		rows, cols := Dims(store)
		return nil, before, fmt.Errorf("%d triplets: a %d × %d matrix has %d", o.Rank, rows, cols, most)
	}
	t = newTask(store, o)
	if err = t.planPairs(); err != nil {
		return nil, before, err
	}
	if err = t.planView(); err != nil {
		return nil, before, err
	}
	if t.Dir != "" {
		t.Dir = filepath.Clean(t.Dir)
		before, err = inspectOut(t.FS, t.Dir)
	}
	t.space = spill.New(t.FS, t.Dir+vfs.PartialSuffix)
	return t, before, err
}

// Run computes the leading singular triplets of a store and writes them to the directory
// o.Dir. The store must stay open meanwhile.
//
// A run that is cancelled or reaches a limit returns an error that says so and, if its result
// has been written, that result. Several runs may be under way in a process, each with a
// directory and a budget of its own.
func Run(ctx context.Context, store *csr.Store, o Options) (_ *Result, err error) {
	began := time.Now()
	if o.Dir == "" {
		return nil, errors.New("a run needs a directory for its result")
	}
	t, before, err := begin(store, o)
	if err != nil {
		return nil, err
	}
	if r := t.finished(before); r != nil {
		return r, vfs.Sweep(t.FS, t.Dir, func(stage string) bool { return onlyLeftovers(t.FS, stage) == nil })
	}
	if err := t.mayBegin(before); err != nil {
		return nil, err
	}
	tasks, err := t.onEngine(ctx, before)
	if err != nil {
		return nil, err
	}
	if tasks != nil {
		defer func() { err = errors.Join(err, tasks.Close()) }()
	}
	choice, sayChosen, err := t.choose(ctx, before)
	if err != nil {
		return nil, err
	}
	place, err := t.fit(t.Method)
	if err != nil {
		return nil, err
	}
	if t.Remote != nil { // gives tasks of this process their share of the budget
		t.Remote.Local(t.Memory, place.options.Reserve, t.Workers)
	}
	plan := place.memory()
	if err := t.Planned(plan); err != nil {
		return nil, err
	}
	sayChosen()
	defer func() { err = errors.Join(err, t.space.Close()) }()
	if err := t.measureView(ctx, before, tasks); err != nil {
		return nil, err
	}
	m, err := stream.NewFrom(t.source(), place.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	for _, part := range m.Plan().Parts {
		t.Log.Debug("memory plan", "part", part.Name, "size", memory.FormatSize(part.Bytes))
	}
	t.Log.Debug("pass plan", "workers", m.Plan().Workers, "lanes", m.Plan().Lanes, "blocks", m.Plan().Blocks, "resident", m.Plan().Resident)
	a := solver.Matrix(m)
	if tasks != nil {
		tasks.Describe(m.Info())
		a = tasks
	}

	out, err := newOutput(t, before, tasks)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.abort()) }()
	ids, err := out.writeNames(ctx, t)
	if err != nil {
		return nil, err
	}
	set := solver.Settings{
		Rank: t.Rank, Energy: t.Energy, Method: t.Method, Operator: t.Operator, Which: t.Which, Shift: t.Shift,
		Deflation: t.Deflation, Stop: t.Stop, Tol: t.Tol,
		MaxPasses: t.MaxPasses, Seed: t.Seed, Workers: t.Workers, Left: out.left(), SignLeft: t.signLong(),
		Observer: t.observer(out), Between: t.Between,
	}
	if plan.Files > 0 {
		set.Space, out.space = t.space, t.space
		t.Log.Info("vectors in files", "size", memory.FormatSize(plan.Files), "in memory at a time", memory.FormatSize(plan.Window))
	}
	keeper := &checkpoints{task: t, out: out, last: time.Now(), saved: t.Resume && before.checkpoint}
	done, err := t.startFrom(ctx, out, before, &set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if t.CheckpointEvery > 0 {
		set.Checkpointer = keeper
	}
	if t.TimeLimit > 0 {
		set.Deadline = began.Add(t.TimeLimit)
	}
	res, err := solver.SVD(ctx, a, set)
	if err != nil {
		return nil, keeper.afterFault(err)
	}
	r := t.newResult(res)
	t.sayTarget(r)
	r.Memory, r.Choice, r.IDs = plan.Parts, choice, ids
	t.sayView(r)
	if tasks != nil {
		stats := tasks.Stats()
		r.Engine = &Engine{t.Remote.Engine.Name(), tasks.Groups(), stats.Tasks, stats.Retries, t.PassCost.Seconds()}
	}
	return t.finish(r, out, keeper, before, res)
}

// signLong reports whether the solver's left vectors determine the signs. The user's V determines them: it is needed where
// it is the long side, even if only U is kept.
func (t *task) signLong() bool {
	long, _ := csr.Orient(t.store, false, true)
	return long
}

// startFrom sets where the run starts: at a checkpoint, at the vectors of another result, or at random. The caller calls
// done after the run.
func (t *task) startFrom(ctx context.Context, out *output, before outState, set *solver.Settings) (done func() error, err error) {
	done = func() error { return nil }
	switch {
	case t.Resume && before.checkpoint:
		saved, err := openCheckpoint(t.FS, t.Dir)
		if err != nil {
			return nil, err
		}
		err = out.recall(filepath.Join(t.Dir, layout.CheckpointEvents), saved.Passes())
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && saved.Passes() == 0) {
			t.Log.Warn("the run goes on; "+layout.Events+" will lack passes before this", "error", err)
		}
		set.Resume = saved.Checkpoint
		t.Log.Info("going on", "pass", saved.Passes(), "found", saved.Locked(), "of", t.Rank)
		return saved.Close, nil
	case t.Init != "":
		set.Init, err = t.startVectors(ctx, max(t.Rank, t.Method.Traits(t.Rank).Width(t.Rank)), out.space)
		if err != nil {
			return nil, err
		}
	}
	if t.Resume {
		t.Log.Info("there is no checkpoint to resume from: starting from the beginning", "out", t.Dir)
	}
	return done, nil
}

func (t *task) finish(r *Result, out *output, keeper *checkpoints, before outState, res *solver.Result) (*Result, error) {
	if found := slices.ContainsFunc(res.Residuals, func(r float64) bool { return r < 1 }); res.Status == solver.Cancelled && (before.result && !before.estimates || !found) {
		return nil, keeper.nothingWritten(before, res.Stats.Passes)
	}
	saved := keeper.saved && (res.Status == solver.Cancelled || res.Status == solver.TimeLimit || res.Status == solver.PassLimit)
	if saved {
		if err := keeper.keep(out.stage.Dir()); err != nil {
			return nil, keeper.afterFault(err)
		}
	}
	if out.space != nil {
		r.VectorFiles = out.space.Most()
		r.VectorsRead, r.VectorsWrote = res.Stats.VectorsRead, res.Stats.VectorsWritten
	}
	act := t.writing("writing the result")
	defer act.end()
	if t.view != nil {
		if err := out.writeView(t.View, t.view.Statistics()); err != nil {
			return nil, err
		}
	}
	if err := out.commit(res, r, act); err != nil {
		return nil, keeper.afterFault(err)
	}
	return r, t.earlyEnd(res, saved)
}

// earlyEnd returns the error of a run that ended before its goal with its result written, or nil.
func (t *task) earlyEnd(res *solver.Result, saved bool) error {
	var format string
	kind, args := ErrNotConverged, []any{res.Status.Err(), res.Stats.Passes}
	switch {
	case res.Status == solver.Cancelled:
		kind, format, args = context.Canceled, "interrupted after %d passes; estimates, not certified, are in %s", []any{res.Stats.Passes, t.Dir}
	case res.Status.Early() && res.Converged == len(res.Sigma) && res.Target != nil && !res.Target.Reached:
		format = "%v after %d passes: all %v that there are so far are within %.3g, but capture %s of the %s asked for; the result is in %s"
		args = append(args, t.wanted(), t.Tol, percent.Text(res.Energy, t.Energy, 'g', 4), percent.Text(t.Energy, 1, 'g', 4), t.Dir)
	case res.Status.Early() && res.Converged == len(res.Sigma):
		format = "%v after %d passes: all %v are within %.3g, but other values, up to %.3g, have not been ruled out; the result is in %s"
		args = append(args, t.wanted(), t.Tol, res.Outside.Bound, t.Dir)
	case res.Status.Early() && res.Certified && slices.Max(res.Residuals) <= t.Tol:
		format = "%v after %d passes: %d of %d %v are within %.3g, the residuals of all are, but rounding may hide up to %.2g; the result is in %s"
		args = append(args, res.Converged, len(res.Sigma), t.wanted(), t.Tol, slices.Max(res.Floor), t.Dir)
	case res.Status.Early():
		format = "%v after %d passes: %d of %d %v are within %.3g, the worst residual is %.2g; the result is in %s"
		args = append(args, res.Converged, len(res.Sigma), t.wanted(), t.Tol, slices.Max(res.Residuals), t.Dir)
	default:
		return nil
	}
	about := t.Method.Traits(t.Rank)
	switch {
	case res.Status == solver.Stagnated && res.Converged < len(res.Sigma) && about.Copies == 0 && about.Width(t.Rank) == 1:
		format, args = format+"; the method krylov, or a run for more %v, tells apart values that are this close together", append(args, t.wanted())
	case saved && res.Status == solver.PassLimit && len(t.Command) == 0:
		format, args = format+"; %v with a larger %v goes on from there", append(args, Option("Resume"), Option("MaxPasses"))
	case saved:
		format, args = format+"; %v goes on from there", append(args, t.goingOn(res.Status))
	}
	return says(kind, format, args...)
}

// nothingWritten returns the error of a run that was cancelled before it had a better result than the existing one.
func (c *checkpoints) nothingWritten(before outState, passes int) error {
	format, args := "interrupted after %d passes; ", []any{passes, c.Dir, c.goingOn(solver.Cancelled)}
	switch {
	case c.saved && before.result:
		format += "%s is left as it was, with a checkpoint: %v goes on from there"
	case c.saved:
		format += "a checkpoint is in %s: %v goes on from there"
	case before.exists:
		format, args = format+"%s is left as it was", args[:2]
	default:
		format, args = format+"nothing is written", args[:1]
	}
	return says(context.Canceled, format, args...)
}

// afterFault adds to the error of a run what can be done about it.
func (c *checkpoints) afterFault(err error) error {
	if bad := (*fault.Error)(nil); errors.As(err, &bad) {
		err = says(err, "vectors in %s: %v", c.Dir+vfs.PartialSuffix, bad)
	}
	if about := resumeError(err, c.Dir); about != nil {
		return about
	}
	if about := c.pairsError(err); about != nil {
		return about
	}
	switch { // a checkpoint does not help if the matrix lacks the form asked for
	case errors.Is(err, solver.ErrNotDefinite):
		return says(err, "%v; take %v gram, which works for any matrix, or a %v for its largest eigenvalues", err, Option("Operator"), Option("Shift"))
	case errors.Is(err, solver.ErrNotSymmetric):
		return says(err, "%v; take %v gram, which works for any matrix", err, Option("Operator"))
	}
	if now, e := inspectOut(c.FS, c.Dir); !c.saved || e != nil || !now.checkpoint {
		return err
	}
	return says(err, "%v; a checkpoint is in %s: %v goes on from there", err, c.Dir, c.goingOn(solver.Cancelled))
}

func (t *task) newResult(res *solver.Result) *Result {
	r := &Result{
		Format: layout.Format, NNZ: t.store.NNZ(), K: len(res.Sigma), Method: t.Method.Traits(t.Rank).Name,
		Status: res.Status.String(), Certified: res.Certified, Converged: res.Converged, Rank: res.Rank,
		Sigma: numbers(res.Sigma), Residual: numbers(res.Residuals), Clusters: res.Clusters,
		Energy: Number(res.Energy), Floor: numbers(res.Floor),
		Outside: Outside{res.Outside.Steps, Number(res.Outside.Bound), res.Outside.Probability, res.Outside.Leading}, Passes: res.Stats.Passes, Products: res.Stats.Products,
		BytesRead: res.Stats.BytesRead, Seconds: newSeconds(res.Stats), PeakRSS: memory.PeakRSS(), Seed: t.Seed,
		Settings: Settings{
			Method: t.Method.Traits(t.Rank).Name, Operator: t.Operator.String(), Which: t.which(), Shift: t.Shift, OfMethod: said(t.Method),
			Deflation: t.Deflation.String(), Stop: t.Stop.String(), Tol: t.Tol, Energy: t.Energy, MaxPasses: t.MaxPasses,
			Vectors: t.Vectors.String(), Workers: t.Workers, Memory: t.Memory, Init: t.Init, TimeLimit: t.TimeLimit.Seconds(),
		},
		Store: StoreRef{Path: t.store.Path(), Fingerprint: t.store.Fingerprint()}, dir: t.Dir, fs: t.FS,
	}
	if t.Energy > 0 {
		r.Settings.MaxRank = t.Rank
	}
	r.Rows, r.Cols = Dims(t.store)
	if g := res.Target; g != nil {
		r.Target = &Target{g.Share, Number(g.Before), Number(g.Error), g.Reached, g.Smallest}
	}
	if res.Lambda != nil {
		r.Sigma, r.Lambda, r.Norm = nil, numbers(res.Lambda), Number(res.Norm)
	}
	r.Orthogonality.U, r.Orthogonality.V = csr.Orient(t.store, Number(res.OrthLeft), Number(res.OrthRight))
	if r.Clusters == nil {
		r.Clusters = [][2]int{}
	}
	return r
}
