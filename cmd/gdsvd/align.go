package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor/align"
)

func (a *app) alignCommand() *cobra.Command {
	var (
		o  align.Options
		to string
	)
	cmd := &cobra.Command{
		Use:   "align NEW --to OLD",
		Short: "Turn the vectors of a new result to where those of an old one lay",
		Long: `align finds the rotation R of the k components of the result NEW that brings its vectors as near
as possible to those of OLD with the same ids (orthogonal Procrustes), and writes all
vectors of NEW times R: an index or a model that was built on OLD keeps its meaning. It prints the
principal angles between the two spaces, which no rotation undoes, and the share of the
nearest neighbours of a sample of rows, by cosine, that are others than before.

With -o X the directory X has X.npy, R.npy (k × k), the ids and alignment.json. X·Rᵀ is what
NEW has.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd today.csr -k 50 --init yesterday.svd -o today.svd
  gdsvd align today.svd --to yesterday.svd --what VS -o items`,
		Args:              oneArgument("NEW"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to == "":
				return ui.Usagef(cmd, "what is NEW to be aligned to? give the old result with --to")
			case o.Dir == "":
				return ui.Usagef(cmd, "no X to write: give one with -o")
			case o.Neighbours < 1 || o.Sample < 1:
				return ui.Usagef(cmd, "--neighbours %d --sample %d: want 1 or more", o.Neighbours, o.Sample)
			}
			fresh, err := a.openResult(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			old, err := a.openResult(cmd.Context(), to)
			if err != nil {
				return err
			}
			o.FS, o.Progress = a.fsys, a.rows
			a.display.Begin("align")
			r, err := align.Align(cmd.Context(), fresh, old, o)
			a.display.End()
			return a.print(r, err, func(out *show.Printer) { printAlignment(out, r) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", "the result `OLD`")
	f.StringVarP(&o.Dir, "out", "o", "", "the directory `X` to write")
	ui.ChoiceFlag(cmd, f, &o.What, "what", "", "V", words([]string{"U", "V", "US", "VS"}), "vectors that are aligned; US and VS are times the singular values")
	f.IntVar(&o.Neighbours, "neighbours", 10, "compare the `N` nearest rows of each")
	f.IntVar(&o.Sample, "sample", 200, "of `N` rows")
	f.BoolVar(&o.Replace, "force", false, "replace an alignment that is there, in one step at the end")
	return cmd
}

func printAlignment(out *show.Printer, r *align.Alignment) {
	out.Printf("%d ids are in both results, %d are new, %d are gone\n", r.Common, r.Fresh, r.Gone)
	out.Printf("distance   %.3g of the old vectors, %.3g before the rotation\n", r.After, r.Before)
	if n := len(r.Angles); n > 0 {
		out.Printf("angles     %.3g° at most, %.3g° in the middle\n", slices.Max(r.Angles), r.Angles[n/2])
	}
	out.Printf("neighbours %.3g %% of the %d nearest have changed (%d rows looked at)\n", 100*r.Changed, r.Neighbours, r.Sample)
	out.Printf("%s of %s, turned, is in %s\n", r.What, r.New, r.Dir)
}
