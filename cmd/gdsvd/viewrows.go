package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
)

func (a *app) viewCommand() *cobra.Command {
	var (
		flags lookFlags
		o     look.PeekOptions
		row   string
	)
	cmd := &cobra.Command{
		Use:   "view STORE",
		Short: "Print some rows of a store or a view of it",
		Long: `view prints rows of the matrix in STORE as --view makes them, to look at before svd
runs with the same --view: the first ones that have entries, or the one with an id.
Each entry has the id of its column, and its title if the store has titles. A line
says what the elements without an entry are: 0, or what centring makes of them.

A store of a matrix with more columns than rows has the columns as its rows, as gdsvd info
says: then all of it is read to show a row.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd view ml-10m.csr --view bm25 --rows 5
  gdsvd view ml-10m.csr --view center=columns --row 4711 --json`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch given := cmd.Flags().Changed; {
			case given("row") && given("rows"):
				return ui.Usagef(cmd, "--row shows one row: leave out --rows")
			case given("row"):
				o.Row = &row
			case o.Rows < 1 || o.Rows > look.MaxPeekRows:
				return ui.Usagef(cmd, "--rows %d: want 1 to %d", o.Rows, look.MaxPeekRows)
			}
			if o.Entries < 1 || o.Entries > look.MaxPeekEntries {
				return ui.Usagef(cmd, "--entries %d: want 1 to %d", o.Entries, look.MaxPeekEntries)
			}
			var p *look.Peeked
			err := a.look(cmd, args[0], &flags, func(store *csr.Store) (err error) {
				o.Options = flags.Options
				p, err = look.Peek(cmd.Context(), store, o)
				return err
			})
			switch {
			case err != nil:
				return err
			case a.json:
				return a.printJSON(p)
			}
			return a.printPeeked(p)
		},
	}
	f := cmd.Flags()
	addLookFlags(f, &flags)
	f.IntVar(&o.Rows, "rows", 5, "print the first `N` rows that have entries")
	f.StringVar(&row, "row", "", "print the row with this `ID` instead")
	f.IntVar(&o.Entries, "entries", 20, "print at most `N` entries of each row")
	return cmd
}

// printPeeked prints rows for people.
func (a *app) printPeeked(p *look.Peeked) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "store\t%s\n", p.Store)
	if p.View != "" {
		fmt.Fprintf(w, "view\t%s\n", p.View)
	}
	fmt.Fprintf(w, "shape\t%d × %d\n", p.Rows, p.Cols)
	if len(p.Lines) == 0 {
		fmt.Fprintf(w, "\nno row has an entry\n")
	}
	for _, r := range p.Lines {
		fmt.Fprintf(w, "\nrow %v: %d of %d elements have an entry\n", r.Name, r.Count, p.Cols)
		for _, e := range r.Entries {
			fmt.Fprintf(w, "  %v\t%.6g\n", e.Name, e.Value)
		}
		if more := r.Count - int64(len(r.Entries)); more > 0 {
			fmt.Fprintf(w, "  … and %d more\n", more)
		}
		switch {
		case r.Empty == 0:
		case r.Low == r.High:
			fmt.Fprintf(w, "  each of the %d without an entry is %.6g\n", r.Empty, r.Low)
		default:
			fmt.Fprintf(w, "  each of the %d without an entry is between %.6g and %.6g\n", r.Empty, r.Low, r.High)
		}
	}
	return w.Flush()
}
