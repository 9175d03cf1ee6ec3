package main

import (
	"github.com/spf13/cobra"

	"github.com/gdsvd/gdsvd/cmd/gdsvd/internal/ui"
	"github.com/gdsvd/gdsvd/factor"
	"github.com/gdsvd/gdsvd/solver"
)

func (a *app) eigsCommand() *cobra.Command {
	var o svdOptions
	cmd := &cobra.Command{
		Use:   "eigs STORE -k K -o OUT",
		Short: "Compute eigenpairs of a symmetric store, such as an undirected graph",
		Long: `eigs computes K eigenvalues of the symmetric matrix in STORE with their signs, and their
vectors, measures the residual ‖Av − λv‖ of every pair on the original matrix, and writes the
directory OUT:

  lambda.npy     the eigenvalues, in the order of --which
  V.npy          the eigenvectors (rows × K), for numpy.load
  events.jsonl   one record a pass
  result.json    values, certified residuals, costs and settings

--which LM finds those of the largest magnitude, of λ and −λ the positive one first; LA the
largest, SA the smallest. Rows and columns of STORE have the same ids: that of an undirected
graph (gdsvd ingest --graph undirected), or of a symmetric Matrix Market file, or seen through
a --view that keeps it symmetric, such as laplacian. One pass checks the symmetry with a
random vector; an entry that differs from its mirror image is named.

The smallest eigenvalues of a Laplacian I − D^-1/2 A D^-1/2 belong to the largest ones of
--view laplacian: one is 1 less the other.` + "\n" + ui.ExitHelp,
		Example: `  gdsvd ingest friends.txt -o friends.csr --graph undirected --self-loops drop
  gdsvd eigs friends.csr -k 10 -o friends.eig
  gdsvd eigs friends.csr -k 50 -o embedding.eig --which LA --view laplacian --shift 1
  gdsvd eigs friends.csr -k 10 --which SA --explain`,
		Args:              oneArgument("STORE"),
		ValidArgsFunction: directories,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !cmd.Flags().Changed("rank"):
				return ui.Usagef(cmd, "how many eigenpairs? give their number with -k")
			case o.Rank < 1:
				return ui.Usagef(cmd, "-k %d: at least 1 eigenpair is wanted", o.Rank)
			case cmd.Flags().Changed("shift") && o.Which == solver.LargestMagnitude:
				return ui.Usagef(cmd, "--shift is for --which LA and SA: the largest in magnitude are found without one")
			}
			o.Operator = solver.Symmetric
			if err := a.checkRun(cmd, &o); err != nil {
				return err
			}
			return a.compute(cmd, args[0], o)
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.Rank, "rank", "k", 0, "number `K` of eigenpairs")
	ui.ChoiceFlag(cmd, f, &o.Which, "which", solver.LargestMagnitude,
		ui.Named(solver.LargestMagnitude, solver.LargestAlgebraic, solver.SmallestAlgebraic), "eigenvalues to find: largest in magnitude, largest, smallest")
	f.Float64Var(&o.Shift, "shift", 0, "search for LA in A + `C`·I and for SA in C·I − A, which has no negative eigenvalues (0: C is ‖A‖_F, which is always enough); krylov is as fast with any C, other methods are slower the larger it is")
	ui.ChoiceFlag(cmd, f, &o.Vectors, "vectors", factor.Right, ui.Named(factor.Right, factor.None), "vectors to write")
	a.runFlags(cmd, &o)
	return cmd
}
