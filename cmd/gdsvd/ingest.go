package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/flags"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/live"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/format/all"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream/remote"
)

func (a *app) ingestCommand() *cobra.Command { return a.ingestLike(new(engineOptions), a.sniff) }

// ingestLike returns the command ingest. look is called for a dry run; the flags of an engine are added unless engine is nil.
func (a *app) ingestLike(engine *engineOptions, look func(cmd *cobra.Command, inputs []string, out string, o ingest.Options) error) *cobra.Command {
	var (
		o     ingest.Options
		out   string
		every time.Duration
		dry   bool
	)
	cmd := &cobra.Command{
		Use:   "ingest INPUT... -o STORE",
		Short: "Read ratings or a matrix into a store",
		Long: `ingest reads one matrix from one or more INPUTs, files, URLs, quoted patterns or - for
standard input, plain or compressed by gzip, zstd, bzip2 or xz, and writes it as a store:
a directory of compressed, checksummed shards that passes stream from.

URLs are https://HOST/PATH and s3://BUCKET/KEY, where KEY may be a pattern. They are read by ranges,
continued after a lost connection, and refused if the object changes meanwhile.
Credentials for s3 are those of the AWS command line: the environment, ~/.aws, the role of
the machine; AWS_ENDPOINT_URL names another server. http is read from this machine only.

Formats, recognised by content:
  movielens  user::item::rating[::timestamp], the same with tabs, or ratings.csv
  delimited  any text with one entry a line; header names identify the columns;
             see --sep, --columns and --header
  jsonl      JSON, one object a line; its keys identify the columns
  parquet    Apache Parquet; column names identify the columns
  mtx        Matrix Market coordinate or array: real, integer, pattern; general or
             (skew-)symmetric; also a folder of 10x (matrix, features, barcodes)
  idx        MNIST images, one row an image
  npz        sparse matrix of SciPy (save_npz): CSR, CSC, COO
  npy        NumPy array of two dimensions, zeros left out
  svmlight   label index:value ..., as LIBSVM has it; labels are left out; see
             --index-base, --features and --cols-ids
  plink      .bed of PLINK 1, beside its .fam and .bim
  csr-stream binary rows from a program on standard input
HDF5 (.h5ad, .h5 of 10x) is not read: the error names programs that convert it.

An input that can be read in several ways is refused with exit code 2, the
readings and the flag for each.

Memory stays within --memory for inputs of any size. Entries that do not fit are sorted on
the disk, in STORE.spool, and progress is saved regularly: --resume continues an
interrupted ingest of files from there.

With --engine, tasks read the INPUTs, files that all workers see under the same path, or s3://.
STORE has the same bytes.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd ingest ml-10M100K/ratings.dat -o ml-10m.csr
  gdsvd ingest 's3://logs/2024-*/plays.parquet' -o plays.csr --value count
  zcat ratings.csv.gz | gdsvd ingest - -o ratings.csr --columns userId,movieId,rating --memory 256MiB`,
		Args: atLeast(1, "no INPUT: name files, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			sifting := o.ValidateSifting()
			switch n := len(o.Columns); {
			case out == "" && !dry:
				return ui.Usagef(cmd, "no STORE to write: give one with -o")
			case n != 0 && (n < 2 || n > 4):
				return ui.Usagef(cmd, "--columns %s: want user,item or user,item,value or user,item,value,time", strings.Join(o.Columns, ","))
			case sifting != nil:
				return ui.Usage(cmd, sifting)
			case o.Features < 0:
				return ui.Usagef(cmd, "--features %d: want 0 or more", o.Features)
			case o.Events && n == 3:
				return ui.Usagef(cmd, "--value count with --columns %s: want user,item, as lines are counted", strings.Join(o.Columns, ","))
			case o.Events && o.Duplicates != ingest.DuplicatesError && o.Duplicates != ingest.Sum:
				return ui.Usagef(cmd, "--value count with --duplicates %v: it sums", o.Duplicates)
			case o.MaxBadLines < 0:
				return ui.Usagef(cmd, "--max-bad-lines %d: want 0 or more", o.MaxBadLines)
			}
			o.CheckpointEvery = every
			if every == 0 {
				o.CheckpointEvery = -1
			}
			o.Separator = strings.ReplaceAll(o.Separator, `\t`, "\t")
			o.Memory = a.sortingBudget(cmd, o.Memory)
			if engine != nil {
				var by *remote.Options
				if by, err = engine.options(cmd, a.fsys); err != nil {
					return err
				}
				if by != nil && dry {
					return ui.Usagef(cmd, "--engine %s reads nothing of a --dry-run: leave it out", engine.name)
				}
				if by != nil {
					defer func() { err = errors.Join(err, by.Engine.Close()) }()
					by.FS, by.Log = a.fsys, a.display.Logger()
					by.Local(o.Memory, 0, o.Workers)
					o.Tasks = reading(by)
				}
			}
			if dry {
				return look(cmd, args, out, o)
			}
			report, err := a.ingest(cmd, args, out, o)
			return a.ingested(cmd, report, err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "the `STORE` to write, a directory that does not exist yet")
	f.BoolVar(&dry, "dry-run", false, "write nothing; say what would be read, as gdsvd sniff does")
	formats := []string{"auto"}
	for _, f := range all.Formats(all.Options{}) {
		if f.Name != "" {
			formats = append(formats, f.Name)
		}
	}
	ui.ChoiceFlag(f, &o.Format, "format", "auto", ui.Words(formats), "format of the input")
	f.StringVar(&o.Separator, "sep", "", `what separates fields, \t for a tab (default: detected)`)
	f.StringSliceVar(&o.Columns, "columns", nil, "`user,item,value,time`: names in the header or numbers from 1; without value every entry is 1; time only for --since, --until and --holdout")
	ui.ChoiceFlag(f, &o.Events, "value", false, []ui.Choice[bool]{{Name: "auto", Value: false}, {Name: "count", Value: true}},
		"what the value is; count: how often a pair occurs, as in logs")
	ui.ChoiceFlag(f, &o.Header, "header", format.HeaderAuto,
		ui.Named(format.HeaderAuto, format.HeaderYes, format.HeaderNo), "the first line names the columns")
	ui.ChoiceFlag(f, &o.IndexBase, "index-base", format.BaseAuto,
		ui.Named(format.BaseAuto, format.BaseZero, format.BaseOne), "number of the first column in svmlight rows; auto is 1, or 0 if that occurs")
	f.Int64Var(&o.Features, "features", 0, "svmlight rows have `N` columns (0: as many as the largest index tells)")
	f.BoolVar(&o.KeepOrder, "keep-order", false, "leave rows and columns that have ids in the order of the input, instead of in ascending order of the ids")
	f.StringVar(&o.RowIDs, "rows-ids", "", "`FILE` of the ids of the rows of an input of indices, as Matrix Market and svmlight: one a line, in order")
	f.StringVar(&o.ColIDs, "cols-ids", "", "`FILE` of the ids of its columns")
	f.StringVar(&o.Titles, "titles", "", "`FILE` of ids and titles, such as movies.csv, kept beside the store (info --titles)")
	ui.ChoiceFlag(f, &o.Duplicates, "duplicates", ingest.DuplicatesError,
		ui.Named(ingest.DuplicatesError, ingest.Sum, ingest.Mean, ingest.First, ingest.Last, ingest.Max), "rule for several entries at one place")
	ui.ChoiceFlag(f, &o.Graph, "graph", ingest.NoGraph,
		ui.Named(ingest.NoGraph, ingest.Directed, ingest.Undirected), "entries are edges: one set of nodes, a square matrix; undirected ones stand in both triangles")
	ui.ChoiceFlag(f, &o.SelfLoops, "self-loops", ingest.LoopsKept,
		ui.Named(ingest.LoopsKept, ingest.LoopsDropped, ingest.LoopsError), "rule for an edge from a node to itself")
	ui.ChoiceFlag(f, &o.Orient, "orient", ingest.OrientAuto,
		ui.Named(ingest.OrientAuto, ingest.OrientRows, ingest.OrientCols), "the side that is stored as rows; auto takes the longer one")
	flags.Sift(f, &o)
	f.Int64Var(&o.MaxBadLines, "max-bad-lines", 0, "leave out up to `N` lines that cannot be read")
	a.makingFlags(f, &o)
	f.BoolVar(&o.Force, "force", false, "replace an existing store, in one step at the end; begin anew what was interrupted, unless with --resume")
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted ingest of these inputs; the store has the bytes of an uninterrupted ingest; if it is finished, only say so")
	f.DurationVar(&every, "checkpoint-every", ingest.DefaultCheckpointEvery, "time between checkpoints of an ingest that sorts on the disk (0: no checkpoints)")
	if engine != nil {
		engine.add(cmd)
		f.Lookup("groups").Usage = "with --engine: have the INPUTs read by `N` tasks, 2 to 4 a worker (0: 16); the store does not depend on it"
	}
	return cmd
}

// atLeast returns the Args of a command that takes n or more arguments; want is the error message.
func atLeast(n int, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return ui.Usagef(cmd, "%s", want)
		}
		return nil
	}
}

// makingFlags adds the flags that ingest and append share: those about how a store is made, not about its content.
func (a *app) makingFlags(f *pflag.FlagSet, o *ingest.Options) {
	o.Memory, o.ShardSize = ingest.DefaultMemory, csr.DefaultShard
	f.Var(ui.Size(&o.Memory, false), "memory", "memory to stay within; without it 60 % of what is available if that is less")
	f.Var(ui.Size(&o.ShardSize, false), "shard-size", "size of the files of the store")
	f.IntVar(&o.Workers, "workers", 0, "parse and sort with `N` threads (0: all processors)")
	f.StringVar(&o.RowTitles, "row-titles", "", "`FILE` of the titles of rows")
	f.StringVar(&o.ColTitles, "col-titles", "", "`FILE` of the titles of columns")
	a.recordFlags(f)
	f.BoolVar(&o.IgnoreSpace, "ignore-space", false, "begin even if the disk seems too full for the temporary files and the store")
}

// toldIngest returns an error of an ingest in the words of the command line, with what to do about it.
func toldIngest(cmd *cobra.Command, err error) error {
	_, ambiguous := errors.AsType[*format.AmbiguityError](err)
	_, noTasks := errors.AsType[*ingest.TasksError](err)
	_, noAppend := errors.AsType[*ingest.AppendError](err)
	if ambiguous || noTasks || noAppend {
		return ui.Usage(cmd, err)
	}
	if _, ok := errors.AsType[*ingest.SpaceError](err); ok {
		return fmt.Errorf("%w (--ignore-space begins nevertheless)", err)
	}
	if titles, ok := errors.AsType[*ingest.TitlesError](err); ok && errors.Is(err, context.Canceled) {
		return &factor.Error{Kind: err, Format: "interrupted; the store %s is complete, but for its titles", Args: []any{titles.Store}}
	}
	return ui.Unfinished(err)
}

func (a *app) ingest(cmd *cobra.Command, inputs []string, out string, o ingest.Options) (*ingest.Report, error) {
	return a.ingesting(cmd, "ingest", out, o, func(ctx context.Context, o ingest.Options) (*ingest.Report, error) {
		return ingest.Ingest(ctx, inputs, out, o)
	})
}

// ingesting runs an ingest within its memory budget, and shows progress under a name.
func (a *app) ingesting(cmd *cobra.Command, name, out string, o ingest.Options, run func(context.Context, ingest.Options) (*ingest.Report, error)) (_ *ingest.Report, err error) {
	defer heap.Limit(ingest.HeapLimit(a.budget(o.Memory)))()
	rec, end, err := a.record(cmd, live.About{Command: name, Out: out, Budget: o.Memory, Workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0))})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end(err)) }()
	o.FS, o.Stdin, o.Transport, o.Log = a.fsys, a.stdin, a.net, a.display.Logger()
	stage := ""
	o.Observer = func(p ingest.Progress) {
		if p.Stage != stage {
			stage = p.Stage
			a.display.Begin(name + ": " + stage)
		}
		now := ui.Counted(p.Done, p.Total, p.Entries, "entries")
		now.Bytes = p.Stage == ingest.StageRead
		a.display.Update(now)
		unit, known := map[string]string{ingest.StageRead: "bytes", "ids": "ids"}[p.Stage]
		if !known {
			unit = "entries"
		}
		rec.Stage(live.Stage{Name: p.Stage, Unit: unit, Done: p.Done, Total: p.Total, Entries: p.Entries})
	}
	defer a.display.End()
	return run(cmd.Context(), o)
}

type ingestResult struct {
	*ingest.Report
	FirstBad      []string      `json:"first_bad_lines"` // the first ten lines that could not be read
	BytesPerEntry factor.Number `json:"bytes_per_entry"` // bytes of the store per entry
	MBPerSecond   factor.Number `json:"mb_per_second"`   // megabytes (10⁶ bytes) of input per second
	PeakRSS       int64         `json:"peak_rss"`        // peak resident memory of the process
}

// ingested prints the report or returns the error of an ingest.
func (a *app) ingested(cmd *cobra.Command, report *ingest.Report, err error) error {
	if err != nil {
		return toldIngest(cmd, err)
	}
	if report.Finished {
		a.display.Logger().Info("the store is finished: there is nothing to resume", "store", report.Store)
	}
	return a.printIngest(report)
}

func (a *app) printIngest(report *ingest.Report) error {
	r := &ingestResult{
		Report: report, FirstBad: []string{}, PeakRSS: memory.PeakRSS(), BytesPerEntry: show.Ratio(float64(report.Bytes), float64(report.NNZ)),
		MBPerSecond: show.Ratio(float64(report.InputBytes)/1e6, report.Seconds.Total),
	}
	for _, err := range report.FirstBad {
		r.FirstBad = append(r.FirstBad, err.Error())
	}
	err := a.print(r, nil, func(out *show.Printer) {
		out.Printf("store\t%s\n", r.Store)
		out.Printf("shape\t%d × %d, %d entries\n", r.Rows, r.Cols, r.NNZ)
		out.Printf("size\t%s%s\n", memory.FormatSize(r.Bytes), perEntry(r.Bytes, r.NNZ))
		if !r.Finished {
			out.Printf("time\t%.2f s%s\n", r.Seconds.Total, known(", %.0f MB/s of input", r.MBPerSecond))
		}
		if r.RowTitles+r.ColTitles > 0 {
			out.Printf("titles\tof %d rows, %d columns\n", r.RowTitles, r.ColTitles)
		}
		out.Printf("duplicates\t%d\n", r.Duplicates)
		printSifted(out, report)
		out.Printf("bad lines\t%d\n", r.BadLines)
		for _, what := range slices.Sorted(maps.Keys(r.LeftOut)) {
			out.Printf("left out\t%d %s\n", r.LeftOut[what], what)
		}
	})
	if err != nil || a.json {
		return err
	}
	for _, line := range r.FirstBad {
		a.display.Logger().Warn("left out", "line", line)
	}
	if more := r.BadLines - int64(len(r.FirstBad)); more > 0 {
		a.display.Logger().Warn("left out more lines", "count", more)
	}
	return nil
}

func printSifted(out *show.Printer, r *ingest.Report) {
	f := r.Filtered
	if f.Outside > 0 {
		out.Printf("left out\t%d entries outside of --since and --until\n", f.Outside)
	}
	if f.Passes > 0 {
		out.Printf("left out\t%d entries below the least value, %d rows and %d columns with too few, and %d entries of these\n", f.Small, f.Rows, f.Cols, f.Entries)
	}
	if h := r.Heldout; h != nil {
		from := ""
		if !h.From.IsZero() {
			from = ", from " + h.From.Format(time.RFC3339Nano) + " on,"
		}
		out.Printf("held out\t%d entries (%.2f %%)%s in %s\n", h.NNZ, 100*show.Ratio(float64(h.NNZ), float64(h.NNZ+r.NNZ)), from, h.Store)
		out.Printf("empty\t%d rows and %d columns have all their entries held out\n", h.Rows, h.Cols)
	}
}

func (a *app) appendCommand() *cobra.Command {
	var (
		o   ingest.Options
		out string
	)
	cmd := &cobra.Command{
		Use:   "append STORE INPUT...",
		Short: "Merge more entries into a store",
		Long: `append merges the entries of more INPUTs, files, URLs, quoted patterns or - for
standard input, into a STORE that gdsvd ingest has made: new rows, columns and entries, with the options
the store was made with. The result has the same bytes as an ingest of all inputs at
once. It replaces the STORE in one step at the end, or is written to another one with -o;
until then the STORE is unchanged. --resume continues an interrupted append as it does an
ingest.

--duplicates can be chosen if no two entries of the STORE were at one place. Stores of
means, of rounded sums, of an input with a declared shape, or that were filtered or held
out from are refused: they lack data that the result depends on.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd append ratings.csr today.csv
  gdsvd append plays.csr 'new-*.csv.gz' --duplicates last -o plays2.csr`,
		Args: atLeast(2, "want a STORE and at least one INPUT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if a.standing.Given(cmd, "duplicates") && o.Duplicates == ingest.DuplicatesError {
				return ui.Usagef(cmd, "--duplicates error: without the flag the rule is that of %s, which error cannot replace: leave it out", args[0])
			}
			o.Memory = a.sortingBudget(cmd, o.Memory)
			report, err := a.ingesting(cmd, "append", cmp.Or(out, args[0]), o, func(ctx context.Context, o ingest.Options) (*ingest.Report, error) {
				return ingest.Append(ctx, args[0], args[1:], out, o)
			})
			return a.ingested(cmd, report, err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "the `STORE` to write; without it the STORE is replaced, in one step at the end")
	ui.ChoiceFlag(f, &o.Duplicates, "duplicates", ingest.DuplicatesError,
		ui.Named(ingest.DuplicatesError, ingest.Sum, ingest.Mean, ingest.First, ingest.Last, ingest.Max), "rule for an entry at a place that has one already; the default is the rule of the STORE")
	a.makingFlags(f, &o)
	f.BoolVar(&o.Force, "force", false, "with -o, replace an existing store, in one step at the end; begin anew what was interrupted, unless with --resume")
	f.BoolVar(&o.Resume, "resume", false, "continue an interrupted append of these inputs; if it is finished, only say so")
	return cmd
}

// sortingBudget returns the memory budget of an ingest: --memory, or without it the smaller one of ingest.DefaultMemory and
// 60 % of the available memory.
func (a *app) sortingBudget(cmd *cobra.Command, bytes int64) int64 {
	if cmd.Flags().Changed("memory") {
		return bytes
	}
	return min(bytes, a.budget(0))
}
