package main

import (
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/man"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/show"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `man writes a manual page of every command to the directory DIR, which is made if it
is not there: gdsvd.1, gdsvd-svd.1 and so on. Pages that lie there are replaced, each
in one step. The same program writes the same bytes.`,
		Example: `  gdsvd man /usr/local/share/man/man1
  gdsvd man pages`,
		Args:              oneArgument("DIR"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.man(cmd.Root(), args[0])
		},
	}
}

type madePages struct {
	Directory string   `json:"directory"` // directory of the pages
	Pages     []string `json:"pages"`     // names of the pages
}

func (a *app) man(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	v := ui.ReadVersion()
	h := man.Header{Source: "gdsvd " + v.String(), Date: v.Date()}
	made := madePages{Directory: dir}
	for _, cmd := range man.Commands(root) {
		name := man.Name(cmd)
		if err := replaceFile(a.fsys, filepath.Join(dir, name), true, func(w io.Writer) error {
			_, err := w.Write(man.Page(cmd, h))
			return err
		}); err != nil {
			return err
		}
		made.Pages = append(made.Pages, name)
	}
	return a.print(made, nil, func(out *show.Printer) { out.Printf("%d pages written to %s\n", len(made.Pages), dir) })
}
