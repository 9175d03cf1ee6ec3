package main

import (
	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/progress"
	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/sysmem"
	"github.com/gdsvd/gdsvd/csr"
)

// checkResult is what gdsvd check prints.
type checkResult struct {
	Store    string   `json:"store"`
	OK       bool     `json:"ok"`
	Quick    bool     `json:"quick"`
	Blocks   int      `json:"blocks"`
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

func (a *app) checkCommand() *cobra.Command {
	var quick bool
	cmd := &cobra.Command{
		Use:   "check STORE",
		Short: "Verify every byte of a store",
		Long: `check reads the whole store and verifies all checksums and the structure of
every block. It prints each problem with file, section and offset.` + "\n" + exitHelp,
		Example:           `  gdsvd check ml-10m.csr`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.display.Begin("check")
			report, err := csr.Check(cmd.Context(), args[0], csr.CheckOptions{
				FS: a.fsys, Quick: quick,
				Progress: func(done, total int64) {
					a.display.Update(progress.State{Done: done, Total: total, Bytes: true})
				},
			})
			a.display.End()
			if err != nil {
				return err
			}
			return a.printCheck(args[0], quick, report)
		},
	}
	cmd.Flags().BoolVar(&quick, "quick", false, "only what opening a store checks, and the ids")
	return cmd
}

func (a *app) printCheck(path string, quick bool, report *csr.CheckReport) error {
	r := checkResult{
		Store: path, OK: len(report.Problems) == 0, Quick: quick, Blocks: report.Blocks, Bytes: report.Bytes,
		Problems: []string{}, Warnings: append([]string{}, report.Warnings...),
	}
	for _, p := range report.Problems {
		r.Problems = append(r.Problems, message(p))
	}
	var printed error
	if a.json {
		printed = a.printJSON(r)
	} else {
		out := &errWriter{w: a.stdout}
		for _, p := range r.Problems {
			out.printf("%s\n", p)
		}
		for _, w := range r.Warnings {
			out.printf("warning: %s\n", w)
		}
		switch {
		case r.OK && quick:
			out.printf("%s is sound as far as its frame shows; the contents of its %d blocks were not read\n", path, r.Blocks)
		case r.OK:
			out.printf("%s is sound: %d blocks, %s read\n", path, r.Blocks, sysmem.FormatSize(r.Bytes))
		}
		printed = out.err
	}
	if printed != nil {
		return printed
	}
	if !r.OK {
		return errProblems
	}
	return nil
}
