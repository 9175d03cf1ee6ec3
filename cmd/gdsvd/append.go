package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/ingest"
)

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
once. It takes the place of the STORE in one step at the end, or is written to another one
with -o; until then the STORE is what it was. An append that is interrupted goes on with --resume
where an ingest would.

--duplicates can be chosen if no two entries of the STORE were at one place. Nothing is appended to means,
to sums that were rounded, or to an input of a declared shape: the store does not hold enough of them.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd append ratings.csr today.csv
  gdsvd append plays.csr 'new-*.csv.gz' --duplicates last -o plays2.csr`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return ui.Usagef(cmd, "want a STORE and at least one INPUT")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Memory = a.sortingBudget(cmd, o.Memory)
			report, err := a.ingesting(cmd, "append", cmp.Or(out, args[0]), o, func(ctx context.Context, o ingest.Options) (*ingest.Report, error) {
				return ingest.Append(ctx, args[0], args[1:], out, o)
			})
			if refused := (*ingest.AppendError)(nil); errors.As(err, &refused) {
				return ui.Usage(cmd, err)
			}
			if err != nil {
				return toldIngest(cmd, err)
			}
			if report.Finished {
				a.nothingToResume("store", report.Store)
			}
			return a.printIngest(report)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "the `STORE` to write; without it the STORE is replaced, in one step at the end")
	ui.ChoiceFlag(cmd, f, &o.Duplicates, "duplicates", "", ingest.DuplicatesError,
		ui.Named(ingest.DuplicatesError, ingest.Sum, ingest.Mean, ingest.First, ingest.Last, ingest.Max), "what becomes of an entry at a place that has one; the default is what the STORE was made with")
	f.StringVar(&o.RowTitles, "row-titles", "", "`FILE` of the titles of rows")
	f.StringVar(&o.ColTitles, "col-titles", "", "`FILE` of the titles of columns")
	o.Memory, o.ShardSize = ingest.DefaultMemory, csr.DefaultShard
	f.Var(ui.Size(&o.Memory, false), "memory", "memory to stay within; without it 60 % of what is available if that is less")
	f.Var(ui.Size(&o.ShardSize, false), "shard-size", "size of the files of the store")
	f.IntVar(&o.Workers, "workers", 0, "parse and sort with `N` threads (0: all processors)")
	f.BoolVar(&o.Force, "force", false, "with -o, replace an existing store, in one step at the end; begin anew what was interrupted, unless with --resume")
	f.BoolVar(&o.Resume, "resume", false, "go on where an append of these inputs was interrupted; if it is finished, only say so")
	a.recordFlags(f)
	f.BoolVar(&o.IgnoreSpace, "ignore-space", false, "begin even if the disk seems too full for the temporary files and the store")
	return cmd
}
