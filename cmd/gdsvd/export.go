package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/export"
	"github.com/gdsvd/gdsvd/factor/live"
)

func (a *app) exportCommand() *cobra.Command {
	var (
		o  export.Options
		of lookFlags
	)
	cmd := &cobra.Command{
		Use:   "export OUT|STORE",
		Short: "Write vectors or values of a result, or a matrix, for other programs, with ids",
		Long: `export writes a table of the result OUT to a file: U or V, U or V times the singular values
(US, VS), or the values (sigma); of a directory that gdsvd project or gdsvd align has written, X.

  npy, npy32   the array alone, of float64 or float32
  npz          the array, sigma, and ids and titles as arrays of NumPy
  csv, tsv     a table with a header: id, title (if there are any), c1 … ck
  parquet      the same table; ids are int64 or string, numbers are double
  mtx          Matrix Market with coordinates, all entries, row by row

Rows are in the order of gdsvd info STORE --ids. Numbers in text read back exactly. The
table of sigma has the columns component and sigma. Memory does not grow with the rows.

For a STORE, such as one of held-out entries, export writes the matrix, after the steps of
--view:

  mtx, npz     coordinates of Matrix Market; arrays for scipy.sparse.load_npz
  csv, tsv     row, column, value: ids, or indices from 0, which gdsvd ingest reads again
  parquet      the same table

Entries that are 0 in the view are left out, and a view that fills the matrix is refused.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd export ml-10m.svd --what U -o users.parquet
  gdsvd export ml-10m.svd --what VS -o items.csv
  gdsvd export ml-10m.svd --what V --format npy32 -o items.npy
  gdsvd export new-users --what X -o new-users.parquet
  gdsvd export ml-10m.csr --view binary -o ones.npz
  gdsvd export ml-10m.csr.test -o test.parquet`,
		Args:              oneArgument("OUT or STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			store, bad := a.holds(args[0], csr.ManifestName)
			if bad != nil {
				return bad
			}
			switch {
			case store && o.What != "" && o.What != export.Matrix:
				return ui.Usagef(cmd, "--what %s is of a result, and %s is a store, of which the matrix can be exported", o.What, args[0])
			case store:
				o.What = export.Matrix
			case o.What == "":
				return ui.Usagef(cmd, "give what to export with --what")
			case o.What == export.Matrix || a.standing.Given(cmd, "view"):
				return ui.Usagef(cmd, "the matrix and --view are of a STORE, which %s is not", args[0])
			}
			switch {
			case o.What == "recs":
				return ui.Usagef(cmd, "--what recs: recommendations need the store, too: gdsvd recommend %s --store STORE -o FILE writes them", args[0])
			case o.File == "" || o.File == "-":
				return ui.Usagef(cmd, "no FILE to write: give one with -o; nothing is exported to standard output")
			case o.Format == "":
				if _, err := export.FormatOf(o.File); err != nil {
					return ui.Usagef(cmd, "-o %v; --format names it", err)
				}
			}
			o.FS, o.Progress, o.Workers, o.Memory = a.fsys, a.rows, of.Workers, of.Memory
			var report *export.Report
			var err error
			if store {
				err = a.look(cmd, args[0], &of, func(s *csr.Store) (err error) {
					report, err = export.WriteMatrix(cmd.Context(), s, o, of.Options)
					return err
				})
			} else {
				report, err = a.export(cmd.Context(), args[0], o)
			}
			return a.print(report, err, func(out *show.Printer) {
				with := ""
				if report.IDs {
					with = " with ids"
				}
				if report.Titles {
					with += " and titles"
				}
				out.Printf("%s of %s, %d × %d%s, is in %s\n", report.What, report.Result, report.Rows, report.Columns, with, report.File)
			})
		},
	}
	f := cmd.Flags()
	ui.ChoiceFlag(f, &o.What, "what", "", ui.Words(append(export.Tables(), export.Array, export.Matrix, "recs")), "export; of a STORE the matrix (recs: see gdsvd recommend)")
	ui.ChoiceFlag(f, &o.Format, "format", "", ui.Words(export.Formats()), "format of FILE (without it: by the extension)")
	addLookFlags(cmd, &of)
	f.StringVarP(&o.File, "out", "o", "", "the `FILE` to write")
	f.BoolVar(&o.Bare, "no-ids", false, "leave out ids and titles")
	f.BoolVar(&o.Guarded, "spreadsheet-safe", false, spreadsheetSafe)
	f.BoolVar(&o.Replace, "force", false, "replace a file that is there, in one step at the end")
	return cmd
}

func (a *app) export(ctx context.Context, dir string, o export.Options) (*export.Report, error) {
	defer a.within(&o.Memory)()
	defer a.display.End()
	if o.What == export.Array {
		a.display.Begin("export")
		return export.WriteArray(ctx, dir, o)
	}
	r, err := a.openResult(ctx, dir)
	if err != nil {
		return nil, err
	}
	a.display.Begin("export")
	return export.Write(ctx, r, o)
}

// spreadsheetSafe is the help text of --spreadsheet-safe.
const spreadsheetSafe = "in csv and tsv, put a single quote before ids and titles that begin as a formula does (=, +, -, @)"

func (a *app) openResult(ctx context.Context, dir string) (*factor.Result, error) {
	r, err := factor.OpenFS(a.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		if standing := a.runOf(ctx, dir); standing != "" {
			return nil, fmt.Errorf("%s holds no result: %s", dir, standing)
		}
		if store, bad := a.holds(dir, csr.ManifestName); bad != nil {
			return nil, bad
		} else if store {
			return nil, fmt.Errorf("%s is a store, not a result: gdsvd svd makes one of it", dir)
		}
		return nil, fmt.Errorf("%w: there is no result; name the OUT of a gdsvd svd that has ended", err)
	}
	return r, err
}

// runOf describes a run that has left no result in dir, and how to continue it; "": there is no such run.
func (a *app) runOf(ctx context.Context, dir string) string {
	s, err := live.NewReader(a.fsys, dir).State(ctx)
	if err != nil || s.Status == live.Finished || s.Command != "svd" && s.Command != "eigs" && s.Command != "complete" {
		return ""
	}
	at := ""
	if s.Last != nil {
		at = fmt.Sprintf(" after pass %d", s.Last.Pass)
	}
	if s.Last != nil && s.Rank > 0 && s.Command != "complete" {
		at += fmt.Sprintf(", with %d of %d triplets found", s.Last.Locked, s.Rank)
	}
	switch {
	case s.Status == live.Running:
		return fmt.Sprintf("gdsvd %s is at work%s; gdsvd watch %s shows it", s.Command, at, dir)
	case s.Checkpoint:
		return fmt.Sprintf("gdsvd %s was interrupted%s; %s goes on from the checkpoint", s.Command, at, factor.Again(a.fsys, dir, ""))
	}
	return fmt.Sprintf("gdsvd %s ended%s without one, and without a checkpoint to go on from", s.Command, at)
}

// rows shows the number of rows that are done. It may be called from any goroutine.
func (a *app) rows(done, total int64) { a.display.Update(ui.State{Done: done, Total: total}) }
