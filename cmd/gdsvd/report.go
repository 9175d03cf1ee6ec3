package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/factor/recommend"
	"github.com/gdsvd/gdsvd/factor/report"
)

type pageFlags struct {
	report.Options
	out, store     string
	noStore, force bool
}

func (a *app) reportCommand() *cobra.Command {
	var o pageFlags
	cmd := &cobra.Command{
		Use:   "report OUT|STORE -o FILE",
		Short: "Write a page of HTML about a result or a store",
		Long: `report writes one file of HTML that needs no other and no network: of a result what was
factorised, values and the energy they capture, residuals by passes and seconds, the
certificate, time and memory, what is strongest in the first components, the density of rows
and columns in the first two, and the command that makes it again; of a store how many
entries its rows and columns have, and which.

The statistics of entries take one read of the store of --store or else of the store that
the result names, if it still exists; --no-store leaves them out.

--labels colours the first two components: a line of FILE is the id of a row (of a result of
gdsvd eigs, or without U, of a column), a tab or comma, and a label.

The same result, store and flags have the same page, byte by byte.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd report ml-10m.svd -o ml-10m.html
  gdsvd report ml-10m.csr -o entries.html
  gdsvd report digits.svd -o digits.html --labels digits.tsv --no-store`,
		Args:              oneArgument("OUT or STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.out == "" || o.out == "-":
				return ui.Usagef(cmd, "no FILE to write: give one with -o; no page is written to standard output")
			case o.noStore && cmd.Flags().Changed("store"):
				return ui.Usagef(cmd, "--store names a store to read and --no-store says to read none: give one of them")
			case cmd.Flags().Changed("store") && o.store == "":
				return ui.Usagef(cmd, "the name of the STORE is empty")
			case cmd.Flags().Changed("labels") && o.Labels == "":
				return ui.Usagef(cmd, "the name of the FILE of --labels is empty")
			case o.Components < 1 || o.Components > report.MaxComponents:
				return ui.Usagef(cmd, "--components %d: want 1 to %d", o.Components, report.MaxComponents)
			case len(o.Names) > o.Components:
				return ui.Usagef(cmd, "--names: %d names of %d components", len(o.Names), o.Components)
			case o.Top < 1 || o.Top > report.MaxTop:
				return ui.Usagef(cmd, "-n %d: want 1 to %d", o.Top, report.MaxTop)
			}
			return a.page(cmd, args[0], &o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "the `FILE` to write")
	f.StringVar(&o.store, "store", "", "the `STORE` that the result is of (without it: the one that the result names, if it is there)")
	f.BoolVar(&o.noStore, "no-store", false, "do not read the store of the result")
	f.StringVar(&o.Labels, "labels", "", "colour rows by the labels in `FILE`")
	f.StringSliceVar(&o.Names, "names", nil, "call the first components by these `NAMES`, with commas between them")
	f.IntVar(&o.Components, "components", 6, "show the strongest rows and columns of the first `N` components")
	f.IntVarP(&o.Top, "number", "n", 8, "show `N` rows and columns of each sign at most")
	f.BoolVar(&o.force, "force", false, "replace an existing FILE, in one step at the end")
	addBudgetFlags(f, &o.Memory, &o.Workers)
	return cmd
}

func (a *app) page(cmd *cobra.Command, path string, o *pageFlags) (err error) {
	defer a.within(&o.Memory)()
	o.FS, o.Progress = a.fsys, a.rows
	isStore, err := a.holds(path, csr.ManifestName)
	if err != nil {
		return err
	}
	if isStore {
		for _, flag := range []string{"store", "no-store", "labels", "names", "components", "number"} {
			if cmd.Flags().Changed(flag) {
				return ui.Usagef(cmd, "--%s is for a result; %s is a store", flag, path)
			}
		}
		store, err := a.openStore(path)
		if err != nil {
			return err
		}
		err = a.writePage(path, o, func(w io.Writer) error { return report.WriteStore(cmd.Context(), w, store, o.Options) })
		return errors.Join(err, store.Close())
	}
	r, err := a.openResult(cmd.Context(), path)
	if err != nil {
		return err
	}
	if len(o.Names) > r.K {
		return ui.Usagef(cmd, "--names: %d names, and %s has %s", len(o.Names), path, show.Plural(r.K, "component"))
	}
	if err := a.storeOf(r, o); err != nil {
		return err
	}
	if o.Store != nil {
		defer func() { err = errors.Join(err, o.Store.Close()) }()
	}
	return a.writePage(path, o, func(w io.Writer) error { return report.Write(cmd.Context(), w, r, o.Options) })
}

func (a *app) storeOf(r *factor.Result, o *pageFlags) (err error) {
	switch {
	case o.noStore:
		return nil
	case o.store != "":
		o.Store, err = a.openStore(o.store)
		return err
	}
	o.Store, err = csr.Open(a.storePath(r), csr.OpenOptions{FS: a.fsys})
	if err == nil && recommend.Belongs(r, o.Store) != nil {
		err = errors.Join(fs.ErrNotExist, o.Store.Close())
	}
	if err == nil {
		return nil
	}
	o.Store = nil
	if errors.Is(err, csr.ErrMissing) {
		a.display.Logger().Info("the store of the result has missing entries: the page does without its entries", "store", r.Store.Path)
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, csr.ErrNotStore) {
		a.display.Logger().Info("the store of the result is not there: the page does without its entries (--store names it)", "store", r.Store.Path)
		return nil
	}
	return fmt.Errorf("%w (--no-store does without it)", err)
}

func (a *app) writePage(of string, o *pageFlags, write func(io.Writer) error) error {
	a.display.Begin("report")
	page := writtenPage{File: o.out, Of: of}
	err := replaceFile(a.fsys, o.out, o.force, write)
	if err == nil {
		var info fs.FileInfo
		if info, err = a.fsys.Stat(o.out); err == nil {
			page.Bytes = info.Size()
		}
	}
	a.display.End()
	return a.print(page, err, func(out *show.Printer) { out.Printf("%s: a page about %s, %d bytes\n", o.out, of, page.Bytes) })
}

type writtenPage struct {
	File  string `json:"file"`  // name of the file
	Of    string `json:"of"`    // path of the store or result that the page shows
	Bytes int64  `json:"bytes"` // size of the file
}
