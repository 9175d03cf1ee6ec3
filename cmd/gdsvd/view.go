package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
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
