package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/check"
	"github.com/gdsvd/gdsvd/internal/memory"
	"github.com/gdsvd/gdsvd/stream/remote"
)

type storeReport struct {
	Store    string   `json:"store"`    // the store
	OK       bool     `json:"ok"`       // whether the store is free of damage, as far as it was read
	Quick    bool     `json:"quick"`    // whether the blocks were skipped (`--quick`)
	Blocks   int      `json:"blocks"`   // number of blocks read
	Bytes    int64    `json:"bytes"`    // number of bytes read
	Problems []string `json:"problems"` // the damage found
	Warnings []string `json:"warnings"` // what is unusual but not damage
}

type resultReport struct {
	Result   string             `json:"result"`             // directory of the result
	OK       bool               `json:"ok"`                 // whether the result is free of damage
	Sealed   bool               `json:"sealed"`             // whether the result has checksums; if it has, they were compared
	Bytes    int64              `json:"bytes"`              // number of bytes read
	Problems []string           `json:"problems"`           // the damage found
	Warnings []string           `json:"warnings"`           // what is unusual but not damage
	Measured *check.Measurement `json:"measured,omitempty"` // what was measured with `--store`; absent without it
}

func (a *app) checkCommand() *cobra.Command {
	var (
		o      check.Options
		engine engineOptions
		quick  bool
	)
	cmd := &cobra.Command{
		Use:   "check STORE|OUT",
		Short: "Verify every byte of a store or a result; measure a result anew",
		Long: `check reads the whole store and verifies all checksums and the structure of
every block. It prints each problem with file, section and offset. With --engine, tasks read
the shards, or multiply for --store; the sum of the squares of all values is not compared.

Of a result it verifies all files: sizes and checksums against result.json, shapes,
that every entry is finite, and the checkpoint of an unfinished run. The format is
described in factor/RESULT.md. The output of gdsvd project and gdsvd align is verified
likewise.

With --store it also measures the result on the matrix, in one read of the store (two,
if the vectors of the shorter side are not there; more, where --memory has no room for
all triplets at once): for every triplet
max(‖Av−σu‖, ‖Aᵀu−σv‖)/σ₁, and max|UᵀU−I| and max|VᵀV−I|. It fails if a value exceeds the
one that result.json states, floors included, or --tol. The result may come from any
program: a directory with
U.npy, V.npy or Vt.npy, and sigma.npy or s.npy, as numpy.save writes them (float32 or
float64, values in descending or ascending order), rows and columns in the order of
gdsvd info STORE --ids. Residuals prove that the triplets are singular triplets of the
matrix, not that they are the leading ones.

An undamaged result that misses its stated residuals or --tol is an error (exit 1); a
result that states that it has not converged, and meets its stated residuals, exits with
4.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd check ml-10m.csr
  gdsvd check ml-10m.svd
  gdsvd check ml-10m.svd --store ml-10m.csr
  gdsvd check scipy.svd --store ml-10m.csr --tol 1e-8`,
		Args:              oneArgument("STORE or OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			given := func(flag string) bool { return a.standing.Given(cmd, flag) }
			switch {
			case o.Store == "" && cmd.Flags().Changed("store"):
				return ui.Usagef(cmd, "--store: name a store")
			case o.Store == "" && (given("tol") || given("memory") || given("workers")):
				return ui.Usagef(cmd, "--tol, --memory and --workers are for a result that is measured: give its --store")
			case cmd.Flags().Changed("tol") && !(o.Tol > 0 && o.Tol < 1):
				return ui.Usagef(cmd, "--tol %v: want a tolerance between 0 and 1, both excluded", o.Tol)
			}
			if o.Remote, err = engine.options(cmd, a.fsys); err != nil {
				return err
			}
			if o.Remote != nil {
				defer func() { err = errors.Join(err, o.Remote.Engine.Close()) }()
				o.Remote.FS, o.Remote.Log = a.fsys, a.display.Logger()
			}
			if o.Store != "" || check.Holds(a.fsys, args[0]) {
				if quick {
					return ui.Usagef(cmd, "--quick is for a store, %s is a result", args[0])
				}
				if o.Store == "" && o.Remote != nil {
					return ui.Usagef(cmd, "--engine %s is for a store, or a result that is measured: give its --store", engine.name)
				}
				return a.checkResult(cmd.Context(), args[0], o)
			}
			if quick && o.Remote != nil {
				return ui.Usagef(cmd, "--engine %s is for all blocks, which --quick does not read: leave out one of them", engine.name)
			}
			return a.checkStore(cmd.Context(), args[0], quick, o.Remote)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&quick, "quick", false, "only what opening a store checks, and the ids")
	f.StringVar(&o.Store, "store", "", "measure the result OUT on the matrix in `STORE`")
	f.Float64Var(&o.Tol, "tol", 0, "fail if a residual or the orthogonality is above this, whatever the result states (0: compare with that)")
	engine.add(cmd)
	f.Var(ui.Size(&o.Memory, true), "memory", "memory to stay within with --store; auto takes 60 % of what is available")
	f.IntVar(&o.Workers, "workers", 0, "multiply with `N` threads with --store (0: all processors)")
	return cmd
}

func (a *app) checkStore(ctx context.Context, path string, quick bool, by *remote.Options) (err error) {
	a.display.Begin("check")
	var report *csr.CheckReport
	if o := (csr.CheckOptions{FS: a.fsys, Quick: quick, Progress: a.checked}); by == nil || quick {
		report, err = csr.Check(ctx, path, o)
	} else {
		report, err = check.StoreBy(ctx, path, o, *by)
	}
	a.display.End()
	if err != nil {
		return err
	}
	r := storeReport{
		Store: path, OK: len(report.Problems) == 0, Quick: quick, Blocks: report.Blocks, Bytes: report.Bytes,
		Problems: messages(report.Problems), Warnings: append([]string{}, report.Warnings...),
	}
	err = a.print(r, nil, func(out *show.Printer) {
		printFindings(out, r.Problems, r.Warnings)
		switch {
		case r.OK && quick:
			out.Printf("%s is sound as far as its frame shows; the contents of its %d blocks were not read\n", path, r.Blocks)
		case r.OK:
			out.Printf("%s is sound: %d blocks, %s read\n", path, r.Blocks, memory.FormatSize(r.Bytes))
		}
	})
	if err == nil && !r.OK {
		err = ui.ErrProblems
	}
	return err
}

func (a *app) checkResult(ctx context.Context, dir string, o check.Options) error {
	if o.Store != "" {
		o.Memory = cmp.Or(o.Memory, factor.DefaultMemory())
		defer heap.Limit(heap.Unplanned(o.Memory))()
	}
	o.FS, o.Log, o.Progress = a.fsys, a.display.Logger(), a.checked
	o.Planned = func(m factor.Memory) error {
		heap.Limit(heap.Planned(m)) // until the limit above is restored
		return nil
	}
	a.display.Begin("check")
	report, err := check.Result(ctx, dir, o)
	a.display.End()
	if err != nil {
		return err
	}
	verdict := report.Err()
	r := resultReport{
		Result: dir, OK: verdict == nil, Sealed: report.Sealed, Bytes: report.Bytes,
		Problems: messages(report.Problems), Warnings: append([]string{}, report.Warnings...), Measured: report.Measured,
	}
	err = a.print(r, nil, func(out *show.Printer) {
		printFindings(out, r.Problems, r.Warnings)
		if r.Measured != nil {
			show.Measured(out, r.Measured)
		}
		if len(r.Problems) == 0 {
			out.Printf("%s\n", report.Sound())
		}
		if line := cmp.Or(report.Continue(), a.runOf(ctx, dir)); line != "" {
			out.Printf("%s\n", line)
		}
	})
	return errors.Join(err, verdict)
}

// checked shows the progress of a check. It may be called from any goroutine.
func (a *app) checked(done, total int64) {
	a.display.Update(ui.State{Done: done, Total: total, Bytes: true})
}

func messages(errs []error) []string {
	all := []string{}
	for _, err := range errs {
		all = append(all, ui.Message(err))
	}
	return all
}

func printFindings(out *show.Printer, problems, warnings []string) {
	for _, p := range problems {
		out.Printf("%s\n", p)
	}
	for _, w := range warnings {
		out.Printf("warning: %s\n", w)
	}
}
