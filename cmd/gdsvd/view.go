package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/stream/view"
	"github.com/gdsvd/gdsvd/vfs"
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
		Long: `view prints rows of the matrix in STORE as --view makes them, to look at before svd
runs with the same --view: the first ones that have entries, or those with some ids.
Each entry has the id of its column, and its title if the store has titles. A line
says what the elements without an entry are: 0, or what centring makes of them.

A store of a matrix with more columns than rows has the columns as its rows, as gdsvd info
says: then all of it is read to show a row.` + "\n" + ui.ExitHelp,
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
				return err
			})
			return a.print(p, err, func(out *show.Printer) { printPeeked(out, p) })
		},
	}
	f := cmd.Flags()
	addLookFlags(f, &of)
	completeView(cmd)
	f.IntVar(&o.Head, "head", 5, "print the first `N` rows that have entries")
	f.StringVar(&rows, "rows", "", "print these `ROWS` instead: ids with commas between them, or a file with one a line")
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

// maxViewFile bounds the size of a file with a pipeline.
const maxViewFile = 1 << 20

// readView reads the pipeline of --view: its steps, or those in the file @FILE.
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

// completeView completes the last step of a pipeline in the shell.
func completeView(cmd *cobra.Command) {
	if err := cmd.RegisterFlagCompletionFunc("view", func(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
		before := strings.TrimSuffix(text, strings.TrimLeft(text[strings.LastIndex(text, "|")+1:], " "))
		var all []string
		steps, presets := view.Words()
		for _, word := range append(presets, steps...) {
			all = append(all, before+word)
		}
		return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}); err != nil {
		panic(err) // the flag was added by the caller
	}
}

// lookFlags are the flags of the commands that look at a store or a view of it.
type lookFlags struct {
	look.Options
	view string
}

func addLookFlags(f *pflag.FlagSet, o *lookFlags) {
	f.StringVar(&o.view, "view", "", "look at what steps make of the matrix, such as 'lsi' or 'log1p | center=columns', or `PIPELINE` in a file as @FILE")
	f.IntVar(&o.Workers, "workers", 0, "read with `N` threads (0: all processors); what is found does not depend on it")
	f.Var(ui.Size(&o.Memory, true), "memory", "memory to stay within, such as 512M or 2GiB; auto takes 60 % of what is available")
}

// look checks the flags, opens the store and has do look at it.
func (a *app) look(cmd *cobra.Command, path string, o *lookFlags, do func(*csr.Store) error) (err error) {
	if cmd.Flags().Changed("view") || o.view != "" {
		if o.View, err = a.readView(cmd, o.view); err != nil {
			return err
		}
	}
	o.Memory = a.budget(o.Memory)
	defer heap.Limit(heap.Unplanned(o.Memory))()
	store, err := a.openSeen(path, o.View.Imputes())
	if err != nil {
		return err
	}
	o.FS, o.Progress, o.Log = a.fsys, a.checked, a.display.Logger()
	a.display.Begin(cmd.Name())
	defer a.display.End()
	return errors.Join(do(store), store.Close())
}
