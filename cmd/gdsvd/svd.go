package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/flags"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/solver"
	"github.com/gdsvd/gdsvd/stream/remote"
)

type svdOptions struct {
	factor.Options
	method  flags.Method
	most    int // the flag --max-k
	explain bool
	engine  engineOptions
	view    string
	keep    string
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

With a share for K, such as -k 0.9, the result has the fewest triplets that capture
it: their values squared make up 90 % of the sum of squares of all entries. One run finds them and ends
when there are enough.

Without --method the method and its widths are chosen: from a table of costs and
from the store, K, the tolerance and --memory alone, so that the same command has
the same result on every machine, with any number of threads. result.json records the choice
and the flags that repeat it; --explain prints the choice, the alternatives and their
estimated times on this machine, and stops there.

Vectors that do not fit in --memory are kept in files beside OUT until the run ends; if
the columns of a product do not fit, a pass reads the store several times. Neither changes
the bits of the result.

STORE may be s3://BUCKET/KEY, a copy of a store of which parts are kept in TMPDIR while
it is read, or -: a matrix on standard input in any format that gdsvd ingest recognises
without flags, as a program writes it to a pipe. Its store lies beside OUT until the end
of the run, without fsync, and is then removed: such a run leaves no checkpoint. The bits of the result
are those of ingest and svd one after the other.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd ml-10m.csr -k 10 -o ml-10m.svd
  gdsvd svd ml-10m.csr -k 10 --explain
  gdsvd svd ml-10m.csr -k 0.9 --max-k 500 -o most.svd
  gdsvd svd ml-10m.csr -k 10 -o pca.svd --view center=columns
  gdsvd svd cells.csr -k 50 -o cells.svd --view 'normalize=rows,total:10000 | log1p | center=columns'
  zcat ratings.csv.gz | gdsvd svd - -k 10 -o ratings.svd
  gdsvd svd ml-10m.csr -k 20 -o power.svd --method power --tol 1e-6 --vectors right --memory 256MiB`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkSVD(cmd, &o); err != nil {
				return err
			}
			var err error
			if o.Remote, err = o.engine.options(cmd, a.fsys); err != nil {
				return err
			}
			switch given := o.Remote != nil; {
			case given && args[0] == "-":
				return ui.Usagef(cmd, "--engine %s of -: workers cannot read standard input; ingest it, and factorise its store", o.engine.name)
			case given && o.Init != "":
				return ui.Usagef(cmd, "--engine %s takes no --init", o.engine.name)
			case o.engine.pass < 0:
				return ui.Usagef(cmd, "--pass-cost %v: want a time, or 0 to have it measured", o.engine.pass)
			case given:
				o.PassCost = o.engine.pass
			}
			if args[0] == "-" {
				return a.computeInput(cmd, o)
			}
			err = a.compute(cmd, args[0], o)
			if o.Remote != nil {
				err = errors.Join(err, o.Remote.Engine.Close())
			}
			return err
		},
	}
	f := cmd.Flags()
	f.VarP(flags.Triplets{Of: &o.Options}, "rank", "k", "number `K` of triplets, or the share of the energy ‖A‖²_F to capture with as few triplets as possible, such as 0.9 or 90%")
	f.IntVar(&o.most, "max-k", factor.DefaultMaxRank, "with a share: at most `N` triplets, for which memory is planned")
	ui.ChoiceFlag(f, &o.Operator, "operator", solver.Gram, ui.Named(solver.Gram, solver.Dilation, solver.Symmetric),
		"matrix that the method multiplies by: AᵀA, [0 A; Aᵀ 0], or A itself if it is symmetric and semidefinite")
	f.Float64Var(&o.Shift, "shift", 0, "with --operator symmetric: add `C` times the identity to what the method multiplies by, for an A with negative eigenvalues, and write the K largest eigenvalues of A with their signs (0: ‖A‖_F); see gdsvd eigs")
	ui.ChoiceFlag(f, &o.Stop, "stop", solver.StopResidual,
		ui.Named(solver.StopResidual, solver.StopPaper), "stop rule: certified residual, or the paper's absolute one")
	ui.ChoiceFlag(f, &o.Vectors, "vectors", factor.Both,
		ui.Named(factor.Both, factor.Left, factor.Right, factor.None), "vectors to write")
	o.engine.add(cmd)
	f.DurationVar(&o.engine.pass, "pass-cost", usualPassCost, "with --engine and --method auto: overhead of a pass; a larger one makes blocks wider (0: measured at the start and recorded in result.json)")
	a.runFlags(cmd, &o)
	return cmd
}

// runFlags adds the flags that all commands that compute a result share.
func (a *app) runFlags(cmd *cobra.Command, o *svdOptions) {
	f := cmd.Flags()
	f.StringVarP(&o.Dir, "out", "o", "", "the directory `OUT` to write")
	f.StringVar(&o.view, "view", "", "factorise the matrix after these steps: weights, scalings and centring, such as 'lsi', 'bm25', 'log1p | center=columns', or `PIPELINE` in a file as @FILE; none of it is stored, and no dense matrix is formed")
	completeView(cmd, "view", "|")
	f.StringVar(&o.keep, "keep-cols", "", "factorise columns alone whose ids are in `FILE`, one a line, or those that vary most, as hvg:2000; the others are zero. The same as a step keep=columns,FILE of --view, before the first one that centres, or at its end")
	o.method.Add(cmd, a.methods)
	ui.ChoiceFlag(f, &o.Deflation, "deflation", solver.Projected,
		ui.Named(solver.Projected, solver.Plain), "how the search excludes triplets that are found")
	f.Float64Var(&o.Tol, "tol", solver.DefaultTol, "tolerance of the stop rule: residual relative to the largest value")
	f.IntVar(&o.MaxPasses, "max-passes", 0, "stop after `N` reads of the matrix (0: no limit)")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of the random start vectors")
	f.IntVar(&o.Workers, "workers", 0, "multiply with `N` threads (0: all processors); the result does not depend on it")
	f.Var(ui.Size(&o.Memory, true), "memory", "memory to stay within, such as 512M or 2GiB (K, M, G, Ki, KiB … are powers of 1024, KB … of 1000); auto takes 60 % of what is available")
	f.BoolVar(&o.Replace, "force", false, "replace an existing OUT, in one step at the end")
	f.BoolVar(&o.explain, "explain", false, "forecast the run and stop: no OUT is written")
	f.DurationVar(&o.CheckpointEvery, "checkpoint-every", factor.DefaultCheckpointEvery,
		"time between checkpoints of the run in OUT, which are written between two passes (0: no checkpoints)")
	f.BoolVar(&o.Resume, "resume", false, "continue from the checkpoint in OUT; the result has the bits of an uninterrupted run; if the run is finished, only say so")
	f.StringVar(&o.Init, "init", "", "start from the vectors of the result `OUT0`, of this store or a similar one")
	partialFlag(f, &a.partialOK)
	f.DurationVar(&o.TimeLimit, "time-limit", 0, "stop iterating after this time and finish with the result so far (0: no limit)")
	a.recordFlags(f)
}

func partialFlag(f *pflag.FlagSet, ok *bool) {
	f.BoolVar(ok, "partial-ok", false, "exit with code 0 instead of 4 if the result is written but misses the tolerance; the result still says so")
}

// checkSVD checks the flags before any file is opened.
func (a *app) checkSVD(cmd *cobra.Command, o *svdOptions) error {
	if err := flags.CheckTriplets(cmd, &o.Options, o.most); err != nil {
		return err
	}
	switch {
	case cmd.Flags().Changed("shift") && o.Operator != solver.Symmetric:
		return ui.Usagef(cmd, "--shift %v is for --operator symmetric", o.Shift)
	case cmd.Flags().Changed("shift") && o.Energy > 0:
		return ui.Usagef(cmd, "--shift %v finds eigenvalues: give their number with -k, not a share of the energy", o.Shift)
	case cmd.Flags().Changed("shift"):
		o.Which = solver.LargestAlgebraic
	}
	return a.checkRun(cmd, o)
}

// checkRun checks the flags of runFlags, and the shift.
func (a *app) checkRun(cmd *cobra.Command, o *svdOptions) (err error) {
	switch {
	case math.IsNaN(o.Shift) || math.IsInf(o.Shift, 0):
		return ui.Usagef(cmd, "--shift %v: want a finite number", o.Shift)
	case o.Dir == "" && !o.explain:
		return ui.Usagef(cmd, "no OUT to write: give one with -o")
	case !(o.Tol > 0 && o.Tol < 1):
		return ui.Usagef(cmd, "--tol %v: want a tolerance between 0 and 1, both excluded", o.Tol)
	case o.MaxPasses < 0:
		return ui.Usagef(cmd, "--max-passes %d: want a number of passes, or 0 for no limit", o.MaxPasses)
	case o.TimeLimit < 0:
		return ui.Usagef(cmd, "--time-limit %v: want a time, or 0 for no limit", o.TimeLimit)
	case o.CheckpointEvery == 0:
		o.CheckpointEvery = -1 // the value of factor.Options for never
	}
	if cmd.Flags().Changed("view") || o.view != "" {
		if o.View, err = a.readView(cmd, o.view); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("keep-cols") || o.keep != "" {
		if o.View, err = o.View.Keep(o.keep); err != nil {
			return ui.Usagef(cmd, "--keep-cols %s: %v", o.keep, err)
		}
	}
	o.Method, err = o.method.Check(cmd, o.Operator, a.standing)
	return err
}

// compute writes a result and prints it, or explains the run if o.explain is set.
func (a *app) compute(cmd *cobra.Command, path string, o svdOptions) error {
	if o.explain {
		return a.explain(cmd, path, o.Options)
	}
	if err := vfs.Sweep(a.fsys, besideOut(o.Dir, "input"), useless); err != nil {
		return err
	}
	r, err := a.svd(cmd, path, o.Options)
	if r == nil {
		return err
	}
	if printed := a.printResult(r, o.Dir); printed != nil {
		err = errors.Join(err, fmt.Errorf("the result is in %s, but could not be printed: %w", o.Dir, printed))
	}
	return err
}

// svd factorises a store and writes the result. If the run ended early but wrote a result, it returns both the result and an error.
func (a *app) svd(cmd *cobra.Command, path string, o factor.Options) (_ *factor.Result, err error) {
	defer a.within(&o.Memory)()
	defer heap.CollectLate(heap.Garbage / 8)()
	store, err := a.openFor(cmd, path, cmd.Flags().Arg(0), o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	o.Command = again(cmd, path)
	rec, end, err := a.record(cmd, aboutRun(cmd, store, path, o))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(err)) }()
	stage := live.Stage{Name: "before the first pass"}
	p := ui.Passes{Display: a.display, After: func(e solver.Event, now factor.Outlook) {
		stage = live.Stage{Name: ui.StageOf(e), Share: now.Done, Left: now.Left.Seconds(), Tasks: stage.Tasks}
		rec.Pass(factor.EventOf(e), stage)
	}}
	if o.Remote != nil {
		o.Remote.Told = func(s remote.Stats) { // called during a pass
			stage.Tasks = &live.Tasks{Given: s.Tasks, Retries: s.Retries, Workers: s.Workers, Read: s.Read}
			rec.Stage(stage)
		}
	}
	defer a.display.End()
	o.Methods, o.FS, o.Log, o.CheckpointShare = a.methods, a.fsys, a.display.Logger(), a.share
	o.Pass, o.Between, o.Writing = p.Pass, p.Between, a.doing.Writing
	o.Measuring = func(done, total int64) {
		a.display.Update(ui.State{Done: done, Total: total, Bytes: true, Text: "statistics of the view"})
		rec.Stage(live.Stage{Name: "statistics of the view", Unit: "bytes", Done: done, Total: total, Tasks: stage.Tasks})
	}
	o.Planned = func(m factor.Memory) error {
		if m.Files > 0 {
			if err := ui.EnoughFiles(ui.ManyFiles); err != nil {
				return err
			}
		}
		inside, _ := m.Heap()
		heap.Limit(heap.Planned(m)) // until the limit set first is restored; likewise CollectLate
		heap.CollectLate(inside)
		a.display.Begin("svd")
		rec.Describe(func(about *live.About) { about.Parts = heap.Parts(m) })
		rec.Stage(stage)
		return nil
	}
	return factor.Run(cmd.Context(), store, o)
}

// explain prints the plan of a run. Nothing is written.
func (a *app) explain(cmd *cobra.Command, path string, o factor.Options) error {
	o.Memory, o.Methods, o.FS = a.budget(o.Memory), a.methods, a.fsys
	store, err := a.openFor(cmd, path, "", o)
	if err != nil {
		return err
	}
	e, err := factor.Explain(cmd.Context(), store, o)
	return a.print(e, errors.Join(err, store.Close()), func(out *show.Printer) { show.Explanation(out, e) })
}

// openStore opens a store. The error for the directory of a result says so.
func (a *app) openStore(path string) (*csr.Store, error) { return a.openSeen(path, csr.OpenOptions{}) }

// openSeen is openStore for callers that can handle missing entries, which o.Missing permits.
func (a *app) openSeen(path string, o csr.OpenOptions) (*csr.Store, error) {
	o.FS = a.fsys
	store, err := csr.Open(path, o)
	if errors.Is(err, csr.ErrNotStore) {
		if _, err := a.fsys.Stat(filepath.Join(path, factor.ResultFile)); err == nil {
			return nil, fmt.Errorf("open store: %s: %w: it is a result, made by \"gdsvd svd\"; name the store it was made from", path, csr.ErrNotStore)
		}
	}
	return store, err
}

// openFor opens a store under a name, and checks that the matrix has as many triplets as are asked for.
func (a *app) openFor(cmd *cobra.Command, path, name string, o factor.Options) (*csr.Store, error) {
	store, err := a.openSeen(path, csr.OpenOptions{Missing: o.View.Imputes(), Name: name})
	if err != nil {
		return nil, err
	}
	if most := min(store.Rows(), store.Cols()); o.Energy == 0 && int64(o.Rank) > most {
		rows, cols := factor.Dims(store)
		values := "singular values"
		if o.Which != solver.Semidefinite {
			values = "eigenvalues"
		}
		err := ui.Usagef(cmd, "-k %d: a %d × %d matrix has only %d %s", o.Rank, rows, cols, most, values)
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// computeInput is compute for the matrix on standard input, which is stored beside OUT until the end of the run.
func (a *app) computeInput(cmd *cobra.Command, o svdOptions) (err error) {
	switch {
	case o.explain:
		return ui.Usagef(cmd, "--explain of -: the matrix on standard input is gone afterwards; ingest it, and explain a run on its store")
	case o.Resume:
		return ui.Usagef(cmd, "--resume of -: the store that the checkpoint is of is gone; ingest standard input, and factorise its store")
	}
	if _, err := a.fsys.Lstat(o.Dir); err == nil && !o.Replace { // checked before the matrix is read
		return &fs.PathError{Op: "create", Path: o.Dir, Err: fs.ErrExist}
	}
	o.CheckpointEvery = -1
	stage, err := vfs.Stage(a.fsys, besideOut(o.Dir, "input"), false, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stage.Abort()) }()
	in := ingest.Options{Memory: o.Memory, ShardSize: csr.DefaultShard, Workers: o.Workers}
	if o.Memory == 0 { // the factorisation reuses the memory of the ingest, which then counts as taken
		o.Memory = a.budget(0)
		in.Memory = min(ingest.DefaultMemory, o.Memory)
	}
	defer heap.CollectLate(heap.Garbage / 8)()
	store := filepath.Join(stage.Dir(), "store")
	kept := a.fsys
	a.fsys = unsynced{kept}
	_, err = a.ingest(cmd, []string{"-"}, store, in)
	a.fsys = kept
	if err != nil {
		return toldIngest(cmd, err)
	}
	runtime.GC() // so that memory of the ingest is reused: new pages from the system take longer than a collection
	return a.compute(cmd, store, o)
}

func (a *app) eigsCommand() *cobra.Command {
	var o svdOptions
	cmd := &cobra.Command{
		Use:   "eigs STORE -k K -o OUT",
		Short: "Compute eigenpairs of a symmetric store, such as an undirected graph",
		Long: `eigs computes K eigenvalues of the symmetric matrix in STORE with their signs, and their
vectors, measures the residual ‖Av − λv‖ of every pair on the original matrix, and writes the
directory OUT:

  lambda.npy     the eigenvalues, in the order of --which
  V.npy          the eigenvectors (rows × K), for numpy.load
  events.jsonl   one record a pass
  result.json    values, certified residuals, costs and settings

--which LM finds the eigenvalues of largest magnitude, the positive one of λ and −λ first;
LA the largest, SA the smallest. Rows and columns of STORE have the same ids: that of an undirected
graph (gdsvd ingest --graph undirected), or of a symmetric Matrix Market file, or seen through
a --view that keeps it symmetric, such as laplacian. One pass checks the symmetry with a
random vector; the error names an entry that differs from its mirror image.

The smallest eigenvalues of a Laplacian I − D^-1/2 A D^-1/2 are 1 − λ for the largest
eigenvalues λ of --view laplacian, with the same vectors.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd ingest friends.txt -o friends.csr --graph undirected --self-loops drop
  gdsvd eigs friends.csr -k 10 -o friends.eig
  gdsvd eigs friends.csr -k 50 -o embedding.eig --which LA --view laplacian --shift 1
  gdsvd eigs friends.csr -k 10 --which SA --explain`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("rank"):
				return ui.Usagef(cmd, "how many eigenpairs? give their number with -k")
			case o.Rank < 1:
				return ui.Usagef(cmd, "-k %d: at least 1 eigenpair is wanted", o.Rank)
			case cmd.Flags().Changed("shift") && o.Which == solver.LargestMagnitude:
				return ui.Usagef(cmd, "--shift is for --which LA and SA: the largest in magnitude are found without one")
			}
			o.Operator = solver.Symmetric
			if err := a.checkRun(cmd, &o); err != nil {
				return err
			}
			return a.compute(cmd, args[0], o)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Rank, "rank", "k", 0, "number `K` of eigenpairs")
	ui.ChoiceFlag(f, &o.Which, "which", solver.LargestMagnitude,
		ui.Named(solver.LargestMagnitude, solver.LargestAlgebraic, solver.SmallestAlgebraic), "eigenvalues to find: largest in magnitude, largest, smallest")
	f.Float64Var(&o.Shift, "shift", 0, "search for LA in A + `C`·I and for SA in C·I − A, which has no negative eigenvalues (0: C is ‖A‖_F, which is always enough); krylov is as fast with any C, other methods are slower the larger it is")
	ui.ChoiceFlag(f, &o.Vectors, "vectors", factor.Right, ui.Named(factor.Right, factor.None), "vectors to write")
	a.runFlags(cmd, &o)
	return cmd
}
