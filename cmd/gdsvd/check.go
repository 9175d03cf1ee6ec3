package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/internal/memory"
)

// checkResult is what gdsvd check prints.
type checkResult struct {
	Store    string   `json:"store"`
	OK       bool     `json:"ok"`
	Quick    bool     `json:"quick"`
	Blocks   int      `json:"blocks"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

// checkOptions are the flags of gdsvd check.
type checkOptions struct {
	quick   bool
	store   string  // the store a result is measured on
	tol     float64 // 0: that of the result
	memory  int64   // 0: autoMemory
	workers int     // 0: all processors
}

func (a *app) checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check STORE|OUT",
		Short: "Verify every byte of a store or a result; measure a result anew",
		Long: `check reads the whole store and verifies all checksums and the structure of
every block. It prints each problem with file, section and offset.

Of a result it verifies all files: sizes and checksums against result.json, shapes,
that every entry is finite, and the checkpoint of an unfinished run. The format is
described in cmd/gdsvd/RESULT.md.

With --store it also measures the result on the matrix, in one read of the store (two,
if the vectors of the shorter side are not there; more, where --memory has no room for
all triplets at once): for every triplet
max(‖Av−σu‖, ‖Aᵀu−σv‖)/σ₁, and max|UᵀU−I| and max|VᵀV−I|. It fails where that is more than
result.json states, its floors included, or than --tol. The result may be of any program: a directory with
U.npy, V.npy or Vt.npy, and sigma.npy or s.npy, as numpy.save writes them (float32 or
float64, values in descending or ascending order), rows and columns in the order of
gdsvd info STORE --ids. Residuals say that the triplets are singular triplets of the
matrix, not that they are the leading ones.

A result that is sound but misses what it states, or --tol, is an error (exit 1); one
that says itself that it has not converged, and is as good as it says, exits with 4.` + "\n" + exitHelp,
		Example: `  gdsvd check ml-10m.csr
  gdsvd check ml-10m.svd
  gdsvd check ml-10m.svd --store ml-10m.csr
  gdsvd check scipy.svd --store ml-10m.csr --tol 1e-8`,
		Args:              oneArgument("STORE or OUT"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			if o.store != "" || holdsResult(a.fsys, args[0]) {
				if o.quick {
					return usagef(cmd, "--quick is for a store, %s is a result", args[0])
				}
				return a.checkResult(cmd.Context(), args[0], o)
			}
			return a.checkStore(cmd.Context(), args[0], o.quick)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.quick, "quick", false, "only what opening a store checks, and the ids")
	f.StringVar(&o.store, "store", "", "measure the result OUT on the matrix in `STORE`")
	f.Float64Var(&o.tol, "tol", 0, "fail if a residual or the orthogonality is above this, whatever the result states (0: compare with that)")
	f.Var(sizeValue{p: &o.memory, auto: true}, "memory", "memory to stay within with --store; auto takes 60 % of what is available")
	f.IntVar(&o.workers, "workers", 0, "multiply with `N` threads with --store (0: all processors)")
	return cmd
}

func (o *checkOptions) check(cmd *cobra.Command) error {
	f := cmd.Flags()
	switch {
	case o.store == "" && f.Changed("store"):
		return usagef(cmd, "--store: name a store")
	case o.store == "" && (f.Changed("tol") || f.Changed("memory") || f.Changed("workers")):
		return usagef(cmd, "--tol, --memory and --workers are for a result that is measured: give its --store")
	case f.Changed("tol") && !(o.tol > 0 && o.tol < 1):
		return usagef(cmd, "--tol %v: want a tolerance between 0 and 1, both excluded", o.tol)
	case o.workers < 0:
		return usagef(cmd, "--workers %d: want 1 or more, or 0 for all processors", o.workers)
	}
	return nil
}

func (a *app) checkStore(ctx context.Context, path string, quick bool) error {
	a.display.Begin("check")
	report, err := csr.Check(ctx, path, csr.CheckOptions{
		FS: a.fsys, Quick: quick,
		Progress: func(done, total int64) {
			a.display.Update(progress.State{Done: done, Total: total, Bytes: true})
		},
	})
	a.display.End()
	if err != nil {
		return err
	}
	return a.printCheck(path, quick, report)
}

func (a *app) printCheck(path string, quick bool, report *csr.CheckReport) error {
	r := checkResult{
		Store: path, OK: len(report.Problems) == 0, Quick: quick, Blocks: report.Blocks, Bytes: report.Bytes,
		Problems: []string{}, Warnings: append([]string{}, report.Warnings...),
	}
	for _, p := range report.Problems {
		r.Problems = append(r.Problems, message(p))
	}
	var printed error
	if a.json {
		printed = a.printJSON(r)
	} else {
		out := &errWriter{w: a.stdout}
		for _, p := range r.Problems {
			out.printf("%s\n", p)
		}
		for _, w := range r.Warnings {
			out.printf("warning: %s\n", w)
		}
		switch {
		case r.OK && quick:
			out.printf("%s is sound as far as its frame shows; the contents of its %d blocks were not read\n", path, r.Blocks)
		case r.OK:
			out.printf("%s is sound: %d blocks, %s read\n", path, r.Blocks, memory.FormatSize(r.Bytes))
		}
		printed = out.err
	}
	if printed != nil {
		return printed
	}
	if !r.OK {
		return errProblems
	}
	return nil
}
