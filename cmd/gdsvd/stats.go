package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
)

func (a *app) statsCommand() *cobra.Command {
	var (
		of lookFlags
		o  look.StatsOptions
	)
	cmd := &cobra.Command{
		Use:   "stats STORE",
		Short: "Sum up the rows and columns of a store or a view of it",
		Long: `stats reads STORE once, besides what --view takes, and prints how many entries rows and
columns have and which have most. With -o it writes the numbers of every row and column:

  rows-count.npy, rows-sum.npy, rows-mean.npy, rows-variance.npy, rows.csv
  cols-count.npy, cols-sum.npy, cols-mean.npy, cols-variance.npy, cols.csv
  stats.json     what is printed, as --json prints it

Arrays are of float64, in the order of gdsvd info STORE --ids; tables have the ids, and
the titles if the store has them. A count is of entries that are not 0. Means and
variances are those of all elements, zeros included, and divided by their number (ddof 0).` + "\n" + ui.ExitHelp,
		Example: `  gdsvd stats ml-10m.csr
  gdsvd stats ml-10m.csr -o ml-10m.stats --view 'normalize=rows,total:10000 | log1p'`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Dir == "" && cmd.Flags().Changed("out") {
				return ui.Usagef(cmd, "the name of the OUT is empty")
			}
			if o.Replace && o.Dir == "" && cmd.Flags().Changed("force") {
				return ui.Usagef(cmd, "--force is for an OUT to write: give one with -o")
			}
			var s *look.Stats
			err := a.look(cmd, args[0], &of, func(store *csr.Store) (err error) {
				o.Options = of.Options
				s, err = look.Summarise(cmd.Context(), store, o)
				return err
			})
			return a.print(s, err, func(out *show.Printer) { printStats(out, s) })
		},
	}
	f := cmd.Flags()
	addLookFlags(f, &of)
	completeView(cmd)
	f.StringVarP(&o.Dir, "out", "o", "", "the directory `OUT` to write")
	f.BoolVar(&o.Replace, "force", false, "replace statistics that are there, in one step at the end")
	return cmd
}

func printStats(out *show.Printer, s *look.Stats) {
	out.Printf("store\t%s\n", s.Store)
	if s.View != "" {
		out.Printf("view\t%s\n", s.View)
	}
	out.Printf("matrix\t%d × %d, %d entries; sum %.6g, mean of all elements %.6g, norm %.6g\n", s.Rows.Number, s.Cols.Number, s.Entries, s.Sum, s.Mean, s.Norm)
	printSide(out, "rows", s.Rows)
	printSide(out, "columns", s.Cols)
	if s.Dir != "" {
		out.Printf("\nwritten to %s\n", s.Dir)
	}
}

// printSide prints how long the rows or columns are, and the longest.
func printSide(out *show.Printer, what string, s look.SideStats) {
	if len(s.Quantiles) == 0 {
		return
	}
	out.Printf("\nentries of the %d %s, of which %d are empty\n", s.Number, what, s.Empty)
	var shares, lengths []string
	for _, q := range s.Quantiles {
		share := fmt.Sprintf("%g %%", 100*q.Share)
		switch q.Share {
		case 0:
			share = "min"
		case 1:
			share = "max"
		}
		shares, lengths = append(shares, share), append(lengths, fmt.Sprint(q.Length))
	}
	out.Printf("  %s\n  %s\n", strings.Join(shares, "\t"), strings.Join(lengths, "\t"))
	if len(s.Largest) == 0 {
		return
	}
	out.Printf("\nlargest %s\tentries\tsum\tmean\tvariance\n", what)
	for _, l := range s.Largest {
		out.Printf("  %v\t%d\t%.6g\t%.6g\t%.6g\n", l.Name, l.Count, l.Sum, l.Mean, l.Variance)
	}
}
