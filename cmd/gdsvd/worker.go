package main

import (
	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/heap"
	"github.com/gdsvd/gdsvd/stream/remote"
)

func (a *app) workerCommand() *cobra.Command {
	w := &remote.Worker{}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Do the tasks of a run with --engine",
		Long: `worker does tasks that come on standard input, a line of JSON each, and answers each with a line
on standard output, until standard input ends. A task is a part of a pass over a store, for
a run of gdsvd svd with --engine; engines start workers, people need not. A worker reads the store and
the shared folder under the names that the run has for them, and keeps nothing between tasks that another worker
would lack.`,
		Example: `  gdsvd worker --memory 4GiB --workers 2`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w.FS, w.Memory = a.fsys, a.budget(w.Memory)
			defer heap.Limit(heap.Unplanned(w.Memory))()
			return w.Serve(cmd.Context(), a.stdin, a.stdout)
		},
	}
	addBudgetFlags(cmd.Flags(), &w.Memory, &w.Workers)
	return cmd
}
