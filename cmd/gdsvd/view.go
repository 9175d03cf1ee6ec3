package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/csr"
	"github.com/gdsvd/gdsvd/factor/look"
	"github.com/gdsvd/gdsvd/internal/vfs"
	"github.com/gdsvd/gdsvd/stream/view"
)

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
	if o.Workers < 0 {
		return ui.Usagef(cmd, "--workers %d: want 1 or more, or 0 for all processors", o.Workers)
	}
	if cmd.Flags().Changed("view") || o.view != "" {
		if o.View, err = a.readView(cmd, o.view); err != nil {
			return err
		}
	}
	o.Memory = a.budget(o.Memory)
	defer limitHeap(unplanned(o.Memory))()
	store, err := a.openStore(path)
	if err != nil {
		return err
	}
	o.FS, o.Progress, o.Log = a.fsys, a.checked, a.display.Logger()
	a.display.Begin(cmd.Name())
	defer a.display.End()
	return errors.Join(do(store), store.Close())
}
