package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/flags"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/plan"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// planCommand says what the way from inputs to an exported result takes.
func (a *app) planCommand() *cobra.Command {
	var (
		o      svdOptions
		format string
	)
	cmd := a.ingestLike(func(cmd *cobra.Command, inputs []string, out string, in ingest.Options) error {
		if err := flags.CheckTriplets(cmd, &o.Options, o.most); err != nil {
			return err
		}
		o.explain = true // there is no OUT
		if err := a.checkRun(cmd, &o); err != nil {
			return err
		}
		w := way{app: a, cmd: cmd, inputs: inputs, out: out, ingest: in, factor: o.Options, format: format}
		w.ingest.FS, w.ingest.Stdin, w.ingest.Transport, w.ingest.Log = a.fsys, a.stdin, a.net, a.display.Logger()
		w.factor.Methods, w.factor.FS, w.factor.Memory = a.methods, a.fsys, a.budget(in.Memory)
		r, err := w.plan(cmd.Context())
		if err != nil {
			return toldIngest(cmd, err)
		}
		if a.json {
			return a.printJSON(r)
		}
		return a.printPlan(r)
	})
	cmd.Use, cmd.Short = "plan INPUT... -k K", "Say what ingest, svd and export would take in time, disk and memory"
	cmd.Long = `plan says what the way from each INPUT, or from a store, to exported vectors takes: time,
bytes on the disk and memory of each step, the least memory that works, and the commands
that go the way. It writes nothing, and reads the beginning of each INPUT alone, as gdsvd
sniff does; what is not known before, such as a shape, is a range.

Disk and memory follow from the input and the flags. The times are measured: how fast the
sample was read, and for a run of more than two seconds how fast this machine multiplies,
as it is now. How many passes a spectrum takes shows only in the run: from 0.7 to 2.5 times
those of the table of gdsvd svd --explain.

It takes the flags of ingest and those of svd.` + "\n" + ui.ExitHelp
	cmd.Example = `  gdsvd plan ratings.csv.gz -k 50 --memory 2GiB
  gdsvd plan cells.csr -k 50 --view 'log1p | center=columns' --json`
	f := cmd.Flags()
	dryOnly(cmd)
	f.Lookup("out").Usage = "name of the `STORE` in the commands"
	f.VarP(flags.Triplets{Of: &o.Options}, "rank", "k", "number `K` of triplets, or the share of the energy that as few as possible are to capture")
	f.IntVar(&o.most, "max-k", factor.DefaultMaxRank, "with a share: at most `N` triplets, for which memory is planned")
	f.StringVar(&o.view, "view", "", "what is factorised of the matrix: the `PIPELINE` of gdsvd svd --view")
	f.StringVar(&o.keep, "keep-cols", "", "columns alone whose ids are in `FILE`, or hvg:N (a store only)")
	o.method.Add(cmd, a.methods)
	f.Float64Var(&o.Tol, "tol", 1e-8, "tolerance of the stop rule")
	ui.ChoiceFlag(cmd, f, &o.Vectors, "vectors", "", factor.Both, ui.Named(factor.Both, factor.Left, factor.Right, factor.None), "vectors to write")
	ui.ChoiceFlag(cmd, f, &format, "export", "", "parquet", words(append([]string{"none"}, export.Formats()...)), "format that U and V are exported to")
	return cmd
}

// way is what is planned.
type way struct {
	*app
	cmd    *cobra.Command
	inputs []string
	out    string
	ingest ingest.Options
	factor factor.Options
	format string
}

// planResult is what plan prints.
type planResult struct {
	Inputs  []string         `json:"inputs"`
	Store   string           `json:"store"`  // that is planned for, or there
	Exists  bool             `json:"exists"` // it is there: there is no step ingest
	Rows    plan.Range       `json:"rows"`
	Cols    plan.Range       `json:"cols"`
	Entries plan.Range       `json:"entries"`
	K       int              `json:"k"`
	Flags   []string         `json:"flags"` // of the method
	Why     string           `json:"why"`   // it was chosen; "": it was given
	Passes  plan.Range       `json:"passes"`
	Memory  int64            `json:"memory"` // budget in bytes
	Least   planLeast        `json:"least_memory"`
	Free    *int64           `json:"free_bytes,omitempty"` // of the disk of the store; absent where that cannot be told
	Steps   []plan.Step      `json:"steps"`
	Total   plan.Step        `json:"total"` // temporary_bytes: beyond kept_bytes when the disk is at its fullest
	Machine *factor.Speed    `json:"machine,omitempty"`
	View    *factor.ViewPlan `json:"view,omitempty"`
	Says    []string         `json:"warnings"`
}

// planLeast is the least memory that works.
type planLeast struct {
	Ingest int64      `json:"ingest"` // 0: there is no such step
	SVD    plan.Range `json:"svd"`
	All    int64      `json:"all"` // enough for each step, whatever the shape turns out to be
}

// plan finds out what there is to be told.
func (w *way) plan(ctx context.Context) (*planResult, error) {
	r := &planResult{Memory: w.factor.Memory, Store: storeName(w.out, w.inputs), Says: []string{}}
	for _, in := range w.inputs {
		r.Inputs = append(r.Inputs, unsigned(in))
	}
	var first plan.Step
	m, err := w.matrix(ctx, r, &first)
	if err != nil {
		return nil, err
	}
	most := min(m.Low.Rows(), m.Low.Cols())
	if w.factor.Energy == 0 && int64(w.factor.Rank) > most && m.Low != m.Likely {
		return nil, ui.Usagef(w.cmd, "-k %d: the matrix may have no more than %d singular values", w.factor.Rank, most)
	}
	o := plan.Options{Factor: w.factor, Format: w.format}
	if w.format == "none" || w.factor.Vectors == factor.None {
		o.Format = ""
	}
	p, err := plan.Steps(ctx, m, o)
	err = errors.Join(err, m.Likely.Close())
	var small *plan.MemoryError
	if r.Exists = first.Name == ""; !r.Exists {
		r.Least.Ingest = ingest.LeastMemory()
	}
	if errors.As(err, &small) || err == nil && w.factor.Memory < r.Least.Ingest {
		if small == nil {
			small = &plan.MemoryError{Least: int64(p.Least.Likely)}
		}
		return nil, tooSmall(w.factor.Memory, r.Least.Ingest, small.Least)
	}
	if err != nil {
		return nil, err
	}
	e := p.Explanation
	r.K, r.Flags, r.Machine, r.View, r.Least.SVD = e.K, e.Plan.Flags, e.Measured, e.View, p.Least
	r.Least.All = max(r.Least.Ingest, int64(p.Least.High))
	if e.Choice != nil {
		r.Why = e.Choice.Reason
	}
	r.Passes = plan.Passes(e)
	if !r.Exists {
		r.Steps = append(r.Steps, first)
	}
	r.Steps = append(r.Steps, p.Steps...)
	w.commands(r, e)
	r.Total = plan.Total(r.Steps)
	w.warn(r)
	return r, nil
}

// tooSmall says which memory works.
func tooSmall(budget, ingest, run int64) error {
	needs := fmt.Sprintf("svd %s", memory.FormatSize(run))
	if ingest > 0 {
		needs = fmt.Sprintf("ingest %s, %s", memory.FormatSize(ingest), needs)
	}
	const mib = 1 << 20
	return fmt.Errorf("--memory %s is too small: the least that works is --memory %dMiB (%s)", strings.ReplaceAll(memory.FormatSize(budget), " ", ""), (max(ingest, run)+mib-1)/mib, needs)
}

// matrix opens the store, or sniffs at the inputs and fills in the step that makes one of them.
func (w *way) matrix(ctx context.Context, r *planResult, first *plan.Step) (m plan.Matrix, err error) {
	if len(w.inputs) == 1 {
		if _, err := w.fsys.Stat(filepath.Join(w.inputs[0], csr.ManifestName)); err == nil {
			r.Store = w.inputs[0]
			store, err := w.openFor(w.cmd, r.Store, w.factor)
			if err != nil {
				return m, err
			}
			rows, cols := factor.Dims(store)
			r.Rows, r.Cols, r.Entries = plan.Exactly(float64(rows)), plan.Exactly(float64(cols)), plan.Exactly(float64(store.NNZ()))
			return plan.Matrix{Low: store, Likely: store, High: store}, nil
		}
	}
	for _, step := range w.factor.View {
		if step.List != "" {
			return m, ui.Usagef(w.cmd, "%v needs the ids of a store: ingest %s first, then plan with the store", step, r.Inputs[0])
		}
	}
	o := w.ingest
	o.Memory = max(o.Memory, ingest.LeastMemory())
	d, err := ingest.Sniff(ctx, w.inputs, o)
	if err != nil {
		return m, err
	}
	if d.Entries == 0 {
		return m, fmt.Errorf("%s: the number of entries cannot be estimated, as the size of the input is not known: ingest it, then plan with the store", r.Inputs[0])
	}
	r.Says = append(r.Says, d.Warnings...)
	exact := d.Exact && d.ShapeKnown
	spread := func(x int64) plan.Range {
		if d.Exact {
			return plan.Exactly(float64(x))
		}
		return plan.Range{Low: entriesLow * float64(x), Likely: float64(x), High: entriesHigh * float64(x)}
	}
	between := func(likely int64, in ingest.Range) plan.Range {
		return plan.Range{Low: float64(min(in.Low, likely)), Likely: float64(likely), High: float64(max(in.High, likely))}
	}
	r.Rows, r.Cols, r.Entries = between(d.Likely[0], d.RowRange), between(d.Likely[1], d.ColRange), spread(d.Entries)
	outline := func(of func(plan.Range) float64, size plan.Range) *csr.Store {
		return csr.Outline{
			Path: r.Store, Rows: int64(of(r.Rows)), Cols: int64(of(r.Cols)), NNZ: int64(of(r.Entries)), Values: d.Values, Size: int64(of(size)),
			Transposed: o.Orient.Transposes(int64(of(r.Rows)), int64(of(r.Cols))),
		}.Plan()
	}
	size := plan.Range{Low: storeLow, Likely: 1, High: storeHigh}.Times(spread(d.Store))
	m.Likely = outline(func(x plan.Range) float64 { return x.Likely }, size)
	if m.Low, m.High = m.Likely, m.Likely; !exact {
		m.Low, m.High = outline(func(x plan.Range) float64 { return x.Low }, size), outline(func(x plan.Range) float64 { return x.High }, size)
	}
	*first = plan.Step{
		Name: "ingest", Seconds: plan.Range{Low: 0.5, Likely: 1, High: 2}.Times(plan.Exactly(d.Seconds)),
		Kept: size, Temporary: spread(d.Spool), Memory: collected(d.Peak, w.factor.Memory),
		Commands: [][]string{explicitCommand(w.ingestCommand(), w.cmd.Flags(), w.inputs, r.Store, d.Flags)},
	}
	return m, nil
}

// collected is the memory of an ingest, a range in bytes, from the bytes that it holds: on a loaded machine there is more garbage that has not been collected.
func collected(held, budget int64) plan.Range {
	of := func(times float64) float64 { return min(times*float64(held), float64(budget)) }
	return plan.Range{Low: of(0.9), Likely: of(1.2), High: of(1.7)}
}

// How far an estimated number of entries, and the bytes of a store of known entries, may be from the truth.
const (
	entriesLow, entriesHigh = 0.9, 1.1
	storeLow, storeHigh     = 0.8, 1.25
)

// commands adds those of the run and of what follows.
func (w *way) commands(r *planResult, e *factor.Explanation) {
	out := strings.TrimSuffix(r.Store, filepath.Ext(r.Store)) + ".svd"
	budget := "--memory=" + strings.ReplaceAll(memory.FormatSize(r.Memory), " ", "")
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Name {
		case "svd":
			run := w.svdCommand()
			command := append([]string{"gdsvd", "svd", r.Store, "-o", out, budget}, givenFlags(run, w.cmd.Flags(), func(name string) bool {
				return slices.Contains([]string{"memory", "checkpoint-every"}, name)
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

// warn says what would go wrong.
func (w *way) warn(r *planResult) {
	free, err := w.fsys.FreeSpace(filepath.Dir(r.Store))
	if err != nil {
		return
	}
	r.Free = &free
	full := r.Total.Kept.Plus(r.Total.Temporary)
	switch {
	case full.Likely > float64(free):
		r.Says = append(r.Says, fmt.Sprintf("the disk has %s free, the way takes %s", memory.FormatSize(free), memory.FormatSize(int64(full.Likely))))
	case full.High > float64(free):
		r.Says = append(r.Says, fmt.Sprintf("the disk has %s free, the way may take %s", memory.FormatSize(free), memory.FormatSize(int64(full.High))))
	}
	if high := int64(r.Least.SVD.High); high > r.Memory {
		r.Says = append(r.Says, fmt.Sprintf("--memory is enough for the shape that is likely; the largest takes %s at least", memory.FormatSize(high)))
	}
}

// printPlan prints a plan as a table of steps and the commands.
func (a *app) printPlan(r *planResult) error {
	out := &show.Printer{W: a.stdout}
	out.Printf("matrix  %s × %s, %s entries\n", howMany(r.Rows), howMany(r.Cols), howMany(r.Entries))
	out.Printf("method  %s\n", strings.Join(r.Flags[1:], " "))
	out.Printf("passes  %s\n\n", ranged(r.Passes, func(x float64) string { return fmt.Sprintf("%.0f", x) }))
	if out.Err != nil {
		return out.Err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "step\ttime\tstays on disk\tand meanwhile\tmemory\n")
	for _, s := range append(r.Steps, r.Total) {
		peak := ranged(s.Memory, sized)
		if s.Memory.High == 0 {
			peak = "as svd"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.Name, ranged(s.Seconds, hours), ranged(s.Kept, sized), ranged(s.Temporary, sized), peak)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	budget := strings.ReplaceAll(memory.FormatSize(r.Memory), " ", "")
	out.Printf("\nmemory  --memory %s is enough; the least that works is %s\n", budget, memory.FormatSize(r.Least.All))
	if r.Free != nil {
		out.Printf("disk    %s at its fullest, of %s free\n", ranged(r.Total.Kept.Plus(r.Total.Temporary), sized), memory.FormatSize(*r.Free))
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
	return out.Err
}

// ranged is a range in words: what is likely, and from where to where it may be.
func ranged(r plan.Range, text func(float64) string) string {
	low, likely, high := text(r.Low), text(r.Likely), text(r.High)
	if low == high {
		return likely
	}
	return low + "…" + high
}

// howMany is a number of things.
func howMany(r plan.Range) string {
	return ranged(r, func(x float64) string { return fmt.Sprintf("%.0f", x) })
}

// sized is a number of bytes.
func sized(x float64) string { return memory.FormatSize(int64(x)) }

// hours is a time as a person would say it, to the minute where it is hours.
func hours(s float64) string {
	switch {
	case s < 10:
		return fmt.Sprintf("%.1gs", max(s, 0.1))
	case s < 60:
		return fmt.Sprintf("%.0fs", s)
	case s < 3600:
		return fmt.Sprintf("%.0fm", s/60)
	}
	return fmt.Sprintf("%.1fh", s/3600)
}

// shellLines is a command as a shell takes it, over as many lines as it takes.
func shellLines(command []string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range command {
		word = quoted(word)
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
