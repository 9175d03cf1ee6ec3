package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/csr/vfs"
	"github.com/gdsvd/gdsvd/factor/align"
	"github.com/gdsvd/gdsvd/factor/foldin"
	"github.com/gdsvd/gdsvd/ingest"
	"github.com/gdsvd/gdsvd/ingest/format"
)

func (a *app) projectCommand() *cobra.Command {
	var o foldin.Options
	cmd := &cobra.Command{
		Use:   "project OUT NEW...",
		Short: "Fold new rows or columns into a result",
		Long: `project computes the coordinates X = B·V of new rows in the components of the result OUT,
where B is the new rows after the steps of the view of OUT. Statistics of a row are
computed from the row; statistics of columns are those of the factorised matrix. For the
rows of the matrix itself X is U·Σ. X equals TruncatedSVD.transform and, with --view pca,
PCA.transform of scikit-learn. NEW is a store, or files as gdsvd ingest reads them
(if they need its flags, ingest them first).

With -o X the directory X has X.npy, the ids (rows.ids, as in OUT) and projection.json. Columns
of NEW are known by their ids. Others are left out, counted and listed; more of them
than known ones are an error. A row without known columns is projected as an empty row.

--by history projects the entries of rows themselves, or ones if the view begins with
binary, as recommend does if the view has the step weight=columns. --whiten divides
components by σ/√(N−1) if the columns of B have mean 0; otherwise, and with --by history,
by σ. --side columns projects columns, Y = BᵀU, for views that compute a column from that
column alone.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd project ml-10m.svd new-users.csv -o new-users
  gdsvd project cells.svd more-cells.csr -o more-cells --whiten`,
		Args: atLeast(2, "want a result OUT and at least one NEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Dir == "" {
				return ui.Usagef(cmd, "no X to write: give one with -o")
			}
			r, err := a.openResult(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			o.FS, o.Progress = a.fsys, a.rows
			o.Memory = a.budget(o.Memory)
			var p *foldin.Projection
			err = a.withNew(cmd, args[1:], o, func(store *csr.Store) (err error) {
				defer heap.Limit(heap.Unplanned(o.Memory))()
				a.display.Begin("project")
				defer a.display.End()
				p, err = foldin.Project(cmd.Context(), r, store, o)
				return err
			})
			return a.print(p, err, func(out *show.Printer) { printProjection(out, p) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Dir, "out", "o", "", "the directory `X` to write")
	ui.ChoiceFlag(f, &o.Columns, "side", false, []ui.Choice[bool]{{Name: "rows", Value: false}, {Name: "columns", Value: true}}, "what of NEW is projected")
	ui.ChoiceFlag(f, &o.History, "by", false, []ui.Choice[bool]{{Name: "model", Value: false}, {Name: "history", Value: true}}, "project rows after the steps of the view, or their entries")
	f.BoolVar(&o.Whiten, "whiten", false, "divide components by their standard deviations")
	f.BoolVar(&o.Replace, "force", false, "replace a projection that is there, in one step at the end")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

// withNew calls do with the store that inputs names, or with a temporary store made of files.
func (a *app) withNew(cmd *cobra.Command, inputs []string, o foldin.Options, do func(*csr.Store) error) (err error) {
	beside := besideOut(o.Dir, "new")
	made, err := a.holds(inputs[0], csr.ManifestName)
	if err = errors.Join(err, vfs.Sweep(a.fsys, beside, useless)); err != nil {
		return err
	}
	path := inputs[0]
	if !made || len(inputs) > 1 {
		var stage *vfs.Staging
		if stage, err = vfs.Stage(a.fsys, beside, false, nil, nil); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stage.Abort()) }()
		orient := ingest.OrientRows
		if o.Columns {
			orient = ingest.OrientCols
		}
		path = filepath.Join(stage.Dir(), "new.csr")
		_, err = a.ingest(cmd, inputs, path, ingest.Options{Memory: o.Memory, Workers: o.Workers, Orient: orient, CheckpointEvery: -1})
		if _, ok := errors.AsType[*format.AmbiguityError](err); ok {
			return fmt.Errorf("%w; gdsvd ingest has these flags: project the store that it makes", err)
		}
		if err != nil {
			return err
		}
	}
	store, err := a.openSeen(path, csr.OpenOptions{Missing: true, Name: strings.Join(inputs, " ")})
	if err != nil {
		return err
	}
	return errors.Join(do(store), store.Close())
}

func printProjection(out *show.Printer, p *foldin.Projection) {
	other := map[string]string{"rows": "columns", "columns": "rows"}[p.Side]
	out.Printf("%d %s in %d components are in %s\n", p.Rows, p.Side, p.K, p.Dir)
	if p.Empty > 0 {
		out.Printf("%d of them have no entry in %s that the matrix has\n", p.Empty, other)
	}
	if p.Unknown > 0 {
		out.Printf("%d of %d %s are not in the matrix, and their %d entries are left out: %s", p.Unknown, p.Unknown+p.Known, other, p.UnknownEntries, strings.Join(p.UnknownIDs, ", "))
		if more := p.Unknown - int64(len(p.UnknownIDs)); more > 0 {
			out.Printf(" and %d more", more)
		}
		out.Printf("\n")
	}
	if s := p.Shrinkage; s != nil {
		out.Printf("%s of the matrix that are missing count as their means: scores are about %.3g to %.3g times as far from the mean as all %s would make them, by component\n", other, slices.Min(s), slices.Max(s), other)
	}
}

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
vectors of NEW times R: an index or a model that was built on OLD stays valid. It prints
the principal angles between the two spaces, which no rotation removes, and the share of
the nearest neighbours by cosine, of a sample of rows, that have changed.

With -o X the directory X has X.npy, R.npy (k × k), the ids and alignment.json. X·Rᵀ is what
NEW has.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd svd today.csr -k 50 --init yesterday.svd -o today.svd
  gdsvd align today.svd --to yesterday.svd --what VS -o items`,
		Args:              oneArgument("NEW"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case to == "":
				return ui.Usagef(cmd, "the old result is missing: give it with --to")
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
	ui.ChoiceFlag(f, &o.What, "what", "V", ui.Words([]string{"U", "V", "US", "VS"}), "vectors that are aligned; US and VS are times the singular values")
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
	out.Printf("%s of %s, rotated, is in %s\n", r.What, r.New, r.Dir)
}

// besideOut returns the path of a temporary store beside OUT, named after OUT. The next run removes the store of a run that died.
func besideOut(out, what string) string {
	out = filepath.Clean(out)
	return filepath.Join(filepath.Dir(out), ".gdsvd-"+what+"-"+filepath.Base(out))
}

// useless makes vfs.Sweep remove everything at besideOut.
func useless(string) bool { return true }

// unsynced is a file system for files that no other process needs: it makes nothing durable.
type unsynced struct{ vfs.FS }

func (u unsynced) Create(name string) (vfs.File, error) {
	f, err := u.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{f}, nil
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ vfs.File }

func (unsyncedFile) Sync() error { return nil }
