package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/stream/view"
)

func (a *app) viewCommand() *cobra.Command {
	var (
		of   lookFlags
		o    look.PeekOptions
		rows string
	)
	cmd := &cobra.Command{
		Use:   "view STORE",
		Short: "Print some rows of a store or a view of it",
		Long: `view prints rows of the matrix in STORE after the steps of --view, to inspect before svd
runs with the same --view: the first ones that have entries, or those with some ids.
Each entry has the id of its column, and its title if the store has titles. A line gives the value of the
elements without an entry: 0, or their value after centring.

A store of a matrix with more columns than rows is stored by columns, as gdsvd info says:
all of it is then read to show a row.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd view ml-10m.csr --view bm25 --head 3
  gdsvd view ml-10m.csr --view center=columns --rows 4711,4712 --json`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			switch given := cmd.Flags().Changed; {
			case given("rows") && given("head"):
				return ui.Usagef(cmd, "--rows names the rows: leave out --head")
			case given("rows"):
				if o.Rows, err = a.idsOf("--rows", rows); err != nil {
					return err
				}
				if len(o.Rows) > look.MaxPeekRows {
					return ui.Usagef(cmd, "--rows: %d ids, want %d at most", len(o.Rows), look.MaxPeekRows)
				}
			case o.Head < 1 || o.Head > look.MaxPeekRows:
				return ui.Usagef(cmd, "--head %d: want 1 to %d", o.Head, look.MaxPeekRows)
			}
			if o.Entries < 1 || o.Entries > look.MaxPeekEntries {
				return ui.Usagef(cmd, "--entries %d: want 1 to %d", o.Entries, look.MaxPeekEntries)
			}
			var p *look.Peeked
			err = a.look(cmd, args[0], &of, func(store *csr.Store) (err error) {
				o.Options = of.Options
				p, err = look.Peek(cmd.Context(), store, o)
				if ids := strings.Join(o.Rows, ","); len(o.Rows) > 1 || ids != rows { // a list, or the lines of a file
					o.Rows = []string{rows}
					switch titled, bad := look.Peek(cmd.Context(), store, o); {
					case bad == nil && (err == nil || ids != rows):
						err = fmt.Errorf("--rows %[1]s is the id or title of a row, and a list of those of others: write what is meant into a file, one a line, or ./%[1]s for a file of that name", rows)
					case bad == nil:
						p, err = titled, nil
					}
				}
				return err
			})
			return a.print(p, err, func(out *show.Printer) { printPeeked(out, p) })
		},
	}
	f := cmd.Flags()
	addLookFlags(cmd, &of)
	f.IntVar(&o.Head, "head", 5, "print the first `N` rows that have entries")
	f.StringVar(&rows, "rows", "", "print these `ROWS` instead: ids or titles with commas between them, or a file with one a line")
	f.IntVar(&o.Entries, "entries", 20, "print at most `N` entries of each row")
	return cmd
}

func printPeeked(out *show.Printer, p *look.Peeked) {
	out.Printf("store\t%s\n", p.Store)
	if p.View != "" {
		out.Printf("view\t%s\n", p.View)
	}
	out.Printf("shape\t%d × %d\n", p.Rows, p.Cols)
	if len(p.Lines) == 0 {
		out.Printf("\nno row has an entry\n")
	}
	for _, r := range p.Lines {
		out.Printf("\nrow %v: %d of %d elements have an entry\n", r.Name, r.Count, p.Cols)
		for _, e := range r.Entries {
			out.Printf("  %v\t%.6g\n", e.Name, e.Value)
		}
		if more := r.Count - int64(len(r.Entries)); more > 0 {
			out.Printf("  … and %d more\n", more)
		}
		switch {
		case r.Empty == 0:
		case r.Low == r.High:
			out.Printf("  each of the %d without an entry is %.6g\n", r.Empty, r.Low)
		default:
			out.Printf("  each of the %d without an entry is between %.6g and %.6g\n", r.Empty, r.Low, r.High)
		}
	}
}

// maxViewFile bounds the size of a file of a pipeline in bytes.
const maxViewFile = 1 << 20

// readView reads the pipeline of --view: text itself, or the contents of the file @FILE.
func (a *app) readView(cmd *cobra.Command, text string) (view.Pipeline, error) {
	where := "--view"
	if name, ok := strings.CutPrefix(text, "@"); ok {
		b, err := vfs.ReadFile(a.fsys, name, maxViewFile)
		if err != nil {
			return nil, ui.Usagef(cmd, "--view @%s: %v", name, err)
		}
		text, where = string(b), name
	}
	p, err := view.Parse(text)
	if err != nil {
		return nil, ui.Usagef(cmd, "%s: %v", where, err)
	}
	return p, nil
}

// completeView completes the last step of a pipeline in the shell. Each of the separators separates steps, or pipelines.
func completeView(cmd *cobra.Command, flag, separators string) {
	ui.Complete(cmd.Flags().Lookup(flag), func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		before := strings.TrimSuffix(text, strings.TrimLeft(text[strings.LastIndexAny(text, separators)+1:], " "))
		var all []string
		steps, presets := view.Words()
		for _, word := range append(presets, steps...) {
			all = append(all, before+word)
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// lookFlags are the flags of the commands that show a store or a view of it.
type lookFlags struct {
	look.Options
	view string
}

func addLookFlags(cmd *cobra.Command, o *lookFlags) {
	f := cmd.Flags()
	f.StringVar(&o.view, "view", "", "read the matrix after these steps, such as 'lsi' or 'log1p | center=columns', or `PIPELINE` in a file as @FILE")
	completeView(cmd, "view", "|")
	f.IntVar(&o.Workers, "workers", 0, "read with `N` threads (0: all processors); the result does not depend on N")
	f.Var(ui.Size(&o.Memory, true), "memory", "memory to stay within, such as 512M or 2GiB; auto takes 60 % of what is available")
}

// look checks the flags, opens the store and calls do.
func (a *app) look(cmd *cobra.Command, path string, o *lookFlags, do func(*csr.Store) error) (err error) {
	if cmd.Flags().Changed("view") || o.view != "" {
		if o.View, err = a.readView(cmd, o.view); err != nil {
			return err
		}
	}
	defer a.within(&o.Memory)()
	store, err := a.openSeen(path, csr.OpenOptions{Missing: o.View.Imputes()})
	if err != nil {
		return err
	}
	o.FS, o.Progress, o.Log = a.fsys, a.checked, a.display.Logger()
	a.display.Begin(cmd.Name())
	defer a.display.End()
	return errors.Join(do(store), store.Close())
}

func (a *app) statsCommand() *cobra.Command {
	var (
		of lookFlags
		o  look.StatsOptions
	)
	cmd := &cobra.Command{
		Use:   "stats STORE",
		Short: "Sum up the rows and columns of a store or a view of it",
		Long: `stats reads STORE once, in addition to the reads of --view, and prints how many entries
rows and columns have and which have most. With -o it writes the numbers of every row and column:

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
	addLookFlags(cmd, &of)
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
