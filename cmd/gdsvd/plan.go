package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/flags"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/plan"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/escape"
	"github.com/gdsvd/gdsvd/internal/memory"
	objects "github.com/gdsvd/gdsvd/internal/remote"
	"github.com/gdsvd/gdsvd/stream/remote"
)

func (a *app) planCommand() *cobra.Command {
	var (
		o      svdOptions
		format string
	)
	cmd := a.ingestLike(nil, func(cmd *cobra.Command, inputs []string, out string, in ingest.Options) error {
		if err := flags.CheckTriplets(cmd, &o.Options, o.most); err != nil {
			return err
		}
		o.explain, o.Workers, o.CheckpointEvery = true, in.Workers, factor.DefaultCheckpointEvery // plan has no OUT
		if err := a.checkRun(cmd, &o); err != nil {
			return err
		}
		workers, cost, most := 0, engineCost{}, in.Memory
		if o.engine.name != "" {
			if err := o.engine.known(cmd); err != nil {
				return err
			}
			if workers = in.Workers; workers < 1 {
				return ui.Usagef(cmd, "--engine %s: say how many workers it has with --workers", o.engine.name)
			}
			if in.Workers = 0; !cmd.Flags().Changed("memory") {
				most = 0 // the default of svd, which holds all its vectors in memory
			}
			for name, value := range map[string]string{"groups": strconv.Itoa(3 * workers), "shared": storeName(out, inputs) + ".shared"} {
				if now := cmd.Flags().Lookup(name).Value.String(); now == "" || now == "0" {
					_ = cmd.Flags().Set(name, value) // so that the printed commands have them, too
				}
			}
			o.Remote, o.PassCost = &remote.Options{Groups: o.engine.groups}, o.engine.pass // the choice of a method depends on the cost, the same for every engine
			cost, o.Workers = o.engine.forecast(workers)
			if cmd.Flags().Changed("pass-cost") {
				cost.pass = o.engine.pass.Seconds()
			}
		}
		w := way{workers: workers, cost: cost, bucket: strings.HasPrefix(o.engine.shared, "s3://"), app: a, cmd: cmd, inputs: inputs, out: out, ingest: in, factor: o.Options, format: format}
		w.ingest.FS, w.ingest.Stdin, w.ingest.Transport, w.ingest.Log = a.fsys, a.stdin, a.net, a.display.Logger()
		w.factor.Methods, w.factor.FS, w.factor.Memory = a.methods, a.fsys, a.budget(most)
		r, err := w.plan(cmd.Context())
		if err != nil {
			err = toldIngest(cmd, err)
		}
		return a.print(r, err, func(out *show.Printer) { a.printPlan(out, r) })
	})
	cmd.Use, cmd.Short = "plan INPUT... -k K", "Say what ingest, svd and export would take in time, disk and memory"
	cmd.Long = `plan forecasts all steps from an INPUT, or a store, to exported vectors: time, bytes on
the disk and memory of each step, the least memory that works, and the commands. It writes
nothing, and reads only the beginning of each INPUT, as gdsvd sniff does; quantities that
are not known in advance, such as a shape, are ranges.

Disk and memory follow from the input and the flags. The times are measured: how fast the
sample was read, and how fast this machine multiplies, as it is now. The number of passes depends
on the spectrum, which only the run shows: 0.7 to 2.5 times that of gdsvd svd --explain.

It takes the flags of ingest and svd that are listed below.` + "\n" + ui.ExitHelp
	cmd.Example = `  gdsvd plan ratings.csv.gz -k 50 --memory 2GiB
  gdsvd plan cells.csr -k 50 --view 'log1p | center=columns' --json`
	f := cmd.Flags()
	dryOnly(cmd)
	f.Lookup("out").Usage = "name of the `STORE` in the commands"
	f.VarP(flags.Triplets{Of: &o.Options}, "rank", "k", "number `K` of triplets, or the share of the energy to capture with as few triplets as possible")
	f.IntVar(&o.most, "max-k", factor.DefaultMaxRank, "with a share: at most `N` triplets, for which memory is planned")
	f.StringVar(&o.view, "view", "", "factorise a view of the matrix: the `PIPELINE` of gdsvd svd --view")
	completeView(cmd, "view", "|")
	f.StringVar(&o.keep, "keep-cols", "", "columns alone whose ids are in `FILE`, or hvg:N (a store only)")
	o.method.Add(cmd, a.methods)
	f.StringVar(&o.engine.name, "engine", "", "say what tasks of `ENGINE` would take, with --workers workers as fast as this machine")
	f.StringVar(&o.engine.shared, "shared", "", "with --engine: `DIR`, or s3://BUCKET/PREFIX, that would be shared")
	f.IntVar(&o.engine.groups, "groups", 0, "with --engine: `N` groups (0: 3 a worker)")
	f.DurationVar(&o.engine.pass, "pass-cost", usualPassCost, "with --engine: overhead of a pass")
	f.Lookup("workers").Usage += "; with --engine: workers of the engine"
	f.Float64Var(&o.Tol, "tol", 1e-8, "tolerance of the stop rule")
	ui.ChoiceFlag(f, &o.Vectors, "vectors", factor.Both, ui.Named(factor.Both, factor.Left, factor.Right, factor.None), "vectors to write")
	ui.ChoiceFlag(f, &format, "export", "parquet", ui.Words(append([]string{"none"}, export.Formats()...)), "format that U and V are exported to")
	return cmd
}

type planned struct {
	Inputs []string `json:"inputs"` // the inputs, as on the command line
	Store  string   `json:"store"`  // path of the store
	Exists bool     `json:"exists"` // whether the store exists; if it does, there is no step `ingest`
	*plan.Way
}

type way struct {
	*app
	cmd    *cobra.Command
	inputs []string
	out    string
	ingest ingest.Options
	factor factor.Options
	format string

	workers int // number of workers of an engine; 0: no engine
	cost    engineCost
	bucket  bool
}

func (w *way) plan(ctx context.Context) (*planned, error) {
	r := &planned{Store: storeName(w.out, w.inputs)}
	for _, in := range w.inputs {
		r.Inputs = append(r.Inputs, unsigned(in))
	}
	if len(w.inputs) == 1 {
		var err error
		if r.Exists, err = w.holds(w.inputs[0], csr.ManifestName); err != nil {
			return nil, err
		}
	}
	o := plan.Options{Factor: w.factor, Format: w.format, Workers: w.workers, Pass: w.cost.pass, Start: w.cost.start, Bucket: w.bucket}
	if w.format == "none" {
		o.Format = ""
	}
	var made []string // of the ingest
	var in plan.Input
	if r.Exists {
		r.Store = w.inputs[0]
		store, err := w.openFor(w.cmd, r.Store, "", w.factor)
		if err != nil {
			return nil, err
		}
		in = plan.OfStore(store)
	} else {
		d, err := w.sniff(ctx)
		if err != nil {
			return nil, err
		}
		between := func(likely int64, r ingest.Range) plan.Range {
			return plan.Range{Low: float64(min(r.Low, likely)), Likely: float64(likely), High: float64(max(r.High, likely))}
		}
		in = plan.Expected(plan.Estimate{
			Path: r.Store, Rows: between(d.Likely[0], d.RowRange), Cols: between(d.Likely[1], d.ColRange), Entries: d.Entries, Exact: d.Exact, ShapeKnown: d.ShapeKnown,
			Values: d.Values, Transposes: w.ingest.Orient.Transposes, Store: d.Store, Spool: d.Spool, Peak: d.Peak, Least: ingest.LeastMemory(), Seconds: d.Seconds,
			Warnings: d.Warnings,
		}, w.factor.Memory)
		made = explicitCommand(w.ingestCommand(), w.cmd.Flags(), w.inputs, r.Store, d.Flags)
		if most := in.SureRank(); w.factor.Energy == 0 && int64(w.factor.Rank) > most && in.Estimated() {
			return nil, ui.Usagef(w.cmd, "-k %d: the matrix may have no more than %d singular values", w.factor.Rank, most)
		}
	}
	var err error
	r.Way, err = in.Way(ctx, o)
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, tooSmall(err)
	}
	w.commands(r, made)
	return r, nil
}

// tooSmall adds to a MemoryError the smallest memory that suffices.
func tooSmall(err error) error {
	e, ok := errors.AsType[*plan.MemoryError](err)
	if !ok {
		return err
	}
	needs := fmt.Sprintf("svd %s", memory.FormatSize(e.Run))
	if e.Ingest > 0 {
		needs = fmt.Sprintf("ingest %s, %s", memory.FormatSize(e.Ingest), needs)
	}
	const mib = 1 << 20
	return fmt.Errorf("--memory %s is too small: the least that works is --memory %dMiB (%s)", asFlag(e.Budget), (max(e.Ingest, e.Run)+mib-1)/mib, needs)
}

// asFlag returns a size as --memory accepts it.
func asFlag(bytes int64) string { return ui.Size(&bytes, false).String() }

func (w *way) sniff(ctx context.Context) (*ingest.Description, error) {
	for _, step := range w.factor.View {
		if step.List != "" {
			return nil, ui.Usagef(w.cmd, "%v needs the ids of a store: ingest %s first, then plan with the store", step, unsigned(w.inputs[0]))
		}
	}
	o := w.ingest
	o.Memory = max(o.Memory, ingest.LeastMemory())
	d, err := ingest.Sniff(ctx, w.inputs, o)
	if err == nil && d.Sampled == 0 {
		err = fmt.Errorf("%s: what was read of it has no entries, so that there is nothing to plan", unsigned(w.inputs[0]))
	} else if err == nil && d.Entries == 0 {
		err = fmt.Errorf("%s: the number of entries cannot be estimated, as the size of the input is not known: ingest it, then plan with the store", unsigned(w.inputs[0]))
	}
	return d, err
}

// commands sets the commands of all steps; made is the command of the ingest.
func (w *way) commands(r *planned, made []string) {
	store := strings.TrimRight(r.Store, "/")
	if objects.Is(store) {
		store = filepath.Base(store) // nothing is written to a bucket
	}
	out := strings.TrimSuffix(store, filepath.Ext(store)) + ".svd"
	budget := "--memory=" + asFlag(r.Memory)
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Name {
		case "ingest":
			s.Commands = [][]string{made}
		case "svd":
			run := w.svdCommand()
			command := append([]string{"gdsvd", "svd", r.Store, "-o", out, budget}, givenFlags(run, w.cmd.Flags(), func(name string) bool {
				return slices.Contains([]string{"memory", "checkpoint-every"}, name) || name == "workers" && w.workers > 0
			})...)
			s.Commands = [][]string{command}
		case "export":
			for _, side := range []struct {
				name string
				not  factor.Vectors
			}{{"U", factor.Right}, {"V", factor.Left}} {
				if w.factor.Vectors == side.not {
					continue
				}
				file := strings.TrimSuffix(out, ".svd") + "-" + side.name + "." + strings.TrimSuffix(w.format, "32")
				s.Commands = append(s.Commands, []string{"gdsvd", "export", out, "--what", side.name, "--format", w.format, "-o", file})
			}
		}
	}
}

func (a *app) printPlan(out *show.Printer, r *planned) {
	out.Printf("matrix  %s × %s, %s entries\n", howMany(r.Rows), howMany(r.Cols), howMany(r.Entries))
	out.Printf("method  %s\n", strings.Join(r.Flags[1:], " "))
	out.Printf("passes  %s\n", howMany(r.Passes))
	printTasks(out, r)
	out.Printf("\n")
	out.Printf("step\ttime\tdisk\ttemporary\tmemory\n")
	for _, s := range append(r.Steps, r.Total) {
		peak := ranged(s.Memory, sized)
		if s.Memory.High == 0 {
			peak = "as svd"
		}
		out.Printf("%s\t%s\t%s\t%s\t%s\n", s.Name, ranged(s.Seconds, hours), ranged(s.Kept, sized), ranged(s.Temporary, sized), peak)
	}
	out.Printf("\nmemory  --memory %s is enough; the least that works is %d MiB\n", asFlag(r.Memory), (r.Least.All+1<<20-1)>>20)
	if r.Free != nil {
		out.Printf("disk    %s at the peak, of %s free\n", ranged(r.Total.Kept.Plus(r.Total.Temporary), sized), memory.FormatSize(*r.Free))
	}
	for _, text := range r.Says {
		out.Printf("%s\n", ui.Fold("warning  "+text, a.columns()))
	}
	out.Printf("\n")
	for _, s := range r.Steps {
		for _, c := range s.Commands {
			out.Printf("%s\n", shellLines(c, a.columns()))
		}
	}
}

func printTasks(out *show.Printer, r *planned) {
	f := r.Tasks
	if f == nil {
		return
	}
	clock := func(s float64) string { return fmt.Sprintf("%.2g s", s) }
	out.Printf("engine  %s, %s, %d columns a pass: %d passes and left vectors take about %s\n", show.Plural(f.Workers, "worker"), show.Plural(f.Groups, "group"), f.Width, f.Passes, hours(f.Total))
	out.Printf("a pass  %s of work, %s in the shared folder, %s beside, %s of the driver; left vectors %s, once; most goes to: %s\n",
		clock(f.Work), clock(f.Shared), clock(f.Fixed), clock(f.Dense), clock(f.Left), f.Limit)
	out.Printf("shared  %s read and %s written a pass; as a bucket %d GET and %d PUT, %.0f and %.0f a second of 5500 and 3500 for a prefix\n",
		memory.FormatSize(f.Read), memory.FormatSize(f.Written), f.Gets, f.Puts, f.GetRate, f.PutRate)
	out.Printf("best    --groups %d: about %s\n", r.Best.Groups, hours(r.Best.Total))
}

// ranged returns a range as text: its ends, or the likely value if both ends have the same text.
func ranged(r plan.Range, text func(float64) string) string {
	if low, high := text(r.Low), text(r.High); low != high {
		return low + "…" + high
	}
	return text(r.Likely)
}

func howMany(r plan.Range) string {
	return ranged(r, func(x float64) string { return fmt.Sprintf("%.0f", x) })
}

func sized(x float64) string { return memory.FormatSize(int64(x)) }

// hours returns a time as text for people, with fewer digits the longer it is.
func hours(s float64) string {
	switch {
	case s < 9.5:
		return fmt.Sprintf("%.1gs", max(s, 0.1))
	case s < 60:
		return fmt.Sprintf("%.0fs", s)
	case s < 3600:
		return fmt.Sprintf("%.0fm", s/60)
	}
	return fmt.Sprintf("%.1fh", s/3600)
}

// shellLines returns a command for a shell, broken into lines of the given width.
func shellLines(command []string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range command {
		word = escape.Command(word)
		switch n := len([]rune(word)); {
		case i == 0:
			at = n
		case at+1+n > width-2:
			b.WriteString(" \\\n  ")
			at = 2 + n
		default:
			b.WriteString(" ")
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}
