package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream"
)

// svdOptions are the flags of gdsvd svd.
type svdOptions struct {
	methodFlags
	runFlags
	rank      int
	out       string
	deflation solver.Deflation
	stop      solver.StopRule
	tol       float64
	maxPasses int
	seed      uint64
	workers   int
	memory    int64 // 0: autoMemory
	vectors   vectors
	force     bool
	explain   bool
}

func (a *app) svdCommand() *cobra.Command {
	var o svdOptions
	cmd := &cobra.Command{
		Use:   "svd STORE -k K -o OUT",
		Short: "Compute the leading singular triplets of a store",
		Long: `svd computes the K largest singular values of the matrix in STORE and their
vectors, measures the residual of every triplet on the original matrix, and
writes the directory OUT:

  sigma.npy      the values, descending
  U.npy, V.npy   left (rows × K) and right (columns × K) vectors, for numpy.load
  events.jsonl   one record a pass
  result.json    values, certified residuals, costs and settings

Rows of U are in ascending order of the row ids; gdsvd info STORE --ids rows prints them.

Without --method the method and its widths are chosen: from a table of costs and
from the store, K, the tolerance and --memory alone, so that the same command has
the same result on every machine, with any number of threads. result.json records
the choice and the flags that make it again; --explain shows it, with what was
considered and how long that would take here, and stops there.

Where --memory has no room for the vectors they are kept in files beside OUT until
the run ends; where it has none for all columns of a product, a pass reads the
store several times. Neither changes the bits of the result.` + "\n" + exitHelp,
		Example: `  gdsvd svd ml-10m.csr -k 10 -o ml-10m.svd
  gdsvd svd ml-10m.csr -k 10 --explain
  gdsvd svd ml-10m.csr -k 20 -o power.svd --method power --tol 1e-6 --vectors right --memory 256MiB`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkSVD(cmd, &o); err != nil {
				return err
			}
			if o.explain {
				return a.explainSVD(cmd.Context(), cmd, args[0], o)
			}
			r, err := a.svd(cmd.Context(), cmd, args[0], o)
			if r == nil {
				return err
			}
			if printed := a.printResult(r, o.out); printed != nil {
				err = errors.Join(err, fmt.Errorf("the result is in %s, but could not be printed: %w", o.out, printed))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.rank, "rank", "k", 0, "number `K` of triplets")
	f.StringVarP(&o.out, "out", "o", "", "the directory `OUT` to write")
	o.list = a.methods
	addMethodFlags(cmd, f, &o.methodFlags)
	choiceFlag(cmd, f, &o.deflation, "deflation", "", solver.Projected,
		named(solver.Projected, solver.Plain), "how found triplets are kept out")
	choiceFlag(cmd, f, &o.stop, "stop", "", solver.StopResidual,
		named(solver.StopResidual, solver.StopPaper), "stop rule: certified residual, or the paper's absolute one")
	f.Float64Var(&o.tol, "tol", solver.DefaultTol, "tolerance of the stop rule: residual relative to the largest value")
	f.IntVar(&o.maxPasses, "max-passes", 0, "stop after `N` reads of the matrix (0: no limit)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random start vectors")
	f.IntVar(&o.workers, "workers", 0, "multiply with `N` threads (0: all processors); the result does not depend on it")
	f.Var(sizeValue{p: &o.memory, auto: true}, "memory", "memory to stay within, such as 512M or 2GiB (K, M, G, Ki, KiB … are powers of 1024, KB … of 1000); auto takes 60 % of what is available")
	choiceFlag(cmd, f, &o.vectors, "vectors", "", bothVectors,
		named(bothVectors, leftOnly, rightOnly, noVectors), "vectors to write")
	f.BoolVar(&o.force, "force", false, "replace an existing OUT, in one step at the end")
	f.BoolVar(&o.explain, "explain", false, "say how the run would go, and stop there: no OUT is made")
	addRunFlags(f, &o.runFlags)
	return cmd
}

// checkSVD finds what is wrong with the flags before anything is opened.
func (a *app) checkSVD(cmd *cobra.Command, o *svdOptions) error {
	switch {
	case !cmd.Flags().Changed("rank"):
		return usagef(cmd, "how many triplets? give their number with -k")
	case o.rank < 1:
		return usagef(cmd, "-k %d: at least 1 triplet is wanted", o.rank)
	case o.out == "" && !o.explain:
		return usagef(cmd, "no OUT to write: give one with -o")
	case !(o.tol > 0 && o.tol < 1):
		return usagef(cmd, "--tol %v: want a tolerance between 0 and 1, both excluded", o.tol)
	case o.maxPasses < 0:
		return usagef(cmd, "--max-passes %d: want a number of passes, or 0 for no limit", o.maxPasses)
	case o.workers < 0:
		return usagef(cmd, "--workers %d: want 1 or more, or 0 for all processors", o.workers)
	}
	if err := o.runFlags.check(cmd); err != nil {
		return err
	}
	return o.methodFlags.check(cmd, a.fromConfig)
}

// notHeap is what the process occupies outside Go's heap as long as there is no plan
// that says so (heapLimit): its code, stacks and a few pages of the store.
const notHeap = 24 << 20

// heapLimit is the limit of Go's heap for a run: what the plan leaves of the budget.
func heapLimit(p stream.Plan) int64 {
	_, outside, blocks := plannedHeap(p)
	// The collector aims at 3 % less than its limit, against fragments. Blocks leave
	// none and stay to the end; without their 3 % it would never rest.
	return p.Budget - outside + blocks*3/97
}

// plannedHeap is what the heap of a run is to hold, what is outside of it, and what of
// the heap are resident blocks.
func plannedHeap(p stream.Plan) (heap, outside, blocks int64) {
	for _, part := range memoryParts(p) {
		if part.Heap {
			heap += part.Bytes
		} else {
			outside += part.Bytes
		}
		if part.Name == "resident blocks" {
			blocks = part.Bytes
		}
	}
	return heap, outside, blocks
}

// svd factorises a store and writes the result. A result comes with an error
// when the run ended early but has been written.
func (a *app) svd(ctx context.Context, cmd *cobra.Command, path string, o svdOptions) (_ *result, err error) {
	began := time.Now()
	o.fillIn()
	a.warnOfBudget(o.memory)
	defer limitHeap(max(o.memory-notHeap, o.memory/2))()
	defer collectLate(garbage / 8)()

	store, err := a.openFor(cmd, path, &o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	before, err := inspectOut(a.fsys, o.out)
	if err != nil {
		return nil, err
	}
	if r := a.finished(before, store, &o); r != nil {
		return r, vfs.Sweep(a.fsys, o.out, func(stage string) bool { return onlyLeftovers(a.fsys, stage) == nil })
	}
	if err := before.mayBegin(&o); err != nil {
		return nil, err
	}
	chosen, sayChosen, err := a.chooseMethod(ctx, store, before, &o)
	if err != nil {
		return nil, err
	}
	method := o.solverMethod()
	mem, err := o.fit(store, method)
	if err != nil {
		return nil, err
	}
	if mem.files > 0 {
		if err := enoughFiles(manyFiles); err != nil {
			return nil, err
		}
	}
	sayChosen()
	space := mem.space(a.fsys, o.out)
	defer func() { err = errors.Join(err, space.Close()) }()
	m, err := stream.New(store, mem.options)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	a.logPlan(m.Plan())
	defer limitHeap(heapLimit(m.Plan()))()
	heap, _, _ := plannedHeap(m.Plan())
	defer collectLate(heap)()

	out, err := newOutput(a.fsys, o.out, before.exists, store.Transposed(), o.vectors, store.Rows(), o.rank)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, out.abort()) }()

	set := solver.Settings{
		Rank: o.rank, Method: method, Operator: o.operator, Deflation: o.deflation, Stop: o.stop, Tol: o.tol,
		MaxPasses: o.maxPasses, Seed: o.seed, Workers: o.workers, Left: out.left(), SignLeft: store.Transposed(),
		Observer: solver.Tee(out, a.newSVDProgress(store, method, &o)),
	}
	if mem.files > 0 {
		set.Space, out.space = space, space
		a.display.Logger().Info("vectors in files", "size", memory.FormatSize(mem.files), "in memory at a time", memory.FormatSize(mem.window))
	}
	keeper := a.newCheckpoints(out, before, &o)
	done, err := a.startFrom(ctx, store, out, before, &o, &set)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, done()) }()
	if o.checkpointEvery > 0 {
		set.Checkpointer = keeper
	}
	if o.timeLimit > 0 {
		set.Deadline = began.Add(o.timeLimit)
	}
	defer a.display.End()
	res, err := solver.SVD(ctx, m, set)
	if err != nil {
		return nil, keeper.afterFault(err)
	}
	r := newResult(store, res, o)
	r.Memory, r.Choice = memoryParts(m.Plan()), chosen
	return a.finishSVD(r, out, keeper, before, res, o)
}

// fillIn decides what the machine decides.
func (o *svdOptions) fillIn() {
	if o.memory == 0 {
		o.memory = autoMemory()
	}
	if o.workers == 0 {
		o.workers = runtime.GOMAXPROCS(0)
	}
}

// openStore opens a store. What is a result instead is called one.
func (a *app) openStore(path string) (*csr.Store, error) {
	store, err := csr.Open(path, csr.OpenOptions{FS: a.fsys})
	if errors.Is(err, csr.ErrNotStore) {
		if _, err := a.fsys.Stat(filepath.Join(path, resultFile)); err == nil {
			return nil, fmt.Errorf("open store: %s: %w: it is a result, made by \"gdsvd svd\"; name the store it was made from", path, csr.ErrNotStore)
		}
	}
	return store, err
}

// openFor opens a store that has as many triplets as are asked for.
func (a *app) openFor(cmd *cobra.Command, path string, o *svdOptions) (*csr.Store, error) {
	store, err := a.openStore(path)
	if err != nil {
		return nil, err
	}
	if most := min(store.Rows(), store.Cols()); int64(o.rank) > most {
		rows, cols := userDims(store)
		err := usagef(cmd, "-k %d: a %d × %d matrix has only %d singular values", o.rank, rows, cols, most)
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// finishSVD writes what has come out of a run.
func (a *app) finishSVD(r *result, out *output, keeper *checkpoints, before outState, res *solver.Result, o svdOptions) (*result, error) {
	if res.Status == solver.Cancelled && (before.result && !before.estimates || !found(res)) {
		return nil, &outcome{fmt.Sprintf("interrupted after %d passes; %s", res.Stats.Passes, keeper.leaves(before, o.out)), context.Canceled}
	}
	saved := keeper.unfinished(res.Status)
	if saved {
		if err := keeper.keep(out.stage.Dir()); err != nil {
			return nil, err
		}
	}
	if out.space != nil {
		r.VectorFiles = out.space.Most()
		r.VectorsRead, r.VectorsWrote = res.Stats.VectorsRead, res.Stats.VectorsWritten
	}
	act, end := a.during("writing the result")
	defer end()
	if err := out.commit(res, r, act); err != nil {
		return nil, keeper.afterFault(err)
	}
	return r, earlyEnd(res, o, saved)
}

// found reports whether there is any triplet to speak of.
func found(res *solver.Result) bool {
	return slices.ContainsFunc(res.Residuals, func(r float64) bool { return r < 1 })
}

// earlyEnd is the error of a run that ended before its goal with its result written, or nil.
func earlyEnd(res *solver.Result, o svdOptions, saved bool) error {
	further := ""
	switch {
	case saved && res.Status == solver.PassLimit:
		further = "; --resume with a larger --max-passes goes on from there"
	case saved:
		further = "; --resume goes on from there"
	}
	switch {
	case res.Status == solver.Cancelled:
		return &outcome{fmt.Sprintf("interrupted after %d passes; estimates, not certified, are in %s%s", res.Stats.Passes, o.out, further), context.Canceled}
	case res.Status.Early() && res.Converged == o.rank:
		return &outcome{fmt.Sprintf("%v after %d passes: all triplets are within %.3g, but other values, up to %.3g, have not been ruled out; the result is in %s%s",
			res.Status.Err(), res.Stats.Passes, o.tol, res.Outside.Bound, o.out, further), errNotConverged}
	case res.Status.Early():
		return &outcome{fmt.Sprintf("%v after %d passes: %d of %d triplets are within %.3g, the worst residual is %.2g; the result is in %s%s",
			res.Status.Err(), res.Stats.Passes, res.Converged, o.rank, o.tol, slices.Max(res.Residuals), o.out, further), errNotConverged}
	}
	return nil
}

// userDims is the shape of the matrix as the user knows it.
func userDims(s *csr.Store) (rows, cols int64) {
	if s.Transposed() {
		return s.Cols(), s.Rows()
	}
	return s.Rows(), s.Cols()
}

func (a *app) logPlan(p stream.Plan) {
	log := a.display.Logger()
	for _, part := range p.Parts {
		log.Debug("memory plan", "part", part.Name, "size", memory.FormatSize(part.Bytes))
	}
	log.Debug("pass plan", "workers", p.Workers, "lanes", p.Lanes, "blocks", p.Blocks, "resident", p.Resident)
}

func newResult(store *csr.Store, res *solver.Result, o svdOptions) *result {
	rows, cols := userDims(store)
	r := &result{
		Format: resultFormat, Rows: rows, Cols: cols, NNZ: store.NNZ(), K: o.rank, Method: o.method.String(),
		Status: res.Status.String(), Certified: res.Certified, Converged: res.Converged, Rank: res.Rank,
		Sigma: numbers(res.Sigma), Residual: numbers(res.Residuals), Clusters: res.Clusters,
		Orthogonality: orthogonality{U: number(res.OrthLeft), V: number(res.OrthRight)},
		Energy:        number(res.Energy), Floor: numbers(res.Floor),
		Outside: outside{res.Outside.Steps, number(res.Outside.Bound), res.Outside.Probability, res.Outside.Leading}, Passes: res.Stats.Passes, Products: res.Stats.Products,
		BytesRead: res.Stats.BytesRead, Seconds: newSeconds(res.Stats), PeakRSS: memory.PeakRSS(), Seed: o.seed,
		Settings: settings{
			Method: o.method.String(), Operator: o.operator.String(),
			OfMethod:  o.said(),
			Deflation: o.deflation.String(), Stop: o.stop.String(), Tol: o.tol,
			MaxPasses: o.maxPasses, Vectors: o.vectors.String(), Workers: o.workers, Memory: o.memory,
			Init: o.init, TimeLimit: o.timeLimit.Seconds(),
		},
		Store: storeRef{Path: store.Path(), Fingerprint: store.Fingerprint()},
	}
	if store.Transposed() {
		r.Orthogonality.U, r.Orthogonality.V = r.Orthogonality.V, r.Orthogonality.U
	}
	if r.Clusters == nil {
		r.Clusters = [][2]int{}
	}
	return r
}
